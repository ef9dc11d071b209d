"""What NCCL's model says its kernels take, as a pace of the simulator."""

from dataclasses import replace

from hocket.nccl.programs.hops import Hops
from hocket.nccl.programs.request import NcclCall
from hocket.nccl.programs.split import split
from hocket.schedule import Kind, Pace

__all__ = ["pace"]

_PS = 10**6  # of a us
_MB = 10**6
_PAT_BLOCK, _PAT_OVERLAP = 2.8, 3.5


def pace(request: NcclCall, pieces: int = 1, hops: int = 1, path: Hops | None = None) -> Pace:
    """The latencies of src/graph/tuning.cc (2.30) for each step; the model's bandwidth, shared evenly by the channels
    on which NCCL would run a call of this size.

    The model's bandwidth is that of the whole call: where all of a channel's bytes go over `hops`, `pieces` of them one
    after the other, it was measured with the pipeline's filling, pieces + hops - 1 turns of a piece each. So a hop
    moves its pieces that many times faster. Its latency is that of the whole call, too, of as many steps as it counts:
    the longest `path` that data takes here shares it.
    """
    base, inside, between = request.model.timed_by(request.protocol).steps_us(request.algorithm, request.protocol)
    n = request.ranks
    if request.algorithm == "PAT":  # as the model has it: steps overlap, and every block takes its time
        base, between = base + _PAT_BLOCK * n, between / _PAT_OVERLAP
    moved = {Kind.ALL_REDUCE: 2 * (n - 1) / n, Kind.BROADCAST: 1.0, Kind.REDUCE: 1.0}
    # bytes that a channel's thread block sends for each of the collective's
    traffic = 1.0 if request.algorithm == "Tree" else moved.get(request.kind, (n - 1) / n)
    usual = request.model.channels_for(request.algorithm, request.protocol, request.size_bytes)
    each = request.timed_bandwidth * 1000 * traffic / len(split(replace(request, channels=usual)))
    each *= (pieces + hops - 1) / pieces
    steps = 1.0
    if path is not None and (taken := path.latency(inside, between)) > 0:
        steps = max(0.0, request.timed_latency - base) / taken
    return Pace(
        start_ps=round(base * _PS),
        inside_ps=round(inside * steps * _PS),
        between_ps=round(between * steps * _PS),
        bandwidth=max(1, round(each)) * _MB,
        machine=request.machine,
    )
