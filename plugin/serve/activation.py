"""How a job's collectives come to be served: the environment, or a call in the script."""

import atexit
import os
from pathlib import Path

import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.plugin.serve import VARIABLE
from hocket.plugin.serve.override import Override
from hocket.runtime.engine.library import read_library

__all__ = ["arm", "serve", "use"]

_override: Override | None = None


def arm() -> None:
    """Prepares what HOCKET_ALGORITHMS names, for `serve`; does nothing without it. Raises as `use`."""
    if os.environ.get(VARIABLE) and dist.is_available():
        _prepare(os.environ[VARIABLE])


def serve() -> None:
    """Serves with what was prepared, if anything was."""
    if _override is not None:
        _override.serve()


def use(source: str | Path) -> None:
    """Serves this process's collectives from now on with the programs of `source`: bundles, folders and files,
    separated by colons. All ranks of the job must call it, with the same programs.

    Every program is proved first: raises FormatError, ScheduleError or DeadlockError, naming the file, for one that is
    not right, and HocketError where other programs are in use already or this PyTorch is too old.
    """
    _prepare(source)
    serve()


def _prepare(source: str | Path) -> None:
    global _override
    if _override is not None:
        if _override.source == str(source):
            return
        raise HocketError(f"the algorithms of {_override.source} are in use already; name all in one, with colons")
    _override = Override(read_library(str(source)))
    atexit.register(_report, _override, os.getpid())


def _report(override: Override, process: int) -> None:
    if os.getpid() == process and override.reports:
        override.counts.report()
