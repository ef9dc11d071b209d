"""The remote memory of a machine: what memory nodes of traces read and write."""

import re
from dataclasses import dataclass

from hocket.base.errors import SimulationError
from hocket.base.units import parse_bandwidth, parse_time

__all__ = ["RemoteMemory", "parse_remote_memory"]


@dataclass(frozen=True)
class RemoteMemory:
    """Memories that `ranks` ranks share each (0: all ranks one), neighbours in rank.

    A memory serves one access at a time, first come, first served, each for its bytes over `bandwidth` (bytes/s); the
    latency, `latency_ps`, comes on top and keeps nobody waiting.
    """

    latency_ps: int
    bandwidth: int
    ranks: int = 1


def parse_remote_memory(text: str) -> RemoteMemory:
    """`latency=1us,bandwidth=100GB/s`, with `ranks=8` or `ranks=all` for memories that ranks share.

    Raises SimulationError for another form, and FormatError for a wrong quantity.
    """
    fields = dict(part.strip().partition("=")[::2] for part in text.split(","))
    ranks = fields.pop("ranks", "1")
    if fields.keys() != {"latency", "bandwidth"} or not re.fullmatch("all|[1-9][0-9]{0,8}", ranks):
        raise SimulationError(
            f"remote memory '{text}': expected latency=1us,bandwidth=100GB/s, and ranks=8 or ranks=all if it is shared"
        )
    shared = 0 if ranks == "all" else int(ranks)
    return RemoteMemory(parse_time(fields["latency"]), parse_bandwidth(fields["bandwidth"]), shared)
