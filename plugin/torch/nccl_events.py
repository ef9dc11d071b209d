"""NCCL's own account of what it does: its profiler plugin of Hocket, offered to the NCCL of this process."""

import os
import secrets
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path

import torch
import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.plugin.nccl.library import nccl_profiler_path
from hocket.recording.folder import nccl_folder, nccl_profiles
from hocket.recording.stream import Stream, record

__all__ = ["NcclEvents", "offer"]

_PLUGIN, _CHAIN = "NCCL_PROFILER_PLUGIN", "HOCKET_NCCL_PROFILER_CHAIN"
_FOLDER, _EVENTS = "HOCKET_NCCL_PROFILE", "HOCKET_NCCL_EVENTS"

# Without `kernel_channel` nothing tells when a kernel ran. In 2.31 it is reported to slow NCCL down.
_CALLS = "collective,p2p"
_KERNELS = f"{_CALLS},kernel_channel"
_SLOW_FROM = (2, 31)
_LEAST = (2, 27)  # older releases take none of the plugin's versions


def offer(folder: Path, environment: MutableMapping[str, str] = os.environ) -> str:
    """Has the NCCL that this process may yet initialise load our plugin, which writes into `folder`; returns why it
    will not, "" where it will.

    Who has chosen a folder or events keeps them, and a profiler that is set already is put behind ours. NCCL looks at
    the variables when it makes its first communicator: a process without NCCL never does, and no file is made.
    """
    if torch.version.cuda is None or not dist.is_nccl_available():
        return "this PyTorch has no NCCL"
    version = _version()
    if version is not None and version < _LEAST:
        return f"NCCL {version[0]}.{version[1]} takes no profiler of Hocket's, 2.27 is the first"
    try:
        library = str(nccl_profiler_path())
    except HocketError as error:
        return str(error)
    other = environment.get(_PLUGIN, "")
    if other.lower() == "none":
        return f"{_PLUGIN}=none"
    if other not in ("", library) and environment.setdefault(_CHAIN, other) != other:
        return f"{_PLUGIN}={other}, and {_CHAIN} names another one"
    environment[_PLUGIN] = library
    environment.setdefault(_FOLDER, str(folder))
    if _EVENTS in environment:
        return "" if "kernel_channel" in environment[_EVENTS] else f"{_EVENTS} leaves kernel_channel out: no times"
    if version is not None and version >= _SLOW_FROM:
        environment[_EVENTS] = _CALLS
        return f"NCCL {version[0]}.{version[1]} is slowed down by kernel_channel: no times unless {_EVENTS} asks for it"
    environment[_EVENTS] = _KERNELS
    return ""


class NcclEvents:
    """Offers the plugin to this process's NCCL, tells the stream of it, and sees to it that what it wrote is there."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # NCCL may ask before the ranks have agreed on the job's folder; numbers of processes come again in other jobs.
        self._own = nccl_folder(root) / f"{os.getpid()}-{secrets.token_hex(3)}"
        self._problem = offer(self._own)

    def open(self, stream: Stream, job: Path) -> None:
        """Tells the stream where, seen from the job's folder, the profile of this process will be."""
        self._profiles = Path(os.environ.get(_FOLDER) or self._own).absolute()
        inside = self._profiles.is_relative_to(self._root)
        told = os.path.relpath(self._profiles, job) if inside else self._profiles
        stream.keep(record("nccl", folder=str(told), problem=self._problem))

    def close(self) -> None:
        """Sends what the plugin wrote to the disk: NCCL ends after the merge has begun, which may be elsewhere."""
        for path in nccl_profiles(self._profiles, os.getpid()):
            with suppress(OSError), path.open("rb") as file:
                os.fsync(file.fileno())


def _version() -> tuple[int, int] | None:
    """Of the NCCL that PyTorch has loaded; None where it cannot be told."""
    try:
        from torch.cuda import nccl  # a private function stands behind it, in PyTorch 2.4 to 2.15

        major, minor, *_ = nccl.version()
    except Exception:  # whatever PyTorch raises: NCCL then finds out by itself
        return None
    return major, minor
