"""MSCCL++ 0.9 execution plans as data: the JSON file's own structure, under the names this project uses.

Format: microsoft/mscclpp 0.9.0, its plan loader and executor kernel; what a plan does: docs/translator.md#msccl-plans.
"""

from typing import Annotated, Literal, cast

from msgspec import Meta, Struct

from hocket.base.collectives import kinds_called
from hocket.base.enums import StrEnum
from hocket.schedule import Kind

__all__ = [
    "COLLECTIVE_NAMES",
    "OPEN_SIZE",
    "Channel",
    "ChannelRefs",
    "CollectiveName",
    "ExecutionPlan",
    "Iterations",
    "Op",
    "OpName",
    "Operand",
    "PlanBlock",
    "PlanGpu",
    "RankGroup",
    "RemoteBuffer",
    "RemoteRefs",
    "Semaphore",
    "Share",
]

#: `max_message_size` of a plan without a largest size.
OPEN_SIZE = 2**64 - 1

Index = Annotated[int, Meta(ge=0, lt=2**24)]
Positive = Annotated[int, Meta(ge=1, lt=2**31)]
Size = Annotated[int, Meta(ge=0)]
BufferName = Literal["i", "o", "s"]
ChannelType = Literal["memory", "port", "switch", "none"]
CollectiveName = Literal[
    "allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "sendrecv", "test", "custom"
]


class OpName(StrEnum):
    """What the threads of a block can do together, by its name in the file."""

    SYNC = "nop"
    BARRIER = "barrier"
    PUT = "put"
    PUT_SIGNAL = "pws"
    PUT_SIGNAL_FLUSH = "pwsf"
    GET = "get"
    COPY = "copy"
    SIGNAL = "signal"
    WAIT = "wait"
    RELAXED_SIGNAL = "rlxsignal"
    RELAXED_WAIT = "rlxwait"
    FLUSH = "flush"
    REDUCE = "re"
    REDUCE_SEND = "res"
    READ_REDUCE = "rre"
    READ_REDUCE_SEND = "rres"
    PUT_PACKETS = "ppkt"
    READ_PUT_PACKETS = "rppkt"
    COPY_PACKETS = "cpkt"
    UNPACK_PACKETS = "upkt"
    REDUCE_PACKETS = "repkt"
    REDUCE_SEND_PACKETS = "respkt"
    REDUCE_COPY_PACKETS = "recpkt"
    REDUCE_COPY_SEND_PACKETS = "recspkt"
    GROUP_REDUCE = "glre"
    GROUP_REDUCE_STORE = "glres"
    GROUP_STORE = "gstore"
    GROUP_STORE_PACKETS = "gstorepkt"
    PIPELINE = "pipeline"
    ACQUIRE = "sem_acquire"
    RELEASE = "sem_release"


class Operand(Struct, frozen=True, gc=False, omit_defaults=True):
    """Chunks `index .. index + size - 1` of one buffer: of the rank itself (`type`), of a peer (`buffer_id`, counted in
    the thread block's remote buffers of the op's channel type) or of a group of ranks (`switch_channel_id`, likewise).
    """

    index: Index
    size: Positive
    type: BufferName | None = None
    buffer_id: Index | None = None
    switch_channel_id: Index | None = None


class Share(Struct, frozen=True):
    """The part of an op that one of `tbg_size` thread blocks does: number `tb_id`."""

    tb_id: Index
    tbg_size: Positive


class Iterations(Struct, frozen=True):
    """A pipeline does `num_chunks` chunks in pieces of `unit_size` bytes."""

    unit_size: Positive
    num_chunks: Positive


class Op(Struct, frozen=True, gc=False, omit_defaults=True, rename={"sources": "src_buff", "destinations": "dst_buff"}):
    """One operation of a thread block; channel ids count in the thread block's channels of `channel_type`."""

    name: OpName
    sources: tuple[Operand, ...] = ()
    destinations: tuple[Operand, ...] = ()
    channel_ids: tuple[Index, ...] = ()
    channel_type: ChannelType | None = None
    tbg_info: Share | None = None
    barrier_id: Index | None = None
    num_threadblocks: Positive | None = None
    semaphore_ids: tuple[Index, ...] = ()
    iter_context: Iterations | None = None
    ops: tuple["Op", ...] = ()
    reduce_op: str | None = None


class ChannelRefs(Struct, frozen=True):
    """A thread block's channels of one type, counted in all the rank's channels of that type."""

    channel_type: ChannelType
    channel_ids: tuple[Index, ...]


class RemoteRefs(Struct, frozen=True):
    """A thread block's remote buffers of one channel type, counted in the rank's remote buffers."""

    access_channel_type: ChannelType
    remote_buffer_ids: tuple[Index, ...]


class PlanBlock(Struct, frozen=True, rename={"remote_buffers": "remote_buffer_refs"}):
    """A thread block: its operations and what they refer to."""

    id: Index
    ops: tuple[Op, ...]
    channels: tuple[ChannelRefs, ...]
    remote_buffers: tuple[RemoteRefs, ...] = ()


class RankGroup(Struct, frozen=True):
    """The ranks behind a switch channel."""

    size: Positive
    ranks: tuple[Index, ...]


class Channel(Struct, frozen=True, omit_defaults=True):
    """Channels of a rank: one to each peer named (again: one more), or a switch channel to a buffer of all ranks."""

    channel_type: ChannelType
    connected_to: tuple[Index, ...] = ()
    buffer_type: BufferName | None = None
    rank_groups: tuple[RankGroup, ...] = ()


class RemoteBuffer(Struct, frozen=True):
    """A buffer of another rank, and the channel types through which it is used."""

    rank: Index
    type: BufferName
    access_channel_types: tuple[ChannelType, ...]


class Semaphore(Struct, frozen=True):
    """A counter between the thread blocks of a rank."""

    init_value: Index


class PlanGpu(Struct, frozen=True, rename={"thread_blocks": "threadblocks"}):
    """One rank's part: chunks of its buffers, thread blocks and what they share."""

    id: Index
    input_chunks: Index
    output_chunks: Index
    scratch_chunks: Index
    thread_blocks: tuple[PlanBlock, ...]
    channels: tuple[Channel, ...]
    remote_buffers: tuple[RemoteBuffer, ...]
    semaphores: tuple[Semaphore, ...] = ()

    def chunks(self, buffer: str) -> int:
        """Chunks of buffer `i`, `o` or `s`."""
        return {"i": self.input_chunks, "o": self.output_chunks, "s": self.scratch_chunks}[buffer]

    def peers(self, channel_type: str) -> list[int]:
        """The rank at the other end of each memory or port channel, in the order in which they are counted."""
        return [peer for one in self.channels if one.channel_type == channel_type for peer in one.connected_to]

    @property
    def switches(self) -> list[tuple[str, tuple[int, ...]]]:
        """Buffer and ranks of each switch channel, in the order in which they are counted."""
        return [(one.buffer_type or "", group.ranks) for one in self.channels for group in one.rank_groups]


class ExecutionPlan(Struct, frozen=True, rename={"in_place": "inplace"}):
    """An execution plan; `gpus[r]` is rank r's part. Sizes are bytes; `protocol` LL sizes the scratch for packets."""

    name: str
    collective: CollectiveName
    protocol: Literal["Simple", "LL"]
    in_place: bool
    gpus: tuple[PlanGpu, ...]
    reuse_resources: bool = False
    num_threads_per_block: Annotated[int, Meta(ge=1, le=1024)] = 1024
    use_double_scratch_buffer: bool = False
    buffer_alignment: Annotated[int, Meta(ge=16, lt=2**31, multiple_of=16)] = 16
    min_message_size: Size = 0
    max_message_size: Size = OPEN_SIZE

    @property
    def num_ranks(self) -> int:
        return len(self.gpus)

    @property
    def kind(self) -> Kind:
        """The collective; sendrecv (to the next rank, in a ring) and tests have conditions of their own."""
        return KINDS.get(self.collective, Kind.CUSTOM)

    @property
    def slots(self) -> int:
        """Chunks of the whole buffer: the larger of input and output."""
        return max(self.gpus[0].input_chunks, self.gpus[0].output_chunks)


KINDS = kinds_called("allreduce allgather reducescatter alltoall broadcast")
#: What plans call each collective.
COLLECTIVE_NAMES = {kind: cast(CollectiveName, name) for name, kind in KINDS.items()}
