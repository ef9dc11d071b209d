"""About how many messages a call of NCCL sends, told without making its program."""

from hocket.nccl.programs.chunking import num_sendings
from hocket.nccl.programs.heads import Heads, each_channel, interleaved
from hocket.nccl.programs.request import NcclCall
from hocket.nccl.programs.split import split
from hocket.schedule import Kind

__all__ = ["num_messages"]

_GRAIN = 16 << 10
_LOOPS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER)


def num_messages(request: NcclCall) -> int:
    """Messages of rings and trees exactly where their chunks are alike; of kernels over switches those between GPUs and
    switches, about. Raises ScheduleError for what is no program."""
    n = request.ranks
    if request.algorithm in ("Ring", "Tree", "PAT"):
        twice = request.kind is Kind.ALL_REDUCE
        around = n if request.algorithm == "Ring" and twice else 1
        sent = (n - 1) * (1 + twice)  # by all ranks, of a chunk
        if request.algorithm != "Tree" and request.kind in _LOOPS:
            sent *= n
        return sent * num_sendings(request, split(request), around)
    if request.algorithm == "CollNetChain":
        return interleaved(request, 1).size * (2 * n + 2 * request.nodes)
    heads = Heads.found(request, "CollNetDirect" if request.algorithm == "CollNetDirect" else "NVLS")
    taken_in_turn = request.algorithm == "CollNetDirect" or (request.algorithm == "NVLS" and request.nodes > 1)
    sizes = interleaved(request, len(heads)) if taken_in_turn else each_channel(request, len(heads), _GRAIN)
    rounds = 1 if request.kind in (Kind.ALL_GATHER, Kind.REDUCE_SCATTER) else 2
    return sizes.size * rounds * (n + 2 * request.nodes)
