"""How an engine looks for schedules, and what it tells meanwhile."""

import math
import time
from dataclasses import dataclass, field

from hocket._core.synthesizer import Stop
from hocket.synthesizer.partial import Partial

__all__ = ["Progress", "Search", "Stop"]


@dataclass
class Progress:
    """What a search has come to; written by the search, read by who watches it.

    `stop` asks a running engine to end (at a time limit, on Ctrl-C), and says how many deliveries of its present
    attempt are found. `interrupted`: Ctrl-C asked so. `deadline_s` is the time limit on the clock `time.monotonic`.
    `found`: whether there is any schedule by now. `resumed_at`: the round at which a search that was cut off goes on,
    if any does.
    """

    stop: Stop = field(default_factory=Stop)
    interrupted: bool = False
    engine: str = ""
    chunks_per_rank: int = 1
    bound_ps: int = 0
    found: bool = False
    best_ps: int | None = None
    deadline_s: float = math.inf
    resumed_at: int | None = None

    @property
    def seconds_left(self) -> float:
        """Until the time limit; infinite without one."""
        return max(0.0, self.deadline_s - time.monotonic())


@dataclass(frozen=True)
class Search:
    """`attempts` None: as many as the problem's size is worth. A schedule of at most `target_ps` ends the search early.

    `tireless`: engines that can go on improving do so until they are asked to stop. `partial`: where long runs keep
    what they have found, to go on from there in another process (None: they do not).

    The same `seed` gives the same schedules on any machine and for any number of `threads`.
    """

    seed: int = 0
    threads: int = 1
    attempts: int | None = None
    target_ps: int = 0
    tireless: bool = False
    progress: Progress = field(default_factory=Progress, compare=False)
    partial: Partial | None = field(default=None, compare=False)

    @property
    def stop(self) -> Stop:
        """Polled by engines in C++."""
        return self.progress.stop
