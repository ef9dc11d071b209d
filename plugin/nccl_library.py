"""Where the plugins for NCCL lie."""

from pathlib import Path

from hocket.core.errors import HocketError

__all__ = ["nccl_profiler_path"]


def nccl_profiler_path() -> Path:
    """The profiler plugin, for `NCCL_PROFILER_PLUGIN`. Raises HocketError where the package was not built."""
    path = Path(__file__).parent / "libnccl-profiler-hocket.so"
    if not path.is_file():
        raise HocketError(f"{path} is absent: build it with `python setup.py build_ext --inplace`")
    return path
