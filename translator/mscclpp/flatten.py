"""A plan as the engine's columns: pipelines unrolled, fused ops taken apart, references resolved."""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

from hocket.translator.mscclpp.memory import PlanMemory
from hocket.translator.mscclpp.plan import ExecutionPlan, Op, Operand, OpName
from hocket.translator.mscclpp.references import References
from hocket.translator.mscclpp.shapes import Access, OperandPlace, OperandShape, shape_of

__all__ = ["FlatPlan", "Origin"]


class _Kind(IntEnum):
    SYNC = 0
    BARRIER = 1
    SIGNAL = 2
    WAIT = 3
    RELEASE = 4
    ACQUIRE = 5
    MOVE = 6
    POST = 7


class _Flag(IntFlag):
    NONE = 0
    RELAXED = 1
    SIGNALS = 2
    FLUSHES = 4


_COUNTING = {
    OpName.SIGNAL: (_Kind.SIGNAL, _Flag.NONE),
    OpName.RELAXED_SIGNAL: (_Kind.SIGNAL, _Flag.RELAXED),
    OpName.WAIT: (_Kind.WAIT, _Flag.NONE),
    OpName.RELAXED_WAIT: (_Kind.WAIT, _Flag.RELAXED),
}
_POSTS = {
    OpName.PUT_SIGNAL: _Flag.SIGNALS,
    OpName.PUT_SIGNAL_FLUSH: _Flag.SIGNALS | _Flag.FLUSHES,
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a step comes from: an op of a thread block, and for a pipeline's the op inside and the round."""

    rank: int
    block: int
    op: int
    inner: int = -1
    round: int = 0


@dataclass
class FlatPlan:
    """The engine's columns of a plan on `memory`, and the `origins` of its steps."""

    plan: ExecutionPlan
    memory: PlanMemory
    origins: list[Origin] = field(default_factory=list)
    block_rank: list[int] = field(default_factory=list)
    first_block: list[int] = field(default_factory=list)
    first_step: list[int] = field(default_factory=lambda: [0])
    kind: list[int] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)
    object: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    first_source: list[int] = field(default_factory=lambda: [0])
    first_destination: list[int] = field(default_factory=list)
    location: list[int] = field(default_factory=list)
    alternate: list[int] = field(default_factory=list)
    packet: list[int] = field(default_factory=list)
    ends: list[tuple[int, str, int]] = field(default_factory=list)
    partner: list[int] = field(default_factory=list)
    barrier_size: list[int] = field(default_factory=list)
    semaphore: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._first_end = self._pair_channels()
        self._barriers: dict[tuple[int, int], int] = {}
        for rank, gpu in enumerate(self.plan.gpus):
            self.first_block.append(len(self.block_rank))
            self._first_semaphore = len(self.semaphore)
            self.semaphore.extend(one.init_value for one in gpu.semaphores)
            for number, block in enumerate(gpu.thread_blocks):
                self.block_rank.append(rank)
                references = References(self.plan, rank, number)
                for position, op in enumerate(block.ops):
                    self._op(references, op, Origin(rank, number, position))
                self.first_step.append(len(self.kind))

    def _pair_channels(self) -> dict[tuple[int, str], int]:
        """Numbers all channel ends: a rank's k-th channel to a peer ends at that peer's k-th channel to it."""
        first: dict[tuple[int, str], int] = {}
        by_peer: dict[tuple[int, int, str], list[int]] = defaultdict(list)
        for rank, gpu in enumerate(self.plan.gpus):
            for kind in ("memory", "port"):
                first[rank, kind] = len(self.ends)
                for peer in gpu.peers(kind):
                    by_peer[rank, peer, kind].append(len(self.ends))
                    self.ends.append((rank, kind, peer))
        self.partner = [-1] * len(self.ends)
        for (rank, peer, kind), ends in by_peer.items():
            for end, other in zip(ends, by_peer.get((peer, rank, kind), []), strict=False):
                self.partner[end] = other
        return first

    def _op(self, references: References, op: Op, origin: Origin) -> None:
        if op.iter_context is None:
            self._plain(references, op, origin, 0, None)
            return
        rounds = op.iter_context.num_chunks * self.memory.granularity.rounds
        for number in range(rounds):
            for inner, part in enumerate(op.ops):
                self._plain(references, part, Origin(origin.rank, origin.block, origin.op, inner, number), number, 1)

    def _plain(self, references: References, op: Op, origin: Origin, number: int, pieces: int | None) -> None:
        """The steps of one op, of which a pipeline does `pieces` parts of a chunk in round `number`."""
        if op.name is OpName.SYNC:
            self._step(origin, _Kind.SYNC)
        elif op.name is OpName.BARRIER:
            self._barrier(op, origin)
        elif op.name in _COUNTING:
            kind, flags = _COUNTING[op.name]
            for channel in op.channel_ids:
                self._step(origin, kind, flags, self._end(references, op, channel))
        elif op.name in (OpName.RELEASE, OpName.ACQUIRE):
            kind = _Kind.RELEASE if op.name is OpName.RELEASE else _Kind.ACQUIRE
            for semaphore in op.semaphore_ids:
                self._step(origin, kind, object_=self._first_semaphore + semaphore)
        elif (shape := shape_of(op)) is not None:
            self._data(references, op, shape, origin, number, pieces)
        # a flush counts its channels in dst_buff, which it does not have: the runtime does nothing

    def _barrier(self, op: Op, origin: Origin) -> None:
        if op.num_threadblocks == 1:
            self._step(origin, _Kind.SYNC)
            return
        key = (origin.rank, op.barrier_id or 0)
        if key not in self._barriers:
            self._barriers[key] = len(self.barrier_size)
            self.barrier_size.append(op.num_threadblocks or 0)
        self._step(origin, _Kind.BARRIER, object_=self._barriers[key])

    def _data(
        self,
        references: References,
        op: Op,
        shape: OperandShape,
        origin: Origin,
        number: int,
        pieces: int | None,
    ) -> None:
        posted = op.channel_type == "port"
        granularity = self.memory.granularity
        share = op.tbg_info
        first, count = 0, op.sources[0].size * granularity.locations
        if share is not None:
            count //= share.tbg_size
            first = share.tb_id * count
        if pieces is not None:
            first, count = number * granularity.parts, granularity.parts

        def locate(operand: Operand, access: Access) -> list[tuple[int, int, bool]]:
            # the halves of scratch are taken in turn by packets, and by the threads in their own rank's scratch
            turns = access.packet or (access.place is OperandPlace.LOCAL and not posted)
            result = []
            for rank, buffer in references.places(op, operand):
                offset = first
                if buffer == "s" and self.plan.reuse_resources and pieces is not None:
                    offset = number % granularity.scratch_rounds * granularity.parts
                place = self.memory.place(rank, buffer, operand.index, access.packet) + offset
                halves = buffer == "s" and turns and self.plan.use_double_scratch_buffer
                result.append((place, self.memory.half(rank) if halves else 0, access.packet and access.waits))
            return result

        sources = [locate(operand, shape.source(k)) for k, operand in enumerate(op.sources)]
        targets = [locate(operand, shape.destination(k)) for k, operand in enumerate(op.destinations)]
        if op.name is OpName.READ_PUT_PACKETS and posted:
            self._move(origin, _Kind.MOVE, 0, count, sources, [])
            self._step(origin, _Kind.SYNC)
        if posted:
            for k, target in enumerate(targets):
                end = self._end(references, op, op.channel_ids[k])
                source = sources[k] if shape.pairs else sources[0]
                self._move(origin, _Kind.POST, end, count, [source], [target], _POSTS.get(op.name, _Flag.NONE))
        elif shape.pairs:
            for source, target in zip(sources, targets, strict=True):
                self._move(origin, _Kind.MOVE, 0, count, [source], [target])
        else:
            self._move(origin, _Kind.MOVE, 0, count, sources, targets)

    def _end(self, references: References, op: Op, channel: int) -> int:
        return self._first_end[references.rank, op.channel_type or ""] + references.number(op, channel)

    def _step(self, origin: Origin, kind: _Kind, flags: _Flag = _Flag.NONE, object_: int = 0, count: int = 0) -> None:
        self.origins.append(origin)
        self.kind.append(kind)
        self.flags.append(flags)
        self.object.append(object_)
        self.count.append(count)
        self.first_destination.append(len(self.location))
        self.first_source.append(len(self.location))

    def _move(
        self,
        origin: Origin,
        kind: _Kind,
        object_: int,
        count: int,
        sources: list[list[tuple[int, int, bool]]],
        destinations: list[list[tuple[int, int, bool]]],
        flags: _Flag = _Flag.NONE,
    ) -> None:
        self._step(origin, kind, flags, object_, count)
        for place in (place for places in sources for place in places):
            self._operand(*place)
        self.first_destination[-1] = len(self.location)
        for place in (place for places in destinations for place in places):
            self._operand(*place)
        self.first_source[-1] = len(self.location)

    def _operand(self, location: int, alternate: int, packet: bool) -> None:
        self.location.append(location)
        self.alternate.append(alternate)
        self.packet.append(packet)
