"""Which calls the ranks make: of all collectives, the types and reductions that change what is done, and sizes."""

from collections.abc import Iterator, Sequence

from hocket.base.collectives import NAMED_KINDS
from hocket.base.element_types import ELEMENT_TYPES
from hocket.runtime.run.datatypes import ReduceOp
from hocket.runtime.run.job import RunTask
from hocket.schedule.collective import Kind

__all__ = ["TYPES", "checks", "placements", "timings"]

#: Those that gloo, NCCL and PyTorch all have.
TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
#: Elements of a share: one; a prime, which no chunks divide; several slices of the engines.
_COUNTS = (1, 1021, 65521)


def _shares_of(kind: Kind, ranks: int) -> int:
    """Into how many shares a call's larger buffer is cut."""
    return ranks if kind.in_blocks else 1


def placements(kind: Kind) -> tuple[bool, ...]:
    """Whether PyTorch has the call out of place (False) and in place (True)."""
    if kind.shares_buffer:
        return (True,)
    return (False, True) if kind in (Kind.ALL_GATHER, Kind.REDUCE_SCATTER) else (False,)


def checks(ranks: int, library: str) -> Iterator[RunTask]:
    """One call of each collective, size, type and reduction; types and reductions of those alone that add."""
    for kind in NAMED_KINDS:
        types = TYPES if kind.reduces else TYPES[:1]
        others = tuple(op for op in ReduceOp if op is not ReduceOp.SUM) if kind.reduces else ()
        for data_type, op in [*((each, ReduceOp.SUM) for each in types), *((TYPES[0], op) for op in others)]:
            unit = ELEMENT_TYPES[data_type].num_bytes * _shares_of(kind, ranks)
            sizes = tuple(count * unit for count in _COUNTS)
            yield RunTask(kind, ranks, 0, library, sizes, data_type, op, iterations=1, warmup=0)


def timings(ranks: int, library: str, sizes: Sequence[int], iterations: int) -> Iterator[RunTask]:
    """Each collective at all `sizes` (bytes), made multiples of a share of floats."""
    for kind in NAMED_KINDS:
        unit = 4 * _shares_of(kind, ranks)
        rounded = dict.fromkeys(max(1, size // unit) * unit for size in sizes)
        yield RunTask(kind, ranks, 0, library, tuple(rounded), iterations=iterations, warmup=max(2, iterations // 4))
