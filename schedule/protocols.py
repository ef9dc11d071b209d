"""What a connection holds and moves under each protocol of a runtime, and what its kernels take for that."""

from dataclasses import dataclass
from fractions import Fraction

from hocket.schedule.pace import Pace

__all__ = ["AMD", "DEVICE", "FIFO_DEPTH", "MSCCLPP", "NVIDIA", "Protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """A connection has 8 slots, of which a message takes 1 (LL, LL128) or 4 (Simple): it holds `fifo_depth` messages.

    An interpreter walks all steps for the first `slice_bytes` of every chunk, then for the next, and so on; a message
    is no longer than that either. Every byte of data is `wire` bytes on the links: LL sends a flag of 4 bytes with each
    4, LL128 8 in each line of 128 (AMD: 64). Defaults of NCCL_BUFFSIZE, NCCL_LL_BUFFSIZE and NCCL_LL128_BUFFSIZE.
    Where a runtime never cuts a message (not `cuts_messages`), a slice is what lets all chunks of the largest share a
    slot. `pace`: what the runtime's kernels take, on no machine yet; None: that is not known, and no time.
    """

    fifo_depth: int
    slice_bytes: int
    wire: Fraction
    cuts_messages: bool = True
    pace: Pace | None = None


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

# What kernels take on H100s. From NCCL 2.30's src/graph/tuning.cc, whose kernels are made of the same primitives as any
# interpreter's: launches of 6.6 us (LL) and 8.4 us (Simple), a step of a ring of 0.6 and 3.4 us over NVLink, of 2.7 and
# 14 us between machines, and 38.7 GB/s, the most that it counts for a channel of Simple that receives, adds and sends.
# From MSCCL++'s memory channels (its tutorial "Memory Channel", two GPUs of 345 GB/s, kernels of a CUDA graph one after
# another): 1 KiB takes 4.07 us by packets and 6.51 us by a put, a signal and a wait; 32 thread blocks move 131 GB/s by
# packets, 4.1 GB/s each.
_PACKETS, _BLOCK = 4_100_000_000, 38_700_000_000
_GO = 4096  # of packets, by 512 threads, each 8 bytes

_PLAIN = Pace(8_400_000, 3_400_000, 14_000_000, _BLOCK, buffers=1)
#: Hocket's own interpreter (`hocket.runtime.device`): slots of 512 KiB, or of packets for 16 KiB. LL128 is plain there.
DEVICE = {
    "Simple": Protocol(2, 512 << 10, Fraction(1), False, _PLAIN),
    "LL": Protocol(
        8, 16 << 10, Fraction(2), False, Pace(6_600_000, 600_000, 2_700_000, _PACKETS, buffers=1, covered=_GO)
    ),
    "LL128": Protocol(8, 512 << 10, Fraction(1), False, _PLAIN),
}

_ROOM = 1 << 20  # messages under way to a rank: none waits for room there
_LAUNCH = 4_070_000 - 600_000  # of the 1 KiB by packets, less the step that NCCL counts for them
#: MSCCL++'s executor: puts go straight into place, and wait for no room there.
MSCCLPP = {
    "Simple": Protocol(_ROOM, 2 << 20, Fraction(1), pace=Pace(_LAUNCH, 6_510_000 - _LAUNCH, 14_000_000, _BLOCK)),
    "LL": Protocol(_ROOM, 32 << 10, Fraction(2), pace=Pace(_LAUNCH, 600_000, 2_700_000, _PACKETS, covered=_GO)),
}

#: Messages that a connection holds in the runtimes, by protocol.
FIFO_DEPTH = {name: protocol.fifo_depth for name, protocol in NVIDIA.items()}
