"""Programs whose chunks NVLink's switches add and copy on the way: who is the head of which, and where they lie."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import Kind
from hocket.base.errors import ScheduleError

__all__ = ["STRIPE_BYTES", "SWITCHED_BYTES", "SWITCH_KINDS", "SwitchProgram", "SwitchRun", "slice_bytes"]

#: The collectives that there are such programs for.
SWITCH_KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.BROADCAST)
#: What all chunks of a slice take of a window, at most; and what a thread block does at a time, at least if its lanes
#: do less at once. Ranks meet before and after each slice.
SWITCHED_BYTES = 4 << 20
STRIPE_BYTES = 8 << 10
#: Ranks of one machine, and chunks of all their windows: what a proof has time for.
_MAX_RANKS = 1024
_MAX_PLACES = 1 << 20
_MAX_BLOCKS = 1024


def slice_bytes(chunks: int, stripe_bytes: int = STRIPE_BYTES) -> int:
    """Of each of so many chunks, what a slice has: whole stripes, one at least, each of a thread block."""
    return stripe_bytes * max(1, SWITCHED_BYTES // chunks // stripe_bytes)


class SwitchRun(NamedTuple):
    """Neighbouring chunks of one head: the rank that has the switches add them and store the sum to all ranks, or that
    stores its own to all."""

    head: int
    first: int
    chunks: int


@dataclass(frozen=True, slots=True)
class SwitchProgram:
    """A collective of ranks of one machine: each copies its part into its window, they meet, heads have the switches
    work, they meet, and each copies its result out. A kernel of `thread_blocks` on each rank does so.

    `chunks_per_loop`: those that the whole buffer is cut into; `min_bytes`, `max_bytes`: the sizes it is meant for,
    both inclusive (`max_bytes` 0: open); `root` matters for broadcast. It is right for calls in place, or for the
    others. Raises ScheduleError for runs that lead outside of a rank's buffers.
    """

    name: str
    kind: Kind
    num_ranks: int
    root: int
    chunks_per_loop: int
    thread_blocks: int
    in_place: bool
    min_bytes: int
    max_bytes: int
    runs: tuple[SwitchRun, ...]

    def __post_init__(self) -> None:
        n, chunks = self.num_ranks, self.chunks_per_loop
        if self.kind not in SWITCH_KINDS:
            raise ScheduleError(f"switches do {', '.join(SWITCH_KINDS)}; no {self.kind}")
        if not 1 <= n <= _MAX_RANKS:
            raise ScheduleError(f"{n} ranks: expected 1 to {_MAX_RANKS}")
        if chunks < 1 or n * chunks > _MAX_PLACES:
            raise ScheduleError(f"{chunks} chunks on each of {n} ranks: expected 1 to {_MAX_PLACES} in all")
        if len(self.runs) > chunks:
            raise ScheduleError(f"{len(self.runs)} runs of {chunks} chunks: expected one per chunk at most")
        if self.kind.in_blocks and chunks % n:
            raise ScheduleError(f"{self.kind} on {n} ranks in {chunks} chunks: expected a multiple of the ranks")
        if not 0 <= self.root < n:
            raise ScheduleError(f"root {self.root} is not one of the ranks 0..{n - 1}")
        if not 1 <= self.thread_blocks <= _MAX_BLOCKS:
            raise ScheduleError(f"{self.thread_blocks} thread blocks: expected 1 to {_MAX_BLOCKS}")
        for number, run in enumerate(self.runs):
            self._check(number, run)

    def _check(self, number: int, run: SwitchRun) -> None:
        first, last = run.first, run.first + run.chunks - 1
        where = f"run {number} (head {run.head}, chunks {first}..{last})"
        if not 0 <= run.head < self.num_ranks:
            raise ScheduleError(f"{where}: the head is not one of the ranks 0..{self.num_ranks - 1}")
        if not 0 <= first <= last < self.chunks_per_loop:
            raise ScheduleError(f"{where}: expected one or more of the chunks 0..{self.chunks_per_loop - 1}")
        if self.kind.in_blocks and not first // self._share == last // self._share == run.head:
            raise ScheduleError(f"{where}: in {self.kind} a rank is the head of chunks of its own block alone")

    @property
    def out_of_place(self) -> bool:
        return not self.in_place

    @property
    def adds(self) -> bool:
        """Whether the ranks' parts of a chunk are added; else its head has all of it."""
        return self.kind.reduces

    @property
    def spreads(self) -> bool:
        """Whether all ranks take a chunk; else its head alone."""
        return self.kind is not Kind.REDUCE_SCATTER

    @property
    def input_chunks(self) -> int:
        return self._share if self.kind.input_is_block else self.chunks_per_loop

    @property
    def output_chunks(self) -> int:
        return self._share if self.kind.output_is_block else self.chunks_per_loop

    @property
    def _share(self) -> int:
        """Chunks of a rank's block."""
        return self.chunks_per_loop // self.num_ranks

    def rows(self, rank: int) -> NDArray[np.int32]:
        """The table by which the kernel runs on a rank, a row for each run: its head, its first chunk in the windows
        and their number, where in the rank's input they come from and where in its output they go; -1: nowhere."""
        own = rank * self._share
        rows = []
        for head, first, count in self.runs:
            is_head = head == rank
            is_there = self.in_place and not self.adds and is_head  # the caller's one buffer has it already
            source = first - (own if self.kind.input_is_block else 0) if self.adds or is_head else -1
            takes = not is_there if self.spreads else is_head
            target = first - (own if self.kind.output_is_block else 0) if takes else -1
            rows.append((head, first, count, source, target))
        return np.array(rows, np.int32).reshape(-1, 5)
