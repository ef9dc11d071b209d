"""The parts of the self-test, a file each: what is tested, in a process of its own."""
