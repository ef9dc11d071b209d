"""What NCCL calls its collectives, algorithms, protocols and path types, in the order of its tables."""

from collections.abc import Sequence

from hocket.core.errors import FormatError

__all__ = ["ALGORITHMS", "COLLECTIVES", "PATH_TYPES", "PROTOCOLS", "algorithm_named", "protocol_named"]

COLLECTIVES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
PATH_TYPES = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")


def algorithm_named(text: str, place: str) -> str:
    """NCCL's algorithm that is written so: `NVLSTree`, `NVLS_TREE`, `nvls_tree`. Raises FormatError for others."""
    return _named(text, ALGORITHMS, f"{place}: algorithm")


def protocol_named(text: str, place: str) -> str:
    """NCCL's protocol that is written so: `Simple`, `SIMPLE`. Raises FormatError for others."""
    return _named(text, PROTOCOLS, f"{place}: protocol")


def _named(text: str, known: Sequence[str], what: str) -> str:
    plain = text.replace("_", "").lower()
    found = next((name for name in known if name.lower() == plain), None)
    if found is None:
        raise FormatError(f"{what} '{text}': expected one of {', '.join(known)}")
    return found
