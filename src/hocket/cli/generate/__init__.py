"""The parts of `hocket generate`."""
