"""NVLS: the NVSwitches of a machine add and multicast (all_reduce.h, all_gather.h, reduce_scatter.h of 2.30).

On each channel every GPU copies its input into buffers that all can load from, a head's group of warps loads a chunk,
which the switches sum on the way (multimem.ld_reduce), and stores it to all (multimem.st); every GPU copies it out.
The copies are inside a GPU and cost nothing here. Of S bytes S + S/n leave and enter a GPU by NVLink: what it needs of
its own comes back through the switch too.
"""

from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.collnet import sharp
from hocket.nccl.programs.heads import Heads, each_channel, finished, in_order, interleaved, slots, step_ps
from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Actions, Kernel, Kind, Move, Wait

__all__ = ["PROGRAMS", "NvlsMachine", "nvls"]

_GRAIN = 16 << 10


def nvls(request: NcclCall) -> Kernel:
    """all_reduce, all_gather and reduce_scatter in one machine; all_reduce over several by CollNet."""
    heads, actions = Heads.found(request, "NVLS"), Actions()
    if request.nodes > 1:
        sizes = interleaved(request, len(heads))
        for first in range(0, sizes.shape[1], len(heads)):
            machines = [NvlsMachine(request, actions, ranks) for ranks in heads.machines]
            for head, ranks in enumerate(heads.of):
                chunk = first + head
                loaded = [machine.load(rank, chunk) for machine, rank in zip(machines, ranks, strict=True)]
                for machine, rank, down in zip(
                    machines, ranks, sharp(request, actions, chunk, ranks, loaded), strict=True
                ):
                    machine.store(rank, chunk, down)
        return finished(request, sizes, actions, heads=len(heads))
    sizes = each_channel(request, len(heads), _GRAIN)
    for first in range(0, sizes.shape[1], len(heads)):
        machine = NvlsMachine(request, actions, heads.machines[0])
        for head, (rank,) in enumerate(heads.of):
            chunk = first + head
            begun = machine.own(rank, chunk) if request.kind is Kind.ALL_GATHER else machine.load(rank, chunk)
            if request.kind is not Kind.REDUCE_SCATTER:
                machine.store(rank, chunk, begun)
    owners = [-1] if request.kind is Kind.ALL_REDUCE else [rank for (rank,) in heads.of]
    return finished(request, sizes, actions, owners, heads=len(heads))


class NvlsMachine:
    """What the GPUs of a machine do on one channel. `scatter` and `gather` are their works of copying in and out.

    A load takes NCCL's latency from when the last GPU has copied in; the slots of the buffers let it overlap with those
    of the next passes.
    """

    def __init__(self, request: NcclCall, actions: Actions, ranks: range) -> None:
        self.ranks = ranks
        self._actions = actions
        self._latency_ps = step_ps(request)
        self.scatter = [actions.work(rank) for rank in ranks]
        self.gather = [actions.work(rank) for rank in ranks]
        in_order(actions, [*self.scatter, *self.gather])

    def load(self, head: int, chunk: int, *others: Wait) -> int:
        """The work that has the sum of the machine's chunks, begun when `others` have come as well."""
        copied = [Wait(scatter) for scatter in self.scatter]
        ready = self._actions.work(head, *copied, *others)
        latency = self._actions.work(head, *copied, latency_ps=self._latency_ps)
        pulled = self._actions.move(Move(chunk, tuple(self.ranks), (ready,) * len(self.ranks), (head,), reduce=True))
        loaded = self._paced(head, chunk, ready, latency, Wait(pulled))
        for scatter in self.scatter:
            self._actions.wait(scatter, *slots([loaded]))
        return loaded

    def own(self, head: int, chunk: int) -> int:
        """The work that has the head's own chunk."""
        ready, latency = self._actions.work(head), self._actions.work(head, latency_ps=self._latency_ps)
        loaded = self._paced(head, chunk, ready, latency)
        self._actions.wait(latency, *slots([loaded]))
        return loaded

    def _paced(self, head: int, chunk: int, ready: int, latency: int, *waits: Wait) -> int:
        """The work that is done with a chunk when the GPU is, and not before `waits`; then `ready` may be again."""
        busy = self._actions.work(head, Wait(ready), Wait(latency), chunk=chunk)
        done = self._actions.work(head, Wait(busy), *waits)
        self._actions.wait(ready, Wait(done, lag=1))
        return done

    def store(self, head: int, chunk: int, begun: int) -> None:
        """Copies to all GPUs what `begun` has."""
        self._actions.wait(begun, *slots(self.gather))
        stored = self._actions.move(Move(chunk, (head,), (begun,), tuple(self.ranks)))
        for rank, gather in zip(self.ranks, self.gather, strict=True):
            self._actions.wait(gather, Wait(stored, rank))


PROGRAMS = (
    NcclBuilder(
        name="NVLS",
        summary="NVSwitches add and multicast; over machines the fabric's switches add",
        needs="`nvls=1`, GPUs of sm 90; over machines as CollNet",
        source="device/all_reduce.h, all_gather.h, reduce_scatter.h",
        example="nccl:nvls",
        kinds=(
            Kind.ALL_REDUCE,
            Kind.ALL_GATHER,
            Kind.REDUCE_SCATTER,
        ),
        build=nvls,
    ),
)
