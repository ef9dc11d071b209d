"""A schedule for a topology."""
