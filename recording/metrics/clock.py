"""The clock of a job that runs: rank 0's, by which the times of ranks on other nodes are put."""

from hocket.recording.stream_lines import ClockLine, Meta

__all__ = ["JobClock"]


class JobClock:
    """What is to be added to a node's times, by what its ranks measured against rank 0 so far.

    Ranks of one node have one clock, so what was measured best there counts for all of them. What is not measured yet
    is told by wall clocks. Rank 0's stream need not be there: others' offsets are to its clock all the same.
    """

    def __init__(self) -> None:
        self._metas: dict[str, Meta] = {}  # one of each node
        self._zero: Meta | None = None
        self._measured: dict[str, ClockLine] = {}

    def met(self, meta: Meta) -> None:
        """A rank's session begins."""
        self._metas.setdefault(meta.boot, meta)
        if meta.rank == 0:
            self._zero = meta

    def measured(self, boot: str, line: ClockLine) -> None:
        """A rank of that node measured."""
        known = self._measured.get(boot)
        if known is None or line.round_trip <= known.round_trip:
            self._measured[boot] = line

    def shift_ns(self, boot: str) -> int:
        """To be added to times of a node for those of rank 0's."""
        if self._zero is not None and boot == self._zero.boot:
            return 0
        if boot in self._measured:
            return self._measured[boot].offset
        if self._zero is not None:
            return _apart_ns(self._metas[boot], self._zero)
        other = next((known for known in self._metas if known in self._measured), next(iter(self._metas)))
        known = self._measured.get(other)
        return _apart_ns(self._metas[boot], self._metas[other]) + (0 if known is None else known.offset)


def _apart_ns(meta: Meta, other: Meta) -> int:
    """What is to be added to times of one node for those of another, by their wall clocks."""
    return (meta.epoch_ns - meta.perf_ns) - (other.epoch_ns - other.perf_ns)
