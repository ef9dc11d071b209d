"""The parts of `hocket translate`."""
