"""The parts of `hocket trace`."""
