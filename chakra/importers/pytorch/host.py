"""What a rank's host did that matters for communication, whichever of PyTorch's two profiles tells it."""

from dataclasses import dataclass
from enum import Enum

from hocket.chakra.importers.pytorch.c10d import Described

__all__ = ["MONITORED_BARRIER", "HostEvent", "ProcessGroup", "What"]


#: The one barrier of gloo's that shows its ranks: by the messages that its first one receives.
MONITORED_BARRIER = "c10d::monitored_barrier_"


class What(Enum):
    """Kinds of `HostEvent`."""

    CALL = "c10d::*"
    FUNCTIONAL = "_c10d_functional::*, which names its group"
    WAIT_TENSOR = "_c10d_functional::wait_tensor"
    DIRECT = "an operation whose own kernel communicates, without NCCL"
    RECORD = "record_param_comms: an operation of NCCL"
    WAIT = "record_param_comms of a wait"
    SPAN = "gloo:*, from the issue to the end, or nccl:*, the issue"


@dataclass(frozen=True, slots=True)
class HostEvent:
    """An event of thread `thread`; `order` ascends with the begins of a thread's events; times in ns,
    the order without Kineto.

    `function` is PyTorch's record function id, equal in both profiles, 0 where it was not recorded, `external` Kineto's
    External id. `group` is the name of the process group, `sequence` NCCL's number of the operation or of the one that
    is waited for, `tensors` the storages of what a call writes or what is waited for.
    """

    what: What
    name: str
    order: int
    function: int
    thread: int
    start: int = 0
    end: int = 0
    described: Described | None = None
    group: str | None = None
    sequence: int | None = None
    tensors: frozenset[int] = frozenset()
    external: int = -1


@dataclass(frozen=True)
class ProcessGroup:
    """A group of this rank; `ranks` is empty where it has all or they are not told."""

    name: str
    description: str
    size: int
    ranks: tuple[int, ...]

    def members(self, world: int) -> tuple[int, ...]:
        """World ranks in group order; empty where they are not known."""
        return self.ranks or (tuple(range(world)) if self.size == world else ())
