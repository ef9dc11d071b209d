"""From a schedule or an algorithm to thread blocks."""
