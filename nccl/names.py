"""What NCCL calls its collectives, algorithms, protocols and path types, in the order of its tables."""

from collections.abc import Sequence

from hocket.base.errors import FormatError

__all__ = [
    "ALGORITHMS",
    "COLLECTIVES",
    "EVERY_ALGORITHM",
    "PATH_TYPES",
    "PROTOCOLS",
    "algorithm_named",
    "can_do",
    "protocol_named",
]

COLLECTIVES = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
EVERY_ALGORITHM = (*ALGORITHMS, "Direct")
"""With what RCCL adds: AllGather as sends and receives."""
PROTOCOLS = ("LL", "LL128", "Simple")
PATH_TYPES = ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")

_TREE, _RING, _COLLNET_DIRECT, _, _NVLS, _, _PAT = range(len(ALGORITHMS))
_SIMPLE = PROTOCOLS.index("Simple")
_GATHERING = {_RING, _COLLNET_DIRECT, _NVLS, _PAT}
# By collective (src/graph/tuning.cc of NCCL 2.30).
_ALGORITHMS_OF = ({_RING}, {_RING}, _GATHERING, _GATHERING, set(range(len(ALGORITHMS))) - {_PAT})


def can_do(function: int, algorithm: int, protocol: int) -> bool:
    """Whether NCCL has such a kernel at all, by places in the tuples above; -1: any."""
    algorithms = range(len(ALGORITHMS)) if algorithm == -1 else (algorithm,)
    protocols = range(len(PROTOCOLS)) if protocol == -1 else (protocol,)
    return any(
        one in _ALGORITHMS_OF[function] and (other == _SIMPLE or one in (_TREE, _RING))
        for one in algorithms
        for other in protocols
    )


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
