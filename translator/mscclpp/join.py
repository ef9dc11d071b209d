"""Plans for small messages: all thread blocks of a rank as one, which needs no semaphores between them.

What such a message takes is its signals and the meetings of threads, not its bytes: what one op can add up, send or
wait for is one op, and a rank has one channel to each other. The ops keep an order in which the plan can be run, so
that nobody waits for what comes later; the result has to be proved like any plan.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from msgspec import structs

from hocket.translator.mscclpp.emit import BlockWriter
from hocket.translator.mscclpp.limits import MAX_CHANNELS, MAX_OP_CHANNELS, MAX_OPS
from hocket.translator.mscclpp.plan import (
    Channel,
    ChannelRefs,
    ExecutionPlan,
    Op,
    Operand,
    OpName,
    PlanBlock,
    PlanGpu,
    RemoteBuffer,
    RemoteRefs,
)

__all__ = ["joined"]

_SIGNALS = (OpName.SIGNAL, OpName.RELAXED_SIGNAL)
_WAITS = (OpName.WAIT, OpName.RELAXED_WAIT)
_SEMAPHORES = (OpName.ACQUIRE, OpName.RELEASE)
_OWN = (OpName.REDUCE, OpName.REDUCE_PACKETS, OpName.COPY, OpName.UNPACK_PACKETS)  # nobody else is told or waited for


def joined(plan: ExecutionPlan) -> ExecutionPlan | None:
    """The plan with one thread block per rank; None where it would be over a limit, or ranks are on several machines.

    Of plans as `lower_to_plan` writes them: without groups of thread blocks, barriers and pipelines."""
    if any(len(set(gpu.peers("memory"))) > MAX_CHANNELS or gpu.peers("port") or gpu.switches for gpu in plan.gpus):
        return None
    order = _Rounds(plan).order()
    gpus = tuple(_joined_gpu(gpu, ops) for gpu, ops in zip(plan.gpus, order, strict=True))
    blocks = [gpu.thread_blocks[0] for gpu in gpus]
    remote = max((len(refs.remote_buffer_ids) for block in blocks for refs in block.remote_buffers), default=0)
    if max(len(block.ops) for block in blocks) > MAX_OPS or remote > MAX_CHANNELS:
        return None
    return structs.replace(plan, gpus=gpus)


@dataclass
class _Rounds:
    """The plan run in rounds: in each, every thread block does its next op if what that waits for was done before."""

    plan: ExecutionPlan
    _signals: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    _released: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    _packets: set[tuple[int, int]] = field(default_factory=set)

    def order(self) -> list[list[tuple[int, Op]]]:
        """Of each rank the ops, with their thread blocks, that are no meetings and no semaphores."""
        blocks = [
            (rank, number, [op for op in block.ops if op.name is not OpName.SYNC])
            for rank, gpu in enumerate(self.plan.gpus)
            for number, block in enumerate(gpu.thread_blocks)
        ]
        done = [0] * len(blocks)
        result: list[list[tuple[int, Op]]] = [[] for _ in self.plan.gpus]
        while any(at < len(ops) for at, (_, _, ops) in zip(done, blocks, strict=True)):
            ready = [
                (rank, number, ops[done[k]], k)
                for k, (rank, number, ops) in enumerate(blocks)
                if done[k] < len(ops) and self._can(rank, number, ops[done[k]])
            ]
            # what others wait for goes before what waits
            for rank, number, op, k in sorted(ready, key=lambda each: (each[0], each[2].name in _WAITS, each[1])):
                self._do(rank, number, op)
                done[k] += 1
                if op.name not in _SEMAPHORES:
                    result[rank].append((number, op))
        return result

    def _can(self, rank: int, block: int, op: Op) -> bool:
        if op.name in _WAITS:
            return all(self._signals[rank, self._channel(rank, block, channel)] for channel in op.channel_ids)
        if op.name is OpName.ACQUIRE:
            return all(self._released[rank, semaphore] for semaphore in op.semaphore_ids)
        return all((rank, chunk) in self._packets for chunk in self._read_packets(op))

    def _do(self, rank: int, block: int, op: Op) -> None:
        if op.name in _WAITS:
            for channel in op.channel_ids:
                self._signals[rank, self._channel(rank, block, channel)] -= 1
        elif op.name in _SIGNALS:
            for channel in op.channel_ids:
                self._signals[self._partner(rank, self._channel(rank, block, channel))] += 1
        elif op.name in _SEMAPHORES:
            for semaphore in op.semaphore_ids:
                self._released[rank, semaphore] += 1 if op.name is OpName.RELEASE else -1
        elif op.name is OpName.PUT_PACKETS:
            gpu = self.plan.gpus[rank]
            refs = gpu.thread_blocks[block].remote_buffers[0].remote_buffer_ids
            for target in op.destinations:
                peer = gpu.remote_buffers[refs[target.buffer_id or 0]].rank
                self._packets.update((peer, chunk) for chunk in _chunks(target))

    def _channel(self, rank: int, block: int, channel: int) -> int:
        return self.plan.gpus[rank].thread_blocks[block].channels[0].channel_ids[channel]

    def _partner(self, rank: int, channel: int) -> tuple[int, int]:
        """The other end: both count the channels between them alike."""
        peers = self.plan.gpus[rank].peers("memory")
        peer = peers[channel]
        place = peers[:channel].count(peer)
        back = [number for number, one in enumerate(self.plan.gpus[peer].peers("memory")) if one == rank]
        return peer, back[place]

    @staticmethod
    def _read_packets(op: Op) -> list[int]:
        if op.name is OpName.UNPACK_PACKETS:
            return _chunks(op.sources[0])
        return [chunk for source in op.sources[1:] for chunk in _chunks(source)] * (op.name is OpName.REDUCE_PACKETS)


def _chunks(operand: Operand) -> list[int]:
    return list(range(operand.index, operand.index + operand.size))


def _joined_gpu(gpu: PlanGpu, ops: list[tuple[int, Op]]) -> PlanGpu:
    peers = gpu.peers("memory")
    channels = list(dict.fromkeys(peers))
    block = _Joined(gpu, channels)
    for number, op in ops:
        own = gpu.thread_blocks[number]
        ids = [channels.index(peers[own.channels[0].channel_ids[channel]]) for channel in op.channel_ids]
        block.add(structs.replace(op, channel_ids=tuple(ids)) if ids else op, own)
    return structs.replace(
        gpu,
        thread_blocks=(block.written(),),
        channels=(Channel("memory", tuple(channels)),) if channels else (),
        remote_buffers=tuple(block.remotes),
        semaphores=(),
    )


class _Joined:
    """The one thread block of a rank as it is written."""

    def __init__(self, gpu: PlanGpu, peers: list[int]) -> None:
        self.remotes: list[RemoteBuffer] = []
        self._gpu, self._peers = gpu, peers
        self._writer = BlockWriter(fuses=True)
        self._moves: list[Op] = []  # of its own, which come after waits that follow them
        self._signals: list[Op] = []  # which come after puts that follow them

    def add(self, op: Op, block: PlanBlock) -> None:
        """The next op, of a thread block that was."""
        if any(one.buffer_id is not None for one in op.destinations):
            refs = block.remote_buffers[0].remote_buffer_ids
            targets = [
                structs.replace(one, buffer_id=self._remote(refs[one.buffer_id or 0])) for one in op.destinations
            ]
            op = structs.replace(op, destinations=tuple(targets))
        if op.name in _WAITS:
            self._tell()
            if not _gather(self._writer.ops, op, only_join=True):
                self._writer.wait(op)
            return
        if op.name in _OWN:
            self._tell()
            self._moves.append(op)
            return
        self._move()
        if op.name is OpName.SIGNAL:
            _gather(self._signals, op)
            return
        if op.name is not OpName.PUT:
            self._tell()
        if op.name is OpName.RELAXED_SIGNAL:
            _gather(self._writer.ops, op)
        else:
            self._writer.move(op)

    def written(self) -> PlanBlock:
        self._move()
        self._tell()
        return PlanBlock(
            id=0,
            ops=tuple(self._writer.ops),
            channels=(ChannelRefs("memory", tuple(range(len(self._peers)))),) if self._peers else (),
            remote_buffers=(RemoteRefs("memory", tuple(range(len(self.remotes)))),) if self.remotes else (),
        )

    def _remote(self, number: int) -> int:
        buffer = self._gpu.remote_buffers[number]
        if buffer not in self.remotes:
            self.remotes.append(buffer)
        return self.remotes.index(buffer)

    def _move(self) -> None:
        for op in self._moves:
            self._writer.move(op)
        self._moves.clear()

    def _tell(self) -> None:
        for op in self._signals:
            self._writer.tell(op)
        self._signals.clear()


def _gather(ops: list[Op], op: Op, *, only_join: bool = False) -> bool:
    """Adds the channels of an op to the last one where that is its like, else (unless `only_join`) the op."""
    ids = (*ops[-1].channel_ids, *op.channel_ids) if ops and ops[-1].name is op.name else ()
    if 0 < len(set(ids)) == len(ids) <= MAX_OP_CHANNELS:
        ops[-1] = structs.replace(ops[-1], channel_ids=ids)
        return True
    if not only_join:
        ops.append(op)
    return False
