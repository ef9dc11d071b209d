"""Looks at the installation, part by part."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator

from hocket.api.doctor.findings import PartFinding
from hocket.api.doctor.native_parts import compiler, cuda_headers, mpi, nccl_plugins, page_browser
from hocket.api.doctor.python_parts import engine, extras, gpus, pytorch
from hocket.api.doctor.request import InstallationCheck
from hocket.api.doctor.result import CheckedInstallation
from hocket.api.progress import Progress
from hocket.base.version import __version__

__all__ = ["perform"]

#: What is looked at, in this order; a new part is a function that says what it finds.
_CHECKS: tuple[Callable[[Progress], Iterator[PartFinding]], ...] = (
    engine,
    pytorch,
    gpus,
    nccl_plugins,
    compiler,
    mpi,
    extras,
    cuda_headers,
    page_browser,
)


def perform(request: InstallationCheck, progress: Progress) -> CheckedInstallation:
    """Raises nothing for what is absent or broken: that is what the result says."""
    libc = " ".join(platform.libc_ver())
    cores = len(os.sched_getaffinity(0))
    where = f"Hocket {__version__}, Python {platform.python_version()}, {libc}, {platform.machine()}, {cores} cores"
    return CheckedInstallation(request, where, tuple(found for check in _CHECKS for found in check(progress)))
