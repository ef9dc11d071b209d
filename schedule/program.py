"""The program model of the MSCCL interpreter: thread blocks that walk through steps, joined by FIFO connections.

This is what MSCCL XML parses to and what schedules lower to; semantics: docs/translator.md#msccl-xml.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.schedule.collective import Kind

__all__ = ["BUFFERS", "STEP_ROW", "Gpu", "Program", "Step", "StepType", "Steps", "ThreadBlock", "chunks_text"]

#: The buffers of a rank by their XML names: input, output, scratch.
BUFFERS = ("i", "o", "s")


def chunks_text(buffer: str, offset: int, count: int) -> str:
    """Chunks of a buffer, for people: `i[3]`, or `i[3..5]`."""
    return f"{buffer}[{offset}]" if count == 1 else f"{buffer}[{offset}..{offset + count - 1}]"


class StepType(StrEnum):
    """MSCCL's step types, by their XML names."""

    SEND = "s"
    RECEIVE = "r"
    COPY = "cpy"
    REDUCE = "re"
    NOP = "nop"
    RECEIVE_COPY_SEND = "rcs"
    RECEIVE_REDUCE_COPY = "rrc"
    RECEIVE_REDUCE_SEND = "rrs"
    RECEIVE_REDUCE_COPY_SEND = "rrcs"

    @property
    def sends(self) -> bool:
        return self in ("s", "rcs", "rrs", "rrcs")

    @property
    def receives(self) -> bool:
        return self in ("r", "rcs", "rrc", "rrs", "rrcs")

    @property
    def reads(self) -> bool:
        """Whether the step reads its source buffer (a receive that does not reduce names it for information only)."""
        return self in ("s", "cpy", "re", "rrc", "rrs", "rrcs")

    @property
    def writes(self) -> bool:
        """Whether the step writes its destination buffer."""
        return self in ("r", "cpy", "re", "rcs", "rrc", "rrcs")


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction. Buffers are `i` (input), `o` (output), `s` (scratch); offsets and count are in chunks.

    The step waits until step `depend_step` of thread block `depend_block` of the same GPU is done (-1: no wait);
    `has_dependents` says that some step waits for this one.
    """

    type: StepType
    src_buffer: str
    src_offset: int
    dst_buffer: str
    dst_offset: int
    count: int
    depend_block: int = -1
    depend_step: int = -1
    has_dependents: bool = False


#: A step as a row of an array: the fields of `Step`; type and buffers are positions in StepType and BUFFERS.
STEP_ROW = np.dtype(
    [
        ("type", np.uint8),
        ("src_buffer", np.uint8),
        ("src_offset", np.int32),
        ("dst_buffer", np.uint8),
        ("dst_offset", np.int32),
        ("count", np.int32),
        ("depend_block", np.int32),
        ("depend_step", np.int32),
        ("has_dependents", np.bool_),
    ]
)
_TYPES = tuple(StepType)
_TYPE_NUMBER = {kind: number for number, kind in enumerate(_TYPES)}
_BUFFER_NUMBER = {name: number for number, name in enumerate(BUFFERS)}


class Steps(Sequence[Step]):
    """The steps of a thread block, kept as `rows` (of STEP_ROW, 24 bytes each): a program may have millions."""

    __slots__ = ("rows",)

    def __init__(self, rows: NDArray[np.void]) -> None:
        self.rows = rows

    @classmethod
    def of(cls, steps: Iterable[Step]) -> "Steps":
        """The steps as rows; itself where they are rows already."""
        if isinstance(steps, Steps):
            return steps
        return cls(np.array([_row(step) for step in steps], STEP_ROW))

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> "Steps": ...
    def __getitem__(self, index: int | slice) -> "Step | Steps":
        return Steps(self.rows[index]) if isinstance(index, slice) else _step(self.rows[index].item())

    def __iter__(self) -> Iterator[Step]:
        return map(_step, self.rows.tolist())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence):
            return len(self) == len(other) and bool((self.rows == Steps.of(other).rows).all())
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())

    def __repr__(self) -> str:
        return f"Steps({list(self)})"


def _row(step: Step) -> tuple[int, ...]:
    return (
        _TYPE_NUMBER[step.type],
        _BUFFER_NUMBER[step.src_buffer],
        step.src_offset,
        _BUFFER_NUMBER[step.dst_buffer],
        step.dst_offset,
        step.count,
        step.depend_block,
        step.depend_step,
        step.has_dependents,
    )


def _step(row: tuple[int, ...]) -> Step:
    kind, source, src_offset, target, dst_offset, count, block, step, has_dependents = row
    return Step(
        _TYPES[kind], BUFFERS[source], src_offset, BUFFERS[target], dst_offset, count, block, step, bool(has_dependents)
    )


@dataclass(frozen=True, slots=True)
class ThreadBlock:
    """A sequence of steps with at most one peer to send to and one to receive from (-1: none) on one channel."""

    send: int
    receive: int
    channel: int
    steps: Sequence[Step]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", Steps.of(self.steps))

    @property
    def rows(self) -> NDArray[np.void]:
        """The steps as rows of STEP_ROW."""
        return Steps.of(self.steps).rows


@dataclass(frozen=True, slots=True)
class Gpu:
    """One rank's thread blocks (a block's id is its position) and the chunks in its three buffers."""

    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    thread_blocks: tuple[ThreadBlock, ...]


class _Gpus(tuple[Gpu, ...]):
    """The ranks of a program, and of other programs with the same thread blocks; they remember all steps in a row."""

    @cached_property
    def rows(self) -> NDArray[np.void]:
        # as bytes: to concatenate thousands of structured arrays numpy looks at every field of each
        rows = (block.rows.tobytes() for gpu in self for block in gpu.thread_blocks)
        return np.frombuffer(b"".join(rows), STEP_ROW)


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A collective algorithm as an interpreter runs it; `gpus[r]` is rank r's part.

    `chunks_per_loop` is the number of chunks the whole buffer (nccl-tests' size) is cut into. `protocol` is `Simple`,
    `LL` or `LL128`. `in_place`/`out_of_place`: the calls it is right for. `min_bytes`, `max_bytes`: the sizes it is
    meant for, both inclusive (`max_bytes` 0: open, -1: none). `root` is not part of the XML; it matters for broadcast
    and reduce only.
    """

    name: str
    kind: Kind
    chunks_per_loop: int
    num_channels: int
    protocol: str
    in_place: bool
    out_of_place: bool
    min_bytes: int
    max_bytes: int
    gpus: tuple[Gpu, ...]
    root: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.gpus, _Gpus):
            object.__setattr__(self, "gpus", _Gpus(self.gpus))

    def __repr__(self) -> str:
        channels = f"{self.protocol}, {self.num_channels} channels"
        return f"<Program {self.name}: {self.kind} on {len(self.gpus)} ranks, {channels}>"

    @property
    def num_ranks(self) -> int:
        return len(self.gpus)

    @property
    def rows(self) -> NDArray[np.void]:
        """The steps of all thread blocks, rank by rank, as rows of STEP_ROW, not to be written to."""
        assert isinstance(self.gpus, _Gpus)
        return self.gpus.rows
