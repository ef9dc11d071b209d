"""The way in which a schedule or an algorithm becomes a program: what is asked for, what is tried, what it came to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import FIFO_DEPTH, Program
from hocket.translator.msccl.findings import Finding

__all__ = ["Candidate", "Lowering", "Strategy"]

# What is tried where costs are known.
_INSTANCES = (2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way to lower. `channels`, `slots`, `paired`, `protocol`, `instances`: as in `Lowering`, decided; `merged`: so
    many chunks that go the same way are made one; `levelled`: what may leave together does (`levels.py`)."""

    channels: int = 1
    slots: int = 1
    paired: bool = False
    merged: int = 1
    protocol: str = "Simple"
    instances: int = 1
    levelled: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a strategy came to: a program that fits the runtime, its XML with notes and its predicted time, or the
    `error` why it does not fit; of a program that fits and could not be proved, both. Neither: it was not tried, since
    it takes `time_ps` at least, more than another."""

    strategy: Strategy
    program: Program | None = field(default=None, repr=False)
    xml: tuple[str, tuple[Finding, ...]] | None = field(default=None, repr=False)
    time_ps: int = 0
    error: ScheduleError | DeadlockError | None = None

    @property
    def thread_blocks(self) -> int:
        """Of the rank that has the most."""
        return max((len(gpu.thread_blocks) for gpu in self.program.gpus), default=0) if self.program else 0

    @property
    def steps(self) -> int:
        """Of the longest thread block."""
        if self.program is None:
            return 0
        return max((len(block.steps) for gpu in self.program.gpus for block in gpu.thread_blocks), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """How a schedule is lowered, and which calls the program is for. None leaves it to the function: `lower` takes the
    plainest, `translate` tries several and takes the quickest.

    `protocol`: Simple, LL or LL128 (None: Simple; the quickest of those whose costs are known).
    `channels`:
    connections between two ranks that talk, at least; more are made where thread blocks would have too many steps.
    `slots`: messages that a connection is relied on to hold. With 1 the program cannot deadlock at any size and FIFO
    depth; with 2, none that holds two: then what is received and sent on becomes one step. `instances`: so many of the
    program beside each other, each on its part of the buffers (None: one, for a runtime whose costs are known several).
    `paired`: connections out of a rank share thread blocks
    with those into it even where nothing goes on, which takes fewer blocks of more steps.

    `in_place`: for in-place or out-of-place calls (None: all_to_all out of place, others in place; a bundle has both).
    `min_bytes`, `max_bytes`: the sizes it is for, both inclusive (0: open). `name`: inside the file, not empty.

    Raises ScheduleError when one is out of range.
    """

    protocol: str | None = None
    channels: int | None = None
    slots: int | None = None
    instances: int | None = None
    paired: bool | None = None
    in_place: bool | None = None
    min_bytes: int = 0
    max_bytes: int = 0
    name: str | None = None

    def __post_init__(self) -> None:
        if self.wire_protocol not in FIFO_DEPTH:
            raise ScheduleError(f"no protocol '{self.protocol}'; protocols: {', '.join(FIFO_DEPTH)}")
        if self.channels is not None and self.channels < 1:
            raise ScheduleError(f"channels must be at least 1, got {self.channels}")
        if self.instances is not None and self.instances < 1:
            raise ScheduleError(f"instances must be at least 1, got {self.instances}")
        depth = FIFO_DEPTH[self.wire_protocol]
        if self.slots is not None and not 1 <= self.slots <= depth:
            raise ScheduleError(f"connections hold 1 to {depth} messages of {self.wire_protocol}, not {self.slots}")
        if self.name == "":
            raise ScheduleError("an empty name: give a program one, or leave it out")
        if min(self.min_bytes, self.max_bytes) < 0:
            raise ScheduleError(f"sizes from {self.min_bytes} to {self.max_bytes} bytes: none is below 0")
        if 0 < self.max_bytes < self.min_bytes:
            raise ScheduleError(
                f"sizes from {self.min_bytes} to {self.max_bytes} bytes: the largest is below the smallest"
            )

    @property
    def wire_protocol(self) -> str:
        """Simple, unless it says otherwise."""
        return self.protocol or "Simple"

    @property
    def plainest(self) -> Strategy:
        """One channel, one slot, and thread blocks that are not shared, unless it says otherwise."""
        return Strategy(
            self.channels or 1,
            self.slots or 1,
            bool(self.paired),
            protocol=self.wire_protocol,
            instances=self.instances or 1,
        )

    def strategies(self, *, few: bool = False, priced: Sequence[str] = ()) -> list[Strategy]:
        """Those that it leaves to be tried, the plainest first; `few`: with no more channels than one; `priced`: the
        protocols of which it is known what kernels take, so that these and instances are worth trying."""
        channels = [self.channels] if self.channels else [1] if few else [1, 2, 4]
        slots = [self.slots] if self.slots else [1, 2]
        protocols = priced if priced and self.protocol is None else (self.wire_protocol,)
        variants = product(protocols, channels, slots)
        found = [
            replace(self.plainest, protocol=protocol, channels=each, slots=depth) for protocol, each, depth in variants
        ]
        if priced and self.instances is None and self.channels is None and not few:
            found += [
                replace(self.plainest, protocol=protocol, slots=depth, instances=instances)
                for protocol, instances, depth in product(protocols, _INSTANCES, slots)
            ]
        return found
