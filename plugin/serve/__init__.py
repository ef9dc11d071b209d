"""Programs in place of a job's collectives: stock PyTorch or MPI, unmodified code."""

__all__ = ["VARIABLE"]

#: Names the programs, as `hocket.runtime.engine.library.read_library` takes them.
VARIABLE = "HOCKET_ALGORITHMS"
