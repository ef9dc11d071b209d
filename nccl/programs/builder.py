"""What an algorithm of NCCL is: how what its kernels do is made."""

from collections.abc import Callable
from dataclasses import dataclass

from hocket.base.registry import Entry
from hocket.nccl.programs.request import NcclCall, NcclProgram
from hocket.schedule import Kernel, Kind

__all__ = ["NcclBuilder"]


@dataclass(frozen=True, kw_only=True)
class NcclBuilder(Entry):
    """One of NCCL's algorithms by its name there. `build` gives a program of thread blocks, or a kernel over switches
    that compute, for a call of one of the `kinds`; raises ScheduleError for a call that NCCL would not run so."""

    kinds: tuple[Kind, ...]
    build: Callable[[NcclCall], NcclProgram | Kernel]

    def why_not(self, call: NcclCall) -> str | None:
        """Why NCCL does not run it for the call, by its own model; None where it does."""
        return call.term.out or None
