"""NCCL's trees: all_reduce up to a root and down again, both at once, chunk after chunk (src/device/all_reduce.h).

NCCL's threads take what all children sent in one go, and send to all of them in one: here a thread block each, that
wait for each other.
"""

from hocket.nccl.programs.assembly import assemble
from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.chunking import passes
from hocket.nccl.programs.connect import Branch, trees
from hocket.nccl.programs.hops import up_and_down
from hocket.nccl.programs.request import NcclCall, NcclProgram
from hocket.nccl.programs.split import split
from hocket.schedule import Kind, Step, StepType, ThreadBlock

__all__ = ["PROGRAMS", "tree"]


def tree(request: NcclCall) -> NcclProgram:
    """The program of an all_reduce."""
    shares = split(request)
    blocks: list[list[ThreadBlock]] = [[] for _ in range(request.ranks)]
    grown = trees(request.model)[: len(shares)]
    for channel, branches in enumerate(grown):
        for rank, branch in enumerate(branches):
            blocks[rank] += _blocks(branch, channel, len(blocks[rank]))
    program = assemble(request, blocks, chunks=len(shares), channels=len(shares))
    _, inside, between = request.model.steps_us(request.algorithm, request.protocol)
    paths = [up_and_down(branches, request.machine, inside, between) for branches in grown]
    path = max(paths, key=lambda each: each.latency(inside, between))
    hops = max(1, path.inside + path.between)
    return NcclProgram(request, program, passes(request, program, shares, hops=hops, path=path))


def _blocks(branch: Branch, channel: int, first: int) -> list[ThreadBlock]:
    """The thread blocks of a rank on a channel, of which the first has the number `first`."""
    return _up(branch, channel, first) + _down(branch, channel, first + max(1, len(branch.down)))


def _up(branch: Branch, channel: int, first: int) -> list[ThreadBlock]:
    """One block adds what a child sent after the other; the last of them sends the sum up."""
    if not branch.down:
        return [ThreadBlock(branch.up, -1, channel, [_step(StepType.SEND, "i", channel)])]
    last = len(branch.down) - 1
    found = []
    for number, child in enumerate(branch.down):
        sends = number == last and branch.up >= 0
        step = _step(
            StepType.RECEIVE_REDUCE_SEND if sends else StepType.RECEIVE_REDUCE_COPY,
            "o" if number else "i",
            channel,
            waits_for=first + number - 1 if number else -1,
            awaited=number < last or branch.up < 0,
        )
        found.append(ThreadBlock(branch.up if sends else -1, child, channel, [step]))
    return found


def _down(branch: Branch, channel: int, first: int) -> list[ThreadBlock]:
    """A block receives the result, which it or others send to a child each; at the root all wait for the sum."""
    if branch.up >= 0 and len(branch.down) == 1:
        return [ThreadBlock(branch.down[0], branch.up, channel, [_step(StepType.RECEIVE_COPY_SEND, "o", channel)])]
    receives = []
    source = first - 1  # the block with the sum
    if branch.up >= 0:
        step = _step(StepType.RECEIVE, "o", channel, awaited=bool(branch.down))
        receives, source = [ThreadBlock(-1, branch.up, channel, [step])], first
    return receives + [
        ThreadBlock(child, -1, channel, [_step(StepType.SEND, "o", channel, waits_for=source)]) for child in branch.down
    ]


def _step(kind: StepType, source: str, chunk: int, waits_for: int = -1, awaited: bool = False) -> Step:
    return Step(kind, source, chunk, "o", chunk, 1, waits_for, 0 if waits_for >= 0 else -1, awaited)


PROGRAMS = (
    NcclBuilder(
        name="Tree",
        summary="up and down two trees over nodes at once, chains inside",
        needs="",
        source="device/all_reduce.h, graph/trees.cc",
        example="nccl:tree",
        kinds=(Kind.ALL_REDUCE,),
        build=tree,
    ),
)
