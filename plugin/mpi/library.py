"""Compiles the library in front of an MPI against its headers, which alone tell what its handles are."""

import hashlib
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from hocket.base import processes
from hocket.base.cache import cache_folder
from hocket.base.errors import HocketError
from hocket.base.executables import cxx_compiler
from hocket.plugin.native_build import build, find_built

__all__ = ["build_library", "find_mpicc"]

_HERE = Path(__file__).parent
_EXPORTS = _HERE / "exports.map"
_CORE = _HERE.parents[1] / "core"
_EXECUTOR = _CORE / "src" / "executor"
#: The engine, less its own connections: its messages are MPI's.
_ENGINE = ("binding", "library", "messages", "program", "reduce", "workspace")
_FLAGS = (
    # -O3 for the loops of reductions: as vector code they take half the time in the caches.
    *("-std=c++20", "-O3", "-shared", "-fPIC", "-fvisibility=hidden"),
    # Into every process of the launch: it must bring no C++ library along, and hide its own from the program.
    *("-static-libstdc++", "-static-libgcc", f"-Wl,--version-script={_EXPORTS}", "-Wl,-z,defs"),
)


def find_mpicc(launcher: str) -> str:
    """The compiler wrapper of the MPI that `launcher` belongs to: the one beside it, else the first on the PATH.

    Raises HocketError when there is none, or no such launcher.
    """
    found = shutil.which(launcher)
    if found is None:
        raise HocketError(f"{launcher}: no such command; give the job's whole launch line")
    beside = Path(found).with_name("mpicc")
    mpicc = shutil.which(str(beside)) or shutil.which("mpicc")
    if mpicc is None:
        raise HocketError(
            f"no mpicc beside {found} nor on the PATH: what is preloaded is compiled against the program's MPI; install"
            " its compiler wrappers (pip install mpich has them, apt-get install libmpich-dev), or name one by --mpicc"
        )
    return mpicc


def build_library(mpicc: str, announce: Callable[[str], None] = lambda text: None) -> Path:
    """The library for the MPI of this compiler wrapper, from the cache where it was built before; else `announce` is
    told that it takes a while.

    Raises HocketError when the wrapper does not tell its flags, there is no C++ compiler, or no mpi.h.
    """
    includes = _include_flags(mpicc)
    compiler = cxx_compiler()
    shared = [_CORE / "include" / "hocket" / name for name in ("error.hpp", "schedule/interpreter.hpp")]
    native = _HERE.parent / "torch" / "native"
    headers_beside = [native / "segments.hpp", native / "stream.hpp", *shared, *sorted(_CORE.rglob("executor/*.hpp"))]
    sources = [*sorted(_HERE.glob("*.?pp")), *headers_beside, *(_EXECUTOR / f"{name}.cpp" for name in _ENGINE)]
    headers = hashlib.sha256()
    for flag in includes:
        header = Path(flag.removeprefix("-I"), "mpi.h")
        headers.update(header.read_bytes() if header.is_file() else b"")
    inputs = sources, [*compiler, *_FLAGS, f"-I{_CORE / 'include'}", *includes], headers.hexdigest(), "hocket-mpi"
    found = find_built(*inputs)
    if found is None:
        announce(f"compiling the library for the MPI of {mpicc} into {cache_folder()}, once")
    return found or build(*inputs)


def _include_flags(mpicc: str) -> Sequence[str]:
    """What the wrapper adds for the preprocessor: MPICH and Open MPI both tell by `-show`."""
    try:
        shown = processes.run([mpicc, "-show"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        raise HocketError(f"{mpicc}: {error.strerror}; name the program's MPI compiler by --mpicc") from error
    if shown.returncode != 0:
        raise HocketError(f"{mpicc} -show failed; name the program's MPI compiler by --mpicc: {shown.stderr.strip()}")
    return [flag for flag in shlex.split(shown.stdout) if flag.startswith(("-I", "-D"))]
