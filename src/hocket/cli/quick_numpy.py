"""numpy without threads of linear algebra: to start them takes longer than a small simulation."""

import os

__all__ = ["load_numpy"]

_THREADS = "OPENBLAS_NUM_THREADS"


def load_numpy() -> None:
    """Imports numpy with one thread, unless the user says how many; processes that are started later see nothing of
    it."""
    if _THREADS in os.environ:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS]
