"""What of the system is here: compilers, MPI, a browser; and whether NCCL's plugins can be loaded."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

from hocket.api.doctor.findings import PartFinding, PartState
from hocket.api.progress import Progress
from hocket.api.selftest.commands import ended, printed
from hocket.base.errors import HocketError
from hocket.base.executables import cxx_compiler, search_path
from hocket.base.extras import install_command
from hocket.nccl.stock.cuda_headers import find_cuda_headers
from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path
from hocket.simulator.ns3 import HOW_TO_GET
from hocket.simulator.ns3 import found as ns3_here

__all__ = ["compiler", "cuda_headers", "mpi", "nccl_plugins", "ns3", "page_browser"]

_ANSWER_S = 60.0
#: Plugins for NCCL: where each is, and a symbol that NCCL looks for.
_PLUGINS: dict[str, tuple[Callable[[], Path], str]] = {
    "NCCL profiler": (nccl_profiler_path, "ncclProfiler_v4"),
    "NCCL tuner": (nccl_tuner_path, "ncclTunerPlugin_v3"),
}


def compiler(progress: Progress) -> Iterator[PartFinding]:
    """What compiles the collector's hooks and what runs programs on processors."""
    adds = "the collector's fast hook, hocket run on processors, MPI jobs"
    try:
        command = cxx_compiler()
    except HocketError as error:
        if os.environ.get("CXX"):
            yield PartFinding("C++ compiler", PartState.BROKEN, str(error), "mend or unset CXX")
        else:
            yield PartFinding("C++ compiler", PartState.ABSENT, f"would add {adds}", "apt-get install g++")
        return
    yield _answering("C++ compiler", command, adds, "name another by CXX, or: apt-get install g++")


def mpi(progress: Progress) -> Iterator[PartFinding]:
    """The launcher that `--transport mpi` would take, and the wrapper that knows its headers."""
    path = search_path()
    launcher, wrapper = which("mpiexec", path=path), which("mpicc", path=path)
    if launcher is None:
        adds = "would add MPI jobs: hocket launch, collect --mpi, run --transport mpi"
        yield PartFinding("MPI", PartState.ABSENT, adds, install_command("mpi"))
        return
    headers = "with its compiler wrapper" if wrapper else "without mpicc: MPI jobs cannot be recorded or served"
    yield _answering("MPI", [launcher], headers, install_command("mpi"))


def nccl_plugins(progress: Progress) -> Iterator[PartFinding]:
    """Whether the system's loader takes them, as NCCL's process would."""
    for name, (path, symbol) in _PLUGINS.items():
        try:
            getattr(ctypes.CDLL(str(path())), symbol)
        except (HocketError, OSError, AttributeError) as error:
            remedy = "install Hocket again on this machine, or in a checkout: make build"
            yield PartFinding(name, PartState.BROKEN, str(error), remedy)
        else:
            yield PartFinding(name, PartState.WORKS, "loads; hocket nccl env prints the variables for a job")


def cuda_headers(progress: Progress) -> Iterator[PartFinding]:
    """What NCCL's own code is built with."""
    try:
        found = find_cuda_headers()
    except HocketError:
        adds = "would add NCCL's own code without a GPU: hocket nccl run-stock"
        yield PartFinding("CUDA headers", PartState.ABSENT, adds, install_command("stock"))
        return
    yield PartFinding("CUDA headers", PartState.WORKS, f"CUDA {'.'.join(map(str, found.version))}: nccl run-stock")


def ns3(progress: Progress) -> Iterator[PartFinding]:
    """The other simulator that is asked for packets; whether its program compiles, its first use says."""
    found = ns3_here()
    if found is None:
        yield PartFinding("ns-3", PartState.ABSENT, "would add a second opinion: simulate --model ns3", HOW_TO_GET)
        return
    yield PartFinding("ns-3", PartState.WORKS, f"{found.version}, {found.origin}: simulate --model ns3")


def page_browser(progress: Progress) -> Iterator[PartFinding]:
    """Chromium, with which the tests look at pages; any browser shows them."""
    found = which("chromium") or which("chromium-browser")
    if found is None:
        adds = "would add the tests of pages; any browser shows pages"
        yield PartFinding("Chromium", PartState.ABSENT, adds, "apt-get install chromium")
        return
    yield _answering("Chromium", [found], "tests of pages", "apt-get install --reinstall chromium")


def _answering(part: str, command: list[str], adds: str, remedy: str) -> PartFinding:
    """A command that says its version, or that it cannot."""
    try:
        code, text = printed([*command, "--version"], _ANSWER_S)
    except OSError as error:
        return PartFinding(part, PartState.BROKEN, f"{command[0]}: {error.strerror}", remedy)
    if code:
        return PartFinding(part, PartState.BROKEN, f"{command[0]} {ended(code, text)}", remedy)
    versions = (" ".join(line.split()) for line in text.splitlines() if re.search(r"\d\.\d", line))
    return PartFinding(part, PartState.WORKS, f"{next(versions, command[0])}; {adds}")
