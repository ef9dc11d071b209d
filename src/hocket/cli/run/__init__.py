"""The parts of `hocket run`."""
