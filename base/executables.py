"""Where programs are looked for that packages bring along, as pip's MPI does, and which compiler is used."""

import os
import shlex
import shutil
import sys
from pathlib import Path

from hocket.base.errors import HocketError

__all__ = ["cxx_compiler", "search_path"]

_COMPILERS = ("g++", "c++", "clang++")


def search_path() -> str:
    """The folders of PATH, behind that of the interpreter: an environment need not be on PATH to be the one that is
    used."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def cxx_compiler() -> list[str]:
    """The command of the C++ compiler: that of the variable CXX, else the first of those that are there. Raises
    HocketError for a CXX that is no command line, and where there is none."""
    chosen = os.environ.get("CXX", "")
    try:
        words = shlex.split(chosen)
    except ValueError as error:
        raise HocketError(f"CXX={chosen}: {error}; mend it, or unset CXX") from error
    found = words or [name for name in _COMPILERS if shutil.which(name)][:1]
    if not found:
        raise HocketError(f"no C++ compiler ({', '.join(_COMPILERS)}): apt-get install g++, or name one by CXX")
    return found
