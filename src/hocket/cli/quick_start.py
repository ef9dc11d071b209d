"""What makes a process that does little end soon."""

import gc
import os

__all__ = ["collect_rarely", "load_numpy"]

_THREADS = "OPENBLAS_NUM_THREADS"
_OBJECTS = 20_000


def collect_rarely() -> None:
    """Looks for circles of garbage after so many new objects, not after every 700: modules that are loaded are none."""
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])


def load_numpy() -> None:
    """Imports numpy with one thread for linear algebra, unless the user says how many: starting them takes longer than
    a small simulation. Processes that are started later see nothing of it."""
    if _THREADS in os.environ:
        return
    os.environ[_THREADS] = "1"
    try:
        import numpy  # noqa: F401
    finally:
        del os.environ[_THREADS]
