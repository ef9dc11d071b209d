"""The program model of the MSCCL interpreter: thread blocks that walk through steps, joined by FIFO connections.

This is what MSCCL XML parses to and what schedules lower to; semantics: docs/translator.md#msccl-xml.
"""

from dataclasses import dataclass

from hocket.core.enums import StrEnum
from hocket.schedule.collective import Kind

__all__ = ["BUFFERS", "Gpu", "Program", "Step", "StepType", "ThreadBlock"]

#: The buffers of a rank by their XML names: input, output, scratch.
BUFFERS = ("i", "o", "s")


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


@dataclass(frozen=True, slots=True)
class ThreadBlock:
    """A sequence of steps with at most one peer to send to and one to receive from (-1: none) on one channel."""

    send: int
    receive: int
    channel: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Gpu:
    """One rank's thread blocks (a block's id is its position) and the chunks in its three buffers."""

    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    thread_blocks: tuple[ThreadBlock, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A collective algorithm as an interpreter runs it; `gpus[r]` is rank r's part.

    `chunks_per_loop` is the number of chunks the whole buffer (nccl-tests' size) is cut into. `protocol` is `Simple`,
    `LL` or `LL128`. `in_place`/`out_of_place`: the calls it is right for. `min_bytes`, `max_bytes`: the sizes it is
    meant for (0: open). `root` is not part of the XML; it matters for broadcast and reduce only.
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

    @property
    def num_ranks(self) -> int:
        return len(self.gpus)
