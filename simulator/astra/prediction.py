"""What a simulation in compatibility mode found."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.files import write_json

__all__ = ["AstraPrediction"]

_JSON_VERSION = 1
_WRAP = 1 << 64


@dataclass(frozen=True, eq=False)
class AstraPrediction:
    """Times in nanoseconds (ASTRA-sim's cycles), per rank: `finish_ns`, and `compute_ns` of its accelerator (int64).

    `notes` say where the result is an artefact of ASTRA-sim's model, and by how much. `messages` were sent, and
    `events` simulated.
    """

    backend: str
    finish_ns: NDArray[np.int64]
    compute_ns: NDArray[np.int64]
    notes: tuple[str, ...]
    messages: int
    events: int

    @property
    def time_ns(self) -> int:
        """When the last rank finishes."""
        return int(self.finish_ns.max())

    @property
    def exposed_ns(self) -> list[int]:
        """ASTRA-sim's exposed communication of each rank: finish less computation, modulo 2^64 as there."""
        exposed: list[int] = (self.finish_ns - self.compute_ns).tolist()
        return [value % _WRAP for value in exposed]

    def as_json(self) -> dict[str, Any]:
        """The documented JSON form (docs/astra-sim.md)."""
        return {
            "format": "hocket.astra-sim",
            "version": _JSON_VERSION,
            "model": self.backend,
            "time_ns": self.time_ns,
            "finish_ns": _by_rank(self.finish_ns.tolist()),
            "exposed_ns": _by_rank(self.exposed_ns),
            "messages": self.messages,
            "events": self.events,
            "notes": list(self.notes),
        }

    def to_json(self, path: Path | str) -> None:
        """Writes the JSON form."""
        write_json(path, self.as_json())


def _by_rank(times: list[int]) -> dict[str, int]:
    return {str(rank): time for rank, time in enumerate(times)}
