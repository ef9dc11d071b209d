"""The parts of `hocket simulate`."""
