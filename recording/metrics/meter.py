"""Adds up what the streams of a running job tell: per group and kind of collective, and per rank.

Each collective is put together over the ranks of its group by its number there: it takes from the arrival of its last
rank to its last completion, and each rank comes so much later than the first. Where a rank cannot tell when it came and
was complete, as on some devices, the collective counts as one without times, and in no sum of times or of bytes.
"""

from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hocket.base.collectives import bus_factor
from hocket.recording.calls import GroupKey
from hocket.recording.metrics.clock import JobClock
from hocket.recording.metrics.families import Family, Histogram, Labels
from hocket.recording.stream_follower import Issued
from hocket.recording.stream_lines import Meta

if TYPE_CHECKING:
    from hocket.recording.metrics.rank_meter import RankMeter

__all__ = ["SECOND", "Meter"]

SECOND = 10**9
_PENDING = 1 << 16  # collectives that wait for a rank's word: of more, the oldest are given up, and counted
_GROUPS = 64  # of more groups, the others are one
_OTHERS = "others"
_GATHERING = ("all_gather", "gather")  # their size is that of what is gathered


class Row(NamedTuple):
    """What metrics of collectives are apart by."""

    group: str
    kind: str

    def labels(self) -> Labels:
        return ("group", self.group), ("kind", self.kind)


@dataclass
class _Pending:
    """A collective of which some rank has not told all."""

    row: Row
    ranks: int
    num_bytes: int
    starts: dict[int, int] = field(default_factory=dict)  # by the rank's own clock
    ends: dict[int, int] = field(default_factory=dict)
    without_times: set[int] = field(default_factory=set)


class Meter:
    """What all ranks told so far."""

    def __init__(self) -> None:
        self.ranks: dict[int, RankMeter] = {}
        self.clock = JobClock()
        self._boots: dict[int, str] = {}
        self._world = 0
        self._calls: Counter[Row] = Counter()
        self._bytes: Counter[Row] = Counter()
        self._exposed_ns: Counter[Row] = Counter()
        self._together: Counter[Row] = Counter()
        self._untimed: Counter[Row] = Counter()
        self._transfer_ns: Counter[Row] = Counter()
        self._skew_ns: Counter[Row] = Counter()
        self._moved: defaultdict[Row, float] = defaultdict(float)  # bytes by nccl-tests' algbw
        self._bus_moved: defaultdict[Row, float] = defaultdict(float)
        self._before: dict[Row, tuple[int, float, float]] = {}
        self._abandoned = 0
        self._pending: OrderedDict[tuple[GroupKey, int], _Pending] = OrderedDict()
        self._groups: set[str] = set()

    def begin(self, meta: Meta, rank: "RankMeter") -> None:
        """A rank's session begins: of the job, or of a restart."""
        self.ranks[meta.rank], self._boots[meta.rank], self._world = rank, meta.boot, meta.world
        self.clock.met(meta)

    def count(self, call: Issued) -> None:
        """A rank issued a call, or a replay of a graph did."""
        row = self._row(call)
        self._calls[row] += 1
        self._bytes[row] += call.num_bytes

    def exposed(self, call: Issued, duration: int) -> None:
        """A thread or a stream waited so long, ns."""
        self._exposed_ns[self._row(call)] += duration

    def started(self, rank: int, call: Issued, t: int) -> None:
        """A rank came to a collective at `t`, ns of its clock."""
        self._find(call).starts[rank] = t

    def completed(self, rank: int, call: Issued, t: int) -> None:
        """The collective is complete on a rank that came to it."""
        pending = self._pending.get((call.group.key, call.sequence))
        if pending is not None:
            pending.ends[rank] = t
            self._end(call, pending)

    def untimed(self, rank: int, call: Issued) -> None:
        """The collective is over on a rank, and when is not known."""
        pending = self._find(call)
        pending.without_times.add(rank)
        self._end(call, pending)

    def _row(self, call: Issued) -> Row:
        """Where a call counts."""
        title = call.group.title
        if title not in self._groups:
            if len(self._groups) >= _GROUPS:
                return Row(_OTHERS, call.kind)
            self._groups.add(title)
        return Row(title, call.kind)

    def _find(self, call: Issued) -> _Pending:
        """The collective that some rank has not told all of."""
        ranks = len(call.group.ranks)
        size = call.num_bytes * ranks if call.kind in _GATHERING else call.num_bytes
        key = call.group.key, call.sequence
        pending = self._pending.get(key)
        if pending is None:
            if len(self._pending) >= _PENDING:
                self._pending.popitem(last=False)
                self._abandoned += 1
            pending = self._pending[key] = _Pending(self._row(call), ranks, size)
        pending.num_bytes = max(pending.num_bytes, size)  # a scatter's is its root's
        return pending

    def _end(self, call: Issued, pending: _Pending) -> None:
        """Counts a collective that all ranks of the group have told of."""
        if len(pending.ends) + len(pending.without_times) < pending.ranks:
            return
        del self._pending[call.group.key, call.sequence]
        self._together[pending.row] += 1
        if pending.without_times:
            self._untimed[pending.row] += 1
        else:
            self._add(pending)

    def _add(self, done: _Pending) -> None:
        shifts = {rank: self.clock.shift_ns(self._boots[rank]) for rank in done.starts}
        starts = {rank: t + shifts[rank] for rank, t in done.starts.items()}
        row, first, last = done.row, min(starts.values()), max(starts.values())
        self._transfer_ns[row] += max(0, max(t + shifts[rank] for rank, t in done.ends.items()) - last)
        self._skew_ns[row] += last - first
        self._moved[row] += done.num_bytes
        self._bus_moved[row] += done.num_bytes * bus_factor(row.kind, done.ranks)
        for rank, start in starts.items():
            self.ranks[rank].late.add(first, start)

    def families(self) -> list[Family]:
        """The metrics now; bandwidths are those since the last time."""
        algbw, busbw = self._bandwidths()

        def counter(name: str, unit: str, text: str, values: Counter[Row] | dict[Row, float], scale: int = 1) -> Family:
            samples = [(row.labels(), value / scale) for row, value in sorted(values.items())]
            return Family(f"hocket_{name}", "counter", unit, text, samples)

        return [
            counter("calls", "", "Collectives and messages that ranks issued, each on each rank.", self._calls),
            counter("call_bytes", "bytes", "What ranks gave to them.", self._bytes),
            counter("exposed_seconds", "seconds", "Time in which threads waited for them.", self._exposed_ns, SECOND),
            counter("collectives", "", "Collectives that all ranks of the group completed.", self._together),
            counter(
                "untimed_collectives",
                "",
                "Those of them of which some rank cannot tell when: they are in no time and no bandwidth.",
                self._untimed,
            ),
            counter(
                "transfer_seconds",
                "seconds",
                "From the arrival of a collective's last rank to its last completion.",
                self._transfer_ns,
                SECOND,
            ),
            counter(
                "skew_seconds",
                "seconds",
                "From the arrival of a collective's first rank to that of its last.",
                self._skew_ns,
                SECOND,
            ),
            counter("algorithm_bytes", "bytes", "Sizes of collectives as nccl-tests counts them.", self._moved),
            counter("bus_bytes", "bytes", "The same times nccl-tests' factor of busbw.", self._bus_moved),
            Family("hocket_algbw_bytes_per_second", "gauge", "bytes_per_second", "nccl-tests' algbw of late.", algbw),
            Family("hocket_busbw_bytes_per_second", "gauge", "bytes_per_second", "nccl-tests' busbw of late.", busbw),
            *self._of_ranks(),
            Family(
                "hocket_unmatched_collectives",
                "counter",
                "",
                "Collectives given up because a rank did not tell of them.",
                [((), self._abandoned)],
            ),
            Family(
                "hocket_absent_ranks",
                "gauge",
                "",
                "Ranks of the job without a stream in the folder: collectives of their groups are not put together.",
                [((), max(0, self._world - len(self.ranks)))],
            ),
        ]

    def _of_ranks(self) -> list[Family]:
        def per_rank(name: str, kind: str, unit: str, text: str, values: dict[int, float | Histogram]) -> Family:
            samples = [((("rank", str(rank)),), value) for rank, value in sorted(values.items())]
            return Family(f"hocket_{name}", kind, unit, text, samples)

        ranks = self.ranks
        return [
            per_rank("steps", "counter", "", "Steps that ended.", {n: sum(r.steps.counts) for n, r in ranks.items()}),
            per_rank("step_seconds", "histogram", "seconds", "Times of steps.", {n: r.steps for n, r in ranks.items()}),
            per_rank(
                "rank_exposed_seconds",
                "counter",
                "seconds",
                "Time in which the rank's threads waited for communication.",
                {n: r.exposed_ns / SECOND for n, r in ranks.items() if r.knows_waits},
            ),
            per_rank(
                "rank_late_seconds",
                "counter",
                "seconds",
                "How much later than the first rank this one reached its collectives, several at one time once.",
                {n: r.late.ns / SECOND for n, r in ranks.items() if r.knows_lateness},
            ),
            per_rank(
                "calls_in_flight", "gauge", "", "Calls under way.", {n: len(r.under_way) for n, r in ranks.items()}
            ),
            per_rank(
                "last_call_timestamp_seconds",
                "gauge",
                "seconds",
                "When the rank issued its last call, since the epoch.",
                {n: r.last_ns / SECOND for n, r in ranks.items()},
            ),
            per_rank(
                "missed_calls",
                "counter",
                "",
                "Calls that a cap dropped before they were read.",
                {n: r.missed for n, r in ranks.items()},
            ),
        ]

    def _bandwidths(self) -> tuple[list[tuple[Labels, float]], list[tuple[Labels, float]]]:
        algbw, busbw = [], []
        for row, transfer in sorted(self._transfer_ns.items()):
            was, moved, bus_moved = self._before.get(row, (0, 0.0, 0.0))
            self._before[row] = transfer, self._moved[row], self._bus_moved[row]
            if transfer > was and self._moved[row]:
                algbw.append((row.labels(), (self._moved[row] - moved) * SECOND / (transfer - was)))
                busbw.append((row.labels(), (self._bus_moved[row] - bus_moved) * SECOND / (transfer - was)))
        return algbw, busbw
