"""NCCL's rings: a channel's share of the data goes round it, once or twice (src/device of 2.30).

A rank's place in a channel's ring is its distance from the first. A chunk takes the same path in every pass.
"""

from collections.abc import Callable

from hocket.nccl.programs.assembly import assemble
from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.chunking import passes
from hocket.nccl.programs.connect import rings
from hocket.nccl.programs.hops import round_a_ring
from hocket.nccl.programs.request import NcclCall, NcclProgram
from hocket.nccl.programs.split import split
from hocket.schedule import Kind, Step, StepType, ThreadBlock

__all__ = ["PROGRAMS", "ring"]


def ring(request: NcclCall) -> NcclProgram:
    """The program of any collective."""
    shares = split(request)
    orders = rings(request.model)[: len(shares)]
    n, channels = request.ranks, len(shares)
    steps_of = _STEPS[request.kind]
    blocks: list[list[ThreadBlock]] = [[] for _ in range(n)]
    for channel, order in enumerate(orders):
        from_root = order.index(request.root)
        for at, rank in enumerate(order):
            view = _View(order, at, (at - from_root) % n, channel, channels)
            steps = steps_of(view)
            send = order[(at + 1) % n] if any(step.type.sends for step in steps) else -1
            receive = order[at - 1] if any(step.type.receives for step in steps) else -1
            blocks[rank].append(ThreadBlock(send, receive, channel, steps))
    whole = request.kind is not Kind.BROADCAST and request.kind is not Kind.REDUCE
    program = assemble(request, blocks, chunks=channels * n if whole else channels, channels=channels)
    around, turns = (n, 2) if request.kind is Kind.ALL_REDUCE else (1, 1)
    after = int(request.kind is Kind.REDUCE)  # which ends at its root
    paths = [
        round_a_ring(order, request.machine, turns * (n - 1), None if whole else order.index(request.root) + after)
        for order in orders
    ]
    path = max(paths, key=lambda each: each.between)
    return NcclProgram(request, program, passes(request, program, shares, around, 1 if whole else n - 1, path))


class _View:
    """What a rank sees of a channel: who is where, and where each chunk lies."""

    def __init__(self, order: list[int], at: int, from_root: int, channel: int, channels: int) -> None:
        self.ranks, self.at, self.from_root, self.channel, self.channels = len(order), at, from_root, channel, channels
        self._order = order

    def slot(self, back: int) -> int:
        """All_reduce: the chunk of the rank `back` places before."""
        return self.channel * self.ranks + (self.at - back) % self.ranks

    def block(self, back: int) -> int:
        """The chunk of this channel in the block of the rank `back` places before."""
        return self._order[(self.at - back) % self.ranks] * self.channels + self.channel


def _all_reduce(view: _View) -> list[Step]:
    n = view.ranks
    return [
        _step("s", "i", view.slot(1)),
        *(_step("rrs", "i", view.slot(back)) for back in range(2, n)),
        _step("rrcs", "i", view.slot(n), "o"),
        *(_step("rcs", "o", view.slot(back)) for back in range(1, n - 1)),
        _step("r", "o", view.slot(n - 1)),
    ]


def _reduce_scatter(view: _View) -> list[Step]:
    n = view.ranks
    return [
        _step("s", "i", view.block(1)),
        *(_step("rrs", "i", view.block(back)) for back in range(2, n)),
        Step(StepType.RECEIVE_REDUCE_COPY, "i", view.block(0), "o", view.channel, 1),
    ]


def _all_gather(view: _View) -> list[Step]:
    n = view.ranks
    return [
        Step(StepType.COPY, "i", view.channel, "o", view.block(0), 1),
        _step("s", "o", view.block(0)),
        *(_step("rcs", "o", view.block(back)) for back in range(1, n - 1)),
        _step("r", "o", view.block(n - 1)),
    ]


def _broadcast(view: _View) -> list[Step]:
    if view.from_root == 0:
        return [_step("cpy", "i", view.channel, "o"), _step("s", "o", view.channel)]
    return [_step("r" if view.from_root == view.ranks - 1 else "rcs", "o", view.channel)]


def _reduce(view: _View) -> list[Step]:
    if view.from_root == 0:
        return [_step("rrc", "i", view.channel, "o")]
    return [_step("s" if view.from_root == 1 else "rrs", "i", view.channel)]


def _step(name: str, source: str, chunk: int, target: str | None = None) -> Step:
    return Step(StepType(name), source, chunk, target or source, chunk, 1)


_STEPS: dict[Kind, Callable[[_View], list[Step]]] = {
    Kind.ALL_REDUCE: _all_reduce,
    Kind.REDUCE_SCATTER: _reduce_scatter,
    Kind.ALL_GATHER: _all_gather,
    Kind.BROADCAST: _broadcast,
    Kind.REDUCE: _reduce,
}


PROGRAMS = (
    NcclBuilder(
        name="Ring",
        summary="a channel's data goes round a ring of all ranks, once or twice",
        needs="",
        source="device/*.h, graph/connect.cc",
        example="nccl:ring",
        kinds=(
            Kind.ALL_REDUCE,
            Kind.ALL_GATHER,
            Kind.REDUCE_SCATTER,
            Kind.BROADCAST,
            Kind.REDUCE,
        ),
        build=ring,
    ),
)
