"""One rate that is measured: how work is prepared, what its units are, and how it is timed."""

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["SpeedCase", "Timed", "Work", "best_of"]

_LEAST_S = 0.3  # of all repeats together
_LEAST_REPEATS = 3


@dataclass(frozen=True)
class Work:
    """What is timed: `run` works off `units`, and cannot do so without moving `num_bytes` through memory once."""

    run: Callable[[], object]
    units: int
    num_bytes: int = 0


@dataclass(frozen=True)
class Timed:
    """The quickest of several runs of some work, in CPU seconds of the process."""

    units: int
    seconds: float
    num_bytes: int = 0

    @property
    def rate(self) -> float:
        """Units a second."""
        return self.units / self.seconds


@dataclass(frozen=True)
class SpeedCase:
    """`prepare` makes the work, large to be timed or small for its instructions to be counted; a case that is no call
    within the process gives `measure` in its place, and its instructions are not counted."""

    name: str
    unit: str
    what: str
    prepare: Callable[[bool], Work] | None = None
    measure: Callable[[], Timed] | None = None
    needs: str = ""  # a package that is not always there

    def timed(self) -> Timed:
        if self.measure is not None:
            return self.measure()
        assert self.prepare is not None
        return best_of(self.prepare(True))


def best_of(work: Work) -> Timed:
    """The quickest of three runs or more, for at least a third of a second."""
    seconds: list[float] = []
    while len(seconds) < _LEAST_REPEATS or sum(seconds) < _LEAST_S:
        start = time.process_time()
        work.run()
        seconds.append(time.process_time() - start)
    return Timed(work.units, min(seconds), work.num_bytes)
