"""What a peer and Hocket take for one problem and what they find: figures recorded of the peer, or measured beside."""

import csv
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hocket.bench.published

__all__ = ["UNITS", "PeerFigure", "PeerProblem", "PeerPrograms", "RecordedFigure", "cpu_seconds", "recorded_figures"]

_FILE = Path(hocket.bench.published.__path__[0]) / "peer_figures.csv"
_REPEATS = 3
#: Of each quantity: whether it is the speed of the tool or the quality of its answer, and what it is, with its unit.
UNITS = {
    "seconds": ("speed", "CPU time, s"),
    "time": ("quality", "predicted time, s"),
    "schedule": ("quality", "time of the schedule, s"),
    "arrival": ("quality", "arrival that differs most, relative"),
    "found": ("quality", "part of the wrong programs that is found"),
}


@dataclass(frozen=True)
class PeerPrograms:
    """Programs of peers on this machine, as the user names them, and the seconds that each run of one may take."""

    astra_sim: Path | None = None
    tacos: Path | None = None
    limit_s: float = 600.0


@dataclass(frozen=True)
class RecordedFigure:
    """A figure that was measured for this project on another day, on which machine, of what."""

    value: float
    machine: str
    date: str
    source: str


@dataclass(frozen=True)
class PeerProblem:
    """`name` as the recorded figures have it. `ours` and `theirs` give a value a quantity (of `UNITS`); `theirs` gives
    none where the peer is not on this machine (None: it is never run); `ran` is what that runs. `lacks` says why a
    quantity has no figure."""

    peer: str
    name: str
    what: str
    ours: Callable[[], Mapping[str, float]]
    theirs: Callable[[PeerPrograms], Mapping[str, float]] | None = None
    ran: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PeerFigure:
    """A quantity of a problem: the peer's value, and ours. `state` is `measured` (both on this machine, in this run),
    `recorded` (the peer's on `machine`, on `date`; ours in this run) or `none`; `source` says of what, or why not."""

    peer: str
    what: str
    kind: str
    quantity: str
    state: str
    theirs: float | None = None
    ours: float | None = None
    machine: str = ""
    date: str = ""
    source: str = ""

    @property
    def ratio(self) -> float | None:
        """The peer's over ours."""
        return None if self.theirs is None or not self.ours else self.theirs / self.ours


def recorded_figures() -> dict[tuple[str, str], RecordedFigure]:
    """What is recorded, by problem and quantity."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return {
            (row["problem"], row["quantity"]): RecordedFigure(
                float(row["value"]), row["machine"], row["date"], row["source"]
            )
            for row in csv.DictReader(file)
        }


def cpu_seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and the CPU seconds of the quickest of several runs in this process."""
    seconds, result = float("inf"), None
    for _ in range(_REPEATS):
        began = time.process_time()
        result = work()
        seconds = min(seconds, time.process_time() - began)
    return result, seconds
