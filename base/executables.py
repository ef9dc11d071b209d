"""Where programs are looked for that packages bring along, as pip's MPI does."""

import os
import sys
from pathlib import Path

__all__ = ["search_path"]


def search_path() -> str:
    """The folders of PATH, behind that of the interpreter: an environment need not be on PATH to be the one that is
    used."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
