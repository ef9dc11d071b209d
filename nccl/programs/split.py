"""How NCCL shares a collective out among channels."""

from hocket.nccl.launches import share_out, traffic_per_byte
from hocket.nccl.programs.request import NcclCall

__all__ = ["split"]


def split(request: NcclCall) -> list[int]:
    """Bytes of a rank's part (of all_gather and reduce_scatter: of a block) on each channel that is used, in order:
    the first and the last may have fewer than those between."""
    size = request.size_bytes // request.blocks
    traffic = traffic_per_byte(request.collective, request.ranks)
    most, release = request.model.channels_of(request.algorithm), request.model.release
    cells = share_out(size, traffic, request.protocol, request.channels, most, release)
    return [*(count * cells.bytes for count in cells.counts[:-1]), size - sum(cells.counts[:-1]) * cells.bytes]
