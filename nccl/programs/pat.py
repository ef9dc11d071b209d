"""NCCL's parallel aggregated trees: a rank's block goes down a binomial tree of its own, far ranks first; or sums come
up it, near ranks first (`PatAGAlgorithm`, `PatRSAlgorithm` of src/include/collectives.h).

A rank talks to those that are a power of two away, over a thread block each. What it sends to one of them in a pass it
sends at once, as NCCL does while its buffers hold it.
"""

from hocket.nccl.programs.assembly import assemble
from hocket.nccl.programs.builder import NcclBuilder
from hocket.nccl.programs.chunking import passes
from hocket.nccl.programs.request import NcclCall, NcclProgram
from hocket.nccl.programs.split import split
from hocket.schedule import Kind, Step, StepType, ThreadBlock

__all__ = ["PROGRAMS", "pat"]


def pat(request: NcclCall) -> NcclProgram:
    """The program of an all_gather or a reduce_scatter. Raises ScheduleError where NCCL would not run it."""
    shares = split(request)
    n, channels = request.ranks, len(shares)
    make = _gathering if request.kind is Kind.ALL_GATHER else _scattering
    blocks = [[block for channel in range(channels) for block in make(rank, n, channel, channels)] for rank in range(n)]
    scratch = 0 if request.kind is Kind.ALL_GATHER else n * channels
    program = assemble(request, blocks, chunks=n * channels, channels=channels, scratch=scratch)
    return NcclProgram(request, program, passes(request, program, shares))


def _dimensions(n: int) -> range:
    return range((n - 1).bit_length())


def _distances(n: int, dimension: int) -> list[int]:
    """How far off are the owners of the blocks of which a rank passes on to the one 2^dimension away."""
    return [far for far in range(0, n, 2 << dimension) if far + (1 << dimension) < n]


def _gathering(rank: int, n: int, channel: int, channels: int) -> list[ThreadBlock]:
    first = channel * len(_dimensions(n))
    came: dict[int, tuple[int, int]] = {}  # block and step that received the block of the rank so far off
    found = []
    for number, dimension in enumerate(reversed(_dimensions(n))):
        away, block = 1 << dimension, first + number
        steps: list[Step] = []
        for far in _distances(n, dimension):
            chunk = (rank + far) % n * channels + channel
            if far == 0 and number == 0:
                steps.append(Step(StepType.COPY, "i", channel, "o", chunk, 1, has_dependents=True))
            steps.append(Step(StepType.SEND, "o", chunk, "o", chunk, 1, *came.get(far, (-1, -1))))
            if far == 0 and number == 0:
                came[far] = block, 0
            got = (rank + far + away) % n * channels + channel
            came[far + away] = block, len(steps)
            steps.append(Step(StepType.RECEIVE, "o", got, "o", got, 1, has_dependents=True))
        found.append(ThreadBlock((rank - away) % n, (rank + away) % n, channel, steps))
    return found


def _scattering(rank: int, n: int, channel: int, channels: int) -> list[ThreadBlock]:
    first = channel * len(_dimensions(n))
    summed: dict[int, tuple[int, int]] = {}  # block and step of the last sum for the rank so far off
    found = []
    for number, dimension in enumerate(_dimensions(n)):
        away, block = 1 << dimension, first + number
        steps: list[Step] = []
        for far in _distances(n, dimension):
            sent = (rank + far + away) % n * channels + channel
            source = "s" if far + away in summed else "i"
            steps.append(Step(StepType.SEND, source, sent, source, sent, 1, *summed.get(far + away, (-1, -1))))
            chunk = (rank + far) % n * channels + channel
            target = ("o", channel) if far == 0 else ("s", chunk)
            before = target if far in summed else ("i", chunk)
            waits = summed.get(far, (-1, -1))
            summed[far] = block, len(steps)
            steps.append(Step(StepType.RECEIVE_REDUCE_COPY, *before, *target, 1, *waits, has_dependents=True))
        found.append(ThreadBlock((rank + away) % n, (rank - away) % n, channel, steps))
    return found


PROGRAMS = (
    NcclBuilder(
        name="PAT",
        summary="each rank's block down, or its sum up, a binomial tree of its own",
        needs="one GPU per node, or `NCCL_PAT_ENABLE=1`",
        source="include/collectives.h",
        example="nccl:pat",
        kinds=(
            Kind.ALL_GATHER,
            Kind.REDUCE_SCATTER,
        ),
        build=pat,
    ),
)
