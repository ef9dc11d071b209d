"""A schedule, or the program of another runtime, for one runtime or in another format."""
