"""A program's thread blocks as those of an MSCCL++ plan."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

from msgspec import structs

from hocket.schedule import Program, Step, StepType, ThreadBlock
from hocket.translator.mscclpp.fuse import fused
from hocket.translator.mscclpp.limits import MAX_OP_SEMAPHORES
from hocket.translator.mscclpp.messages import Delivery, PlanMessage
from hocket.translator.mscclpp.node import RankNodes
from hocket.translator.mscclpp.plan import (
    BufferName,
    Channel,
    ChannelRefs,
    Op,
    Operand,
    OpName,
    PlanBlock,
    PlanGpu,
    RemoteBuffer,
    RemoteRefs,
    Semaphore,
)

__all__ = ["BlockWriter", "emit_gpu"]

Touch = tuple[str, int, int, bool]  # buffer, first chunk, chunk after the last, whether it is written


@dataclass
class BlockWriter:
    """The ops of a thread block: its threads meet only where one op needs what another of its threads did.

    `fuses`: neighbouring moves that one op can do are one."""

    fuses: bool = False
    ops: list[Op] = field(default_factory=list)
    _touched: list[Touch] = field(default_factory=list)
    _waited: bool = False

    def begin(self, op: Op) -> None:
        """A signal that nothing has to come before."""
        self.ops.append(op)

    def wait(self, op: Op) -> None:
        """A wait or acquire: what follows comes after it. Acquires that follow each other are one op."""
        last = self.ops[-1] if self.ops else None
        alike = last is not None and last.name is op.name is OpName.ACQUIRE
        ids = (*last.semaphore_ids, *op.semaphore_ids) if last is not None and alike else ()
        if last is not None and 0 < len(set(ids)) == len(ids) <= MAX_OP_SEMAPHORES:
            self.ops[-1] = structs.replace(last, semaphore_ids=ids)
        else:
            self.ops.append(op)
        self._waited = True

    def move(self, op: Op, after_all: bool = False) -> None:
        """An op that reads and writes chunks of its own rank; `after_all` other moves, or those it conflicts with."""
        touches = _touches(op)
        if self.fuses and not (self._waited or after_all) and self._fused(op, touches):
            return
        if (
            self._waited
            or (after_all and self._touched)
            or any(_conflict(old, new) for old in self._touched for new in touches)
        ):
            self._meet()
        self.ops.append(op)
        self._touched.extend(touches)

    def _fused(self, op: Op, touches: list[Touch]) -> bool:
        """Makes the last op do this one as well, if it can and nothing before it conflicts."""
        both = fused(self.ops[-1], op) if self.ops else None
        if both is None:
            return False
        last = _touches(self.ops[-1])
        before = self._touched[: len(self._touched) - len(last)]
        written = [touch for touch in last if touch[3]]
        more = [touch for touch in touches if touch not in last and touch not in _read(written)]
        if any(_conflict(old, new) for old in (*before, *written) for new in more):
            return False
        self.ops[-1] = both
        self._touched = [*before, *_touches(both)]
        return True

    def tell(self, op: Op) -> None:
        """A signal or release that everything has to come before."""
        if self._waited or self._touched:
            self._meet()
        self.ops.append(op)

    def _meet(self) -> None:
        self.ops.append(Op(OpName.SYNC))
        self._touched.clear()
        self._waited = False


def _touches(op: Op) -> list[Touch]:
    reads = [(o.type, o.index, o.index + o.size, False) for o in op.sources if o.type]
    writes = [(o.type, o.index, o.index + o.size, True) for o in op.destinations if o.type]
    return [*reads, *writes]


def _read(touches: list[Touch]) -> list[Touch]:
    return [(buffer, first, end, False) for buffer, first, end, _ in touches]


def _conflict(old: Touch, new: Touch) -> bool:
    return old[0] == new[0] and old[1] < new[2] and new[1] < old[2] and (old[3] or new[3])


@dataclass
class _Gpu:
    """What is shared by the thread blocks of a rank, as they are written."""

    program: Program
    delivery: Delivery
    nodes: RankNodes
    rank: int
    packets: bool
    remote_buffers: list[RemoteBuffer] = field(default_factory=list)

    def __post_init__(self) -> None:
        blocks = self.program.gpus[self.rank].thread_blocks
        self.peer = [max(block.send, block.receive) for block in blocks]
        self.channel: dict[int, int] = {}
        self.channels: dict[str, list[int]] = defaultdict(list)
        for number in sorted((n for n, peer in enumerate(self.peer) if peer >= 0), key=self._connection):
            kind = self.nodes.channel_type(self.rank, self.peer[number])
            self.channel[number] = len(self.channels[kind])
            self.channels[kind].append(self.peer[number])
        # the steps of a block that another waits for; each pair of blocks has a semaphore
        awaited: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, block in enumerate(blocks):
            rows = block.rows
            waits = zip(rows["depend_block"].tolist(), rows["depend_step"].tolist(), strict=True)
            for depend_block, depend_step in waits:
                steps = awaited[depend_block, number]
                if depend_block >= 0 and depend_step > max(steps, default=-1):
                    steps.append(depend_step)
        self.awaited = {pair: steps for pair, steps in awaited.items() if steps}
        self.semaphore = {pair: number for number, pair in enumerate(self.awaited)}
        # by block and step: the semaphores of the blocks that wait for it
        self.released: dict[tuple[int, int], list[int]] = defaultdict(list)
        for (awaited_block, waiting), steps in self.awaited.items():
            for position in steps:
                self.released[awaited_block, position].append(self.semaphore[awaited_block, waiting])

    def _connection(self, number: int) -> tuple[int, int, int]:
        """In this order both ends count the channels between them."""
        block = self.program.gpus[self.rank].thread_blocks[number]
        src, dst = (self.rank, block.send) if block.send >= 0 else (block.receive, self.rank)
        return src, dst, block.channel

    def message(self, block: int, step: int) -> PlanMessage:
        """What a step sends or receives."""
        return self.delivery.messages[self.delivery.message[self.rank][block][step]]

    def remote(self, rank: int, buffer: BufferName, kind: Literal["memory", "port"]) -> int:
        """The number of a remote buffer, declared when it is first used."""
        wanted = RemoteBuffer(rank, buffer, (kind,))
        if wanted not in self.remote_buffers:
            self.remote_buffers.append(wanted)
        return self.remote_buffers.index(wanted)


def emit_gpu(program: Program, delivery: Delivery, nodes: RankNodes, rank: int, *, packets: bool) -> PlanGpu:
    """One rank's part of the plan; `packets`: data goes as packets.

    Before a rank writes to another, that one says that it has begun its call (packets need no such word: launches take
    turns with two halves of scratch). Thread blocks of a rank wait for each other by semaphores.
    """
    gpu = _Gpu(program, delivery, nodes, rank, packets)
    blocks = [_Block(gpu, number).written() for number in range(len(gpu.peer))]
    kinds: tuple[Literal["memory", "port"], ...] = ("memory", "port")
    return PlanGpu(
        id=rank,
        input_chunks=program.gpus[rank].input_chunks,
        output_chunks=program.gpus[rank].output_chunks,
        scratch_chunks=delivery.scratch_chunks[rank],
        thread_blocks=tuple(blocks),
        channels=tuple(Channel(kind, tuple(gpu.channels[kind])) for kind in kinds if gpu.channels[kind]),
        remote_buffers=tuple(gpu.remote_buffers),
        semaphores=tuple(Semaphore(0) for _ in gpu.semaphore),
    )


class _Block:
    """One thread block as it is written."""

    def __init__(self, gpu: _Gpu, number: int) -> None:
        self._gpu = gpu
        self._number = number
        self._block: ThreadBlock = gpu.program.gpus[gpu.rank].thread_blocks[number]
        self._memory = gpu.peer[number] < 0 or gpu.nodes.together(gpu.rank, gpu.peer[number])
        self._kind: Literal["memory", "port"] = "memory" if self._memory else "port"
        self._writer = BlockWriter()
        self._remotes: list[int] = []
        self._acquired: dict[int, int] = {}

    def written(self) -> PlanBlock:
        gpu, block, writer = self._gpu, self._block, self._writer
        if not gpu.packets and block.receive >= 0:
            writer.begin(self._on_channel(OpName.RELAXED_SIGNAL))
        if not gpu.packets and block.send >= 0:
            writer.wait(self._on_channel(OpName.RELAXED_WAIT))
        steps = list(block.steps)
        last = max((k for k, step in enumerate(steps) if step.type.sends), default=-1)
        for position, step in enumerate(steps):
            self._acquire(step)
            releases = gpu.released.get((self._number, position), [])
            if step.type is StepType.SEND:
                self._send(step, position, settled=position == last or bool(releases))
            elif step.type.receives:
                self._receive(step, position)
            elif step.type in (StepType.COPY, StepType.REDUCE):
                self._local(step)
            for first in range(0, len(releases), MAX_OP_SEMAPHORES):
                ids = tuple(releases[first : first + MAX_OP_SEMAPHORES])
                writer.tell(Op(OpName.RELEASE, semaphore_ids=ids))
        channel = gpu.channel.get(self._number)
        return PlanBlock(
            id=self._number,
            ops=tuple(writer.ops),
            channels=() if channel is None else (ChannelRefs(self._kind, (channel,)),),
            remote_buffers=(RemoteRefs(self._kind, tuple(self._remotes)),) if self._remotes else (),
        )

    def _on_channel(self, name: OpName) -> Op:
        return Op(name, channel_ids=(0,), channel_type=self._kind)

    def _acquire(self, step: Step) -> None:
        """Waits for the step's dependency, unless an earlier wait was for that or for a later one."""
        block = step.depend_block
        if block < 0 or step.depend_step <= self._acquired.get(block, -1):
            return
        self._acquired[block] = step.depend_step
        self._writer.wait(Op(OpName.ACQUIRE, semaphore_ids=(self._gpu.semaphore[block, self._number],)))

    def _send(self, step: Step, position: int, settled: bool) -> None:
        message = self._gpu.message(self._number, position)
        source, target = _local(step.src_buffer, step.src_offset, step.count), self._remote(message)
        if self._gpu.packets and self._memory:
            self._writer.move(Op(OpName.PUT_PACKETS, (source,), (target,), channel_type="memory"))
        elif self._gpu.packets:
            staged = _local("s", message.staged, message.count)
            self._writer.move(Op(OpName.COPY_PACKETS, (source,), (staged,)))
            self._writer.ops.append(
                Op(OpName.READ_PUT_PACKETS, (staged,), (target,), channel_ids=(0,), channel_type="port")
            )
        elif self._memory:
            self._writer.move(Op(OpName.PUT, (source,), (target,), channel_type="memory"))
            self._writer.tell(self._on_channel(OpName.SIGNAL))
        else:
            # a flush is for what was posted before the threads last met, too
            name = OpName.PUT_SIGNAL_FLUSH if settled else OpName.PUT_SIGNAL
            put = Op(name, (source,), (target,), channel_ids=(0,), channel_type="port")
            self._writer.move(put, after_all=settled)

    def _receive(self, step: Step, position: int) -> None:
        message = self._gpu.message(self._number, position)
        if not self._gpu.packets:
            self._writer.wait(self._on_channel(OpName.WAIT))
        if not message.slot:
            return
        slot = _local("s", message.offset, message.count)
        target = _local(step.dst_buffer, step.dst_offset, step.count)
        if step.type is StepType.RECEIVE:
            name, sources = OpName.UNPACK_PACKETS if self._gpu.packets else OpName.COPY, (slot,)
            self._writer.move(Op(name, sources, (target,)))
            return
        own = _local(step.src_buffer, step.src_offset, step.count)
        name = OpName.REDUCE_PACKETS if self._gpu.packets else OpName.REDUCE
        self._writer.move(Op(name, (own, slot), (target,), reduce_op="sum"))

    def _local(self, step: Step) -> None:
        source = _local(step.src_buffer, step.src_offset, step.count)
        target = _local(step.dst_buffer, step.dst_offset, step.count)
        if step.type is StepType.COPY:
            self._writer.move(Op(OpName.COPY, (source,), (target,)))
        else:
            self._writer.move(Op(OpName.REDUCE, (target, source), (target,), reduce_op="sum"))

    def _remote(self, message: PlanMessage) -> Operand:
        buffer: BufferName = "i" if message.buffer == "i" else "o" if message.buffer == "o" else "s"
        number = self._gpu.remote(message.dst, buffer, self._kind)
        if number not in self._remotes:
            self._remotes.append(number)
        return Operand(message.offset, message.count, buffer_id=self._remotes.index(number))


def _local(buffer: str, offset: int, count: int) -> Operand:
    name: BufferName = "i" if buffer == "i" else "o" if buffer == "o" else "s"
    return Operand(offset, count, name)
