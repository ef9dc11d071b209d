"""The chain of work that made the job take as long as it did."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import SimulationError
from hocket.base.text import clipped
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.models import Model
from hocket.simulator.prediction import Prediction
from hocket.simulator.workload import LAUNCH, NodeKind, Workload

__all__ = ["CriticalPath", "critical_path", "path_parts"]

_STEP = "step latency"
_WORDS = {NodeKind.DELAY: _STEP, NodeKind.SEND: "message", NodeKind.RECEIVE: "message"}


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """Segments in order of time, each from where the one before it ended: together they are the whole time.

    `node` (int64, row in the workload) ended at `finish_ps` on `rank` what began at `start_ps` (int64) on `from_rank`
    (int32): the same rank, but where a collective or message led from one to another.
    """

    workload: Workload
    node: NDArray[np.int64]
    rank: NDArray[np.int32]
    from_rank: NDArray[np.int32]
    start_ps: NDArray[np.int64]
    finish_ps: NDArray[np.int64]

    @property
    def duration_ps(self) -> NDArray[np.int64]:
        return self.finish_ps - self.start_ps

    @property
    def what(self) -> list[str]:
        """What each segment is: `compute`, a kind of collective, or `message`."""
        return [_what(self.workload, node) for node in self.node.tolist()]

    def parts(self) -> dict[str, int]:
        """Picoseconds on the path by `what`, the longest first."""
        return _parts(self.what, self.duration_ps)

    def segments(self) -> Columns:
        """Columns: `start_ps`, `finish_ps`, `what`, `from_rank`, `rank`."""
        return {
            "start_ps": self.start_ps,
            "finish_ps": self.finish_ps,
            "what": np.array(self.what, np.str_),
            "from_rank": self.from_rank,
            "rank": self.rank,
        }

    def table(self) -> Columns:
        """Columns: those of `segments`, `node_id` and `name` as in the trace, its beginning where it is longer than 400
        letters."""
        workload = self.workload
        return {
            **self.segments(),
            "node_id": workload.node_id[self.node],
            "name": np.array([clipped(workload.strings[at]) for at in workload.name[self.node].tolist()], np.str_),
        }


def path_parts(path: Columns) -> dict[str, int]:
    """`CriticalPath.parts` of its `segments`."""
    return _parts(path["what"].tolist(), path["finish_ps"] - path["start_ps"])


def critical_path(prediction: Prediction) -> CriticalPath:
    """The chain that ends with the last node, followed back: a node ends by what set it off (`node_cause`), that began
    when its last dependency ended, or when the processor came free.

    Inside a collective the path is one segment, from the start of the member whose arrival set off the last message
    that the rank needed. Segments that take no time are left out. Raises SimulationError for model `bound`, which says
    when nothing can be done before, not why.
    """
    if prediction.model == Model.BOUND:
        raise SimulationError("model bound has no critical path; use congestion or analytical")
    segments = [segment for segment in _back(prediction) if segment[1] < segment[2]]
    node, start, finish = np.array(segments[::-1], np.int64).reshape(-1, 3).T
    rank = prediction.workload.rank_numbers[prediction.workload.rank].astype(np.int32)
    return CriticalPath(prediction.workload, node, rank[node], rank[prediction.node_cause[node]], start, finish)


def _parts(what: list[str], duration_ps: NDArray[np.int64]) -> dict[str, int]:
    total: dict[str, int] = {}
    for name, duration in zip(what, duration_ps.tolist(), strict=True):
        total[name] = total.get(name, 0) + duration
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _back(prediction: Prediction) -> Iterator[tuple[int, int, int]]:
    """(node, start, finish) of the segments from the last to the first."""
    start, finish, cause = prediction.node_start_ps, prediction.node_finish_ps, prediction.node_cause
    node: int | None = int(finish.argmax()) if len(finish) else None
    while node is not None:
        began = int(cause[node])
        yield node, int(start[began]), int(finish[node])
        node = _before(prediction, began)


def _before(prediction: Prediction, node: int) -> int | None:
    """What ended when the node began and had to: a dependency, or what its rank was at."""
    workload, finish, now = prediction.workload, prediction.node_finish_ps, prediction.node_start_ps[node]
    needed = workload.dependency[workload.dependency_offset[node] : workload.dependency_offset[node + 1]]
    last = needed[finish[needed] == now]
    if len(last):
        return int(last[0])
    if now == 0:
        return None
    rank = int(np.searchsorted(workload.rank_offset, node, side="right")) - 1
    first, end = workload.rank_offset[rank], workload.rank_offset[rank + 1]
    here = slice(first, end)
    same = (finish[here] == now) & (prediction.node_start_ps[here] < now) & (workload.kind[here] == workload.kind[node])
    return int(first + np.flatnonzero(same)[0])


def _what(workload: Workload, node: int) -> str:
    kind = NodeKind(workload.kind[node])
    if kind == NodeKind.COLLECTIVE:
        return str(workload.calls[workload.call_of[workload.operand[node]]].kind)
    word = _WORDS.get(kind, kind.name.lower())
    return LAUNCH if word == _STEP and workload.strings[workload.name[node]] == LAUNCH else word
