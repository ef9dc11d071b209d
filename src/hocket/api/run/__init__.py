"""A program on real processes of this machine, every value checked."""
