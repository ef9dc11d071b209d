"""What a connection holds and moves under NCCL's three protocols, on NVIDIA's and AMD's GPUs."""

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["AMD", "FIFO_DEPTH", "NVIDIA", "Protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A connection has 8 slots, of which a message takes 1 (LL, LL128) or 4 (Simple): it holds `fifo_depth` messages.

    An interpreter walks all steps for the first `slice_bytes` of every chunk, then for the next, and so on; a message
    is no longer than that either. Every byte of data is `wire` bytes on the links: LL sends a flag of 4 bytes with each
    4, LL128 8 in each line of 128 (AMD: 64). Defaults of NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE and NCCL_LL128_BUFFSIZE.
    """

    fifo_depth: int
    slice_bytes: int
    wire: Fraction


NVIDIA = {
    "Simple": Protocol(2, 2 << 20, Fraction(1)),
    "LL": Protocol(8, 32 << 10, Fraction(2)),
    "LL128": Protocol(8, 576_000, Fraction(16, 15)),
}
AMD = {
    "Simple": Protocol(2, 2 << 20, Fraction(1)),
    "LL": Protocol(8, 16 << 10, Fraction(2)),
    "LL128": Protocol(8, 50_176, Fraction(8, 7)),
}

#: Messages that a connection holds in the runtimes, by protocol.
FIFO_DEPTH = {name: protocol.fifo_depth for name, protocol in NVIDIA.items()}
