"""Whether the ranks of a group can write to each other's memory: processes of one machine that see each other."""

import os
from collections.abc import Sequence
from pathlib import Path

from hocket.base.errors import HocketError

__all__ = ["NoSharedMemory", "machine_word", "require_no_objection", "require_one_machine"]


class NoSharedMemory(HocketError):
    """Raised on all ranks of a group alike, so that all can go another way."""


def machine_word() -> str:
    """Of this boot of this machine, and what of its processes can be seen from here."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink("/proc/self/ns/pid")


def require_one_machine(words: Sequence[str]) -> None:
    """Of all ranks' `machine_word`. Raises NoSharedMemory where they differ."""
    if (machines := len(set(words))) > 1:
        raise NoSharedMemory(f"its ranks are on {machines} machines, or do not see each other's processes")


def require_no_objection(words: Sequence[str]) -> None:
    """Of what hinders each rank ("": nothing). Raises NoSharedMemory, naming the first that something hinders."""
    for rank, objection in enumerate(words):
        if objection:
            raise NoSharedMemory(f"rank {rank}: {objection}")
