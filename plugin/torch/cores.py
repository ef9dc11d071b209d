"""How long a process had a core, and how long it could have run and had none: what a straggler's host does to it."""

import time
from pathlib import Path
from typing import NamedTuple

from hocket.recording.stream import record

__all__ = ["CoreTimes"]

# The leading thread's: it issues the calls. Times on a core, waiting for one (ns), and turns.
_STATISTICS = Path("/proc/self/schedstat")


class CoreTimes(NamedTuple):
    """Times since some begin, ns: by a clock, on a core, waiting for one."""

    wall: int
    on_core: int
    waiting: int

    @classmethod
    def now(cls) -> "CoreTimes | None":
        """The process's times until now; None where Linux keeps none."""
        try:
            on_core, waiting, _ = map(int, _STATISTICS.read_text().split())
        except (OSError, ValueError):
            return None
        return cls(time.perf_counter_ns(), on_core, waiting)

    def line(self) -> str | None:
        """The stream's line for what was since then."""
        now = CoreTimes.now()
        if now is None:
            return None
        wall, on_core, waiting = (after - before for after, before in zip(now, self, strict=True))
        return record("cores", wall=wall, on_core=on_core, waiting=waiting)
