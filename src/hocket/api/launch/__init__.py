"""An MPI job with programs in place of its collectives."""
