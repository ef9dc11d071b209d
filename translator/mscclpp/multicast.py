"""Schedules of one machine whose switches add and copy, as plans over NVLS: each rank is the head of some chunks.

A head has the switch add a chunk of all ranks and store the sum to all of them (`glres`), or store its own chunk to all
(`gstore`). That is done in scratch, which MSCCL++ allocates so that switches reach it; a caller's buffers mostly are
not, and binding them throws. What comes first and last is a copy between scratch and them.
"""

from hocket.base.errors import ScheduleError
from hocket.schedule import Kind, Schedule, SwitchRun
from hocket.translator.lowering.heads import switch_runs
from hocket.translator.mscclpp.limits import MAX_CHANNELS, MAX_OP_CHANNELS
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
    RankGroup,
    Share,
)

__all__ = ["multicast_gpus"]

_SYNC = Op(OpName.SYNC)


def multicast_gpus(schedule: Schedule, nodes: RankNodes, blocks: int, *, in_place: bool) -> tuple[PlanGpu, ...]:
    """Each rank's part, of so many thread blocks, which share the bytes of each chunk. Raises ScheduleError where ranks
    are on several machines, or send to each other as well."""
    n = schedule.collective.num_ranks
    runs = switch_runs(schedule, "a plan", nodes.node)
    if n - 1 > MAX_CHANNELS:
        raise ScheduleError(f"{n} ranks: a thread block signals to {MAX_CHANNELS} others at most")
    return tuple(_Gpu(schedule.collective.kind, n, runs, rank, blocks, in_place).written() for rank in range(n))


class _Gpu:
    """A rank's part as it is written. Its thread blocks are alike, and each meets those of its number on other ranks:
    they share each run of chunks in one way, so that no block waits for another of its rank."""

    def __init__(self, kind: Kind, ranks: int, runs: list[SwitchRun], rank: int, blocks: int, in_place: bool) -> None:
        self._kind, self._runs, self._rank, self._blocks = kind, runs, rank, blocks
        self._in_place = in_place
        self._peers = [peer for peer in range(ranks) if peer != rank]
        self._ranks, self._chunks = ranks, sum(count for _, _, count in runs)

    def written(self) -> PlanGpu:
        share = 1 if self._kind in (Kind.ALL_REDUCE, Kind.BROADCAST) else self._ranks
        inputs = self._chunks // (share if self._kind is Kind.ALL_GATHER else 1)
        outputs = self._chunks // (share if self._kind is Kind.REDUCE_SCATTER else 1)
        group = RankGroup(self._chunks, tuple(range(self._ranks)))
        return PlanGpu(
            id=self._rank,
            input_chunks=inputs,
            output_chunks=outputs,
            scratch_chunks=self._chunks,
            thread_blocks=tuple(self._block(number) for number in range(self._blocks)),
            channels=(
                Channel("memory", tuple(self._peers) * self._blocks),
                Channel("switch", buffer_type="s", rank_groups=(group,)),
            ),
            remote_buffers=(),
        )

    def _block(self, number: int) -> PlanBlock:
        share = Share(number, self._blocks) if self._blocks > 1 else None
        first = number * len(self._peers)
        reduces = self._kind in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER)
        ops = [*self._gathered(share), *self._meeting()] if reduces else self._meeting(relaxed=True)
        ops += [self._driven(head, at, count, share) for head, at, count in self._runs if head == self._rank]
        ops += [_SYNC, *self._meeting(), *self._kept(share)]
        return PlanBlock(
            id=number,
            ops=tuple(ops),
            channels=(
                ChannelRefs("memory", tuple(range(first, first + len(self._peers)))),
                ChannelRefs("switch", (0,)),
            ),
        )

    def _gathered(self, share: Share | None) -> list[Op]:
        """All of the input to scratch."""
        copies = [self._copy("i", at, "s", at, count, share) for _, at, count in self._runs]
        return [*copies, _SYNC]

    def _driven(self, head: int, at: int, count: int, share: Share | None) -> Op:
        """What a head has the switch do."""
        target = Operand(at, count, switch_channel_id=0)
        if self._kind in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER):
            return Op(
                OpName.GROUP_REDUCE_STORE, (target,), (target,), channel_type="switch", tbg_info=share, reduce_op="sum"
            )
        own = at - self._first_of(head) if self._kind is Kind.ALL_GATHER else at
        return Op(OpName.GROUP_STORE, (Operand(own, count, "i"),), (target,), channel_type="switch", tbg_info=share)

    def _kept(self, share: Share | None) -> list[Op]:
        """The result from scratch: of a reduce_scatter a rank's own, and nothing that its caller's buffer has."""
        if self._kind is not Kind.REDUCE_SCATTER:
            there = self._in_place and self._kind is not Kind.ALL_REDUCE
            runs = [(at, count) for head, at, count in self._runs if not (there and head == self._rank)]
            return [self._copy("s", at, "o", at, count, share) for at, count in runs]
        first = self._first_of(self._rank)
        own = [(at, count) for head, at, count in self._runs if head == self._rank]
        return [self._copy("s", at, "o", at - first, count, share) for at, count in own]

    def _first_of(self, rank: int) -> int:
        """The first chunk of a rank's block."""
        return rank * (self._chunks // self._ranks)

    @staticmethod
    def _copy(source: BufferName, at: int, target: BufferName, to: int, count: int, share: Share | None) -> Op:
        return Op(OpName.COPY, (Operand(at, count, source),), (Operand(to, count, target),), tbg_info=share)

    def _meeting(self, relaxed: bool = False) -> list[Op]:
        """All ranks' blocks of this number wait for each other; what they did before is seen after, unless `relaxed`:
        then it only says that their calls have begun."""
        names = (OpName.RELAXED_SIGNAL, OpName.RELAXED_WAIT) if relaxed else (OpName.SIGNAL, OpName.WAIT)
        channels = range(len(self._peers))
        groups = [tuple(channels[at : at + MAX_OP_CHANNELS]) for at in range(0, len(channels), MAX_OP_CHANNELS)]
        return [*(Op(name, channel_ids=ids, channel_type="memory") for name in names for ids in groups), _SYNC]
