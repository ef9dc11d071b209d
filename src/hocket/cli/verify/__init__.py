"""The parts of `hocket verify`."""
