"""Where the plugins for NCCL lie."""

from pathlib import Path

from hocket.base.errors import HocketError

__all__ = ["nccl_profiler_path", "nccl_tuner_path"]


def nccl_profiler_path() -> Path:
    """The profiler plugin, for `NCCL_PROFILER_PLUGIN`. Raises HocketError where the package was not built."""
    return _library("libnccl-profiler-hocket.so")


def nccl_tuner_path() -> Path:
    """The tuner plugin, for `NCCL_TUNER_PLUGIN`. Raises HocketError where the package was not built."""
    return _library("libnccl-tuner-hocket.so")


def _library(name: str) -> Path:
    path = Path(__file__).parents[1] / name
    if not path.is_file():
        raise HocketError(f"{path} is absent: build it with `python setup.py build_ext --inplace`")
    return path
