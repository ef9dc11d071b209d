"""The parts of `hocket collect`."""
