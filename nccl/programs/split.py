"""How NCCL shares a collective out among channels, in cells of at least 32 KiB of traffic (src/enqueue.cc of 2.30)."""

from hocket.nccl.programs.request import NcclCall
from hocket.schedule import Kind

__all__ = ["split"]

_LEAST_TRAFFIC = 32 << 10
_GRAIN = 16


def split(request: NcclCall) -> list[int]:
    """Bytes of a rank's part (of all_gather and reduce_scatter: of a block) on each channel that is used, in order:
    the first and the last may have fewer than those between."""
    size, traffic_per_byte = request.size_bytes // request.blocks, _traffic_per_byte(request)
    traffic = max(_LEAST_TRAFFIC, size * _traffic_per_byte(request))
    per_channel = _up(traffic // request.channels, _GRAIN)
    cell = _up(-(-_LEAST_TRAFFIC // traffic_per_byte), _GRAIN)
    cells = -(-size // cell)
    each = min(cells, -(-per_channel // (cell * traffic_per_byte)))
    between, last = divmod(cells - each, each)
    counts = [each] * (1 + between) + [last] * (last > 0)
    if len(counts) > (most := request.model.channels_of(request.algorithm)):
        each, more = divmod(cells - each, most - 1)
        counts = [counts[0]] + [each] * (most - 2) + [each + more]
    return [*(count * cell for count in counts[:-1]), size - sum(counts[:-1]) * cell]


def _traffic_per_byte(request: NcclCall) -> int:
    """What a byte of a rank's part adds to the traffic of each rank; LL counts four times."""
    once = {Kind.ALL_REDUCE: 2, Kind.ALL_GATHER: request.ranks, Kind.REDUCE_SCATTER: request.ranks}
    return once.get(request.kind, 1) * (4 if request.protocol == "LL" else 1)


def _up(number: int, grain: int) -> int:
    return -(-number // grain) * grain
