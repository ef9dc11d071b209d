"""What of CUDA's driver the NCCL profiler plugin asks, under its name; imports nothing of Hocket's."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

_SOURCE = """
static _Thread_local int now = -1;
void select_device(int device) { now = device; }
int cuCtxGetDevice(int* device) { return *device = now, now < 0 ? 201 /* CUDA_ERROR_INVALID_CONTEXT */ : 0; }
"""


def build_cuda(folder: Path) -> Path:
    """A library that a process may load as libcuda.so.1."""
    library = folder / "libcuda.so.1"
    command = ["gcc", "-xc", "-", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run(command, input=_SOURCE, text=True, check=True)
    return library


def load_cuda(library: Path) -> Callable[[int], None]:
    """Loads it; what it returns selects a GPU as cudaSetDevice does, -1 none."""
    select: Callable[[int], None] = ctypes.CDLL(str(library)).select_device
    return select
