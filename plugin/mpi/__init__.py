"""Records the MPI calls of unmodified programs: a library preloaded into them, compiled against their MPI."""
