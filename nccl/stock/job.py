"""What NCCL is to do in a run: calls on communicators, as the player of `stand_ins/player.cpp` reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hocket.base.enums import StrEnum
from hocket.base.units import format_bytes

__all__ = ["KINDS", "OPERATIONS", "TYPES", "Mode", "StockCall", "StockJob", "sweep"]

#: Collectives that the player knows; of the first five NCCL makes a choice.
KINDS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "sendrecv")

#: Bytes of an element.
TYPES = {
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
}
_SHARED = ("all_gather", "reduce_scatter", "all_to_all")  # of whose buffer each rank has a part
OPERATIONS = ("sum", "prod", "max", "min", "avg")


class Mode(StrEnum):
    """How far NCCL goes with each call."""

    CHOOSE = "choose"
    ENQUEUE = "enqueue"
    MOVE = "move"


@dataclass(frozen=True)
class StockCall:
    """`size_bytes` as nccl-tests counts it: of all_gather, reduce_scatter and all_to_all the whole buffer."""

    kind: str
    size_bytes: int
    type: str = "float32"
    operation: str = "sum"
    root: int = 0
    in_place: bool = False
    communicator: str = "world"

    def line(self) -> str:
        parts = (self.kind, self.communicator, self.size_bytes, self.type, self.operation, self.root)
        return f"call {' '.join(map(str, parts))} {int(self.in_place)}"


@dataclass(frozen=True)
class StockJob:
    """`hosts`: the ranks of each; `lines`: what they do, in order, `calls` among them; `mode`: whether NCCL only
    chooses, enqueues kernels that move nothing, or moves data that are checked; `limit_s`: how long nothing may move
    before the run is ended; `notes`: what of it was not taken, in sentences."""

    hosts: tuple[int, ...]
    lines: tuple[str, ...]
    mode: Mode = Mode.CHOOSE
    limit_s: int = 120
    calls: tuple[StockCall, ...] = field(default=())
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        head = [f"hosts {' '.join(map(str, self.hosts))}", f"limit_s {self.limit_s}", f"mode {self.mode.value}"]
        return "\n".join([*head, *self.lines]) + "\n"


def sweep(
    hosts: Sequence[int],
    kinds: Sequence[str],
    sizes: Sequence[int],
    *,
    type: str = "float32",
    operation: str = "sum",
    mode: Mode = Mode.CHOOSE,
    limit_s: int = 120,
) -> StockJob:
    """Each of the collectives at each size that gives every rank a whole element at least; smaller ones are noted."""
    units = {kind: TYPES[type] * (sum(hosts) if kind in _SHARED else 1) for kind in kinds}
    calls = tuple(
        StockCall(kind, size // unit * unit, type, operation)
        for kind, unit in units.items()
        for size in sizes
        if size >= unit
    )
    notes = tuple(
        f"{kind}: {', '.join(map(format_bytes, small))} not run: less than an element ({type})"
        + " of each rank" * (kind in _SHARED)
        for kind, unit in units.items()
        if (small := [size for size in sizes if size < unit])
    )
    return StockJob(tuple(hosts), tuple(call.line() for call in calls), mode, limit_s, calls, notes)
