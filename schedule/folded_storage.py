"""What a `.schedule` file says of a folded schedule besides its collective and topology: symmetry and phases.

The arrays of phase k are "phase<k>.route_offset", "phase<k>.route_links" and, of transfers in columns, ".chunk",
".route" and ".start_ps", else ".rounds".
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.schedule.container import ArrayEntry, ByteStream, Count
from hocket.schedule.folded import FoldedSchedule, Phase, TransferColumns, Transfers
from hocket.schedule.rounds import Rounds, RoundShape
from hocket.schedule.symmetry import Motion, Symmetry

__all__ = ["FoldedHeader", "dtype", "folded_arrays", "folded_header", "folded_streams", "phases", "symmetry"]

_ROUTES = {"route_offset": "<i8", "route_links": "<i4"}
_COLUMNS = {"chunk": "<i4", "route": "<i4", "start_ps": "<i8"}
_DTYPES = _ROUTES | _COLUMNS | {"rounds": "|u1"}
_PREFIX = "phase"

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**61)]


class _RoundsHeader(msgspec.Struct, forbid_unknown_fields=True):
    length_ps: Annotated[int, msgspec.Meta(ge=1, le=2**61)]
    num_rounds: _Number
    num_transfers: _Number


class _PhaseHeader(msgspec.Struct, forbid_unknown_fields=True):
    mirrored: bool
    rounds: _RoundsHeader | None


class FoldedHeader(msgspec.Struct, forbid_unknown_fields=True):
    """The part of the header that makes a schedule a folded one."""

    sizes: Annotated[list[Count], msgspec.Meta(max_length=31)]
    motions: list[Motion]
    phases: list[_PhaseHeader]


def dtype(name: str) -> str | None:
    """Of an array of a phase; None where it has no such array."""
    phase, _, column = name.partition(".")
    return _DTYPES.get(column) if phase.startswith(_PREFIX) else None


def folded_arrays(schedule: FoldedSchedule) -> dict[str, NDArray[Any]]:
    """The arrays of its phases, but for rounds."""
    arrays: dict[str, NDArray[Any]] = {}
    for number, phase in enumerate(schedule.phases):
        arrays |= {f"{_PREFIX}{number}.{name}": getattr(phase, name) for name in _ROUTES}
        if isinstance(phase.transfers, TransferColumns):
            arrays |= {f"{_PREFIX}{number}.{name}": getattr(phase.transfers, name) for name in _COLUMNS}
    return arrays


def folded_streams(schedule: FoldedSchedule) -> dict[str, ByteStream]:
    """The rounds of its phases."""
    numbered = enumerate(phase.transfers for phase in schedule.phases)
    return {f"{_PREFIX}{number}.rounds": rounds for number, rounds in numbered if isinstance(rounds, Rounds)}


def folded_header(schedule: FoldedSchedule) -> FoldedHeader:
    headers = [_PhaseHeader(phase.mirrored, _rounds_header(phase.transfers)) for phase in schedule.phases]
    return FoldedHeader(list(schedule.symmetry.sizes), list(schedule.symmetry.motions), headers)


def _rounds_header(transfers: Transfers) -> _RoundsHeader | None:
    if not isinstance(transfers, Rounds):
        return None
    return _RoundsHeader(transfers.shape.length_ps, transfers.num_rounds, transfers.num_transfers)


def symmetry(header: FoldedHeader) -> Symmetry:
    return Symmetry(tuple(header.sizes), tuple(header.motions))


def phases(
    header: FoldedHeader, arrays: dict[str, NDArray[Any]], entries: list[ArrayEntry], path: Path, num_chunks: int
) -> Iterator[Phase]:
    """The phases, out of the arrays and, where they are rounds, the file itself. Raises FormatError for a missing
    array, or columns that do not fit together."""
    offset = {entry.name: entry.offset for entry in entries}
    for number, phase in enumerate(header.phases):
        columns = {}
        for name in [*_ROUTES, *(_COLUMNS if phase.rounds is None else ["rounds"])]:
            if f"{_PREFIX}{number}.{name}" not in arrays:
                raise FormatError(f"array {_PREFIX}{number}.{name} is missing")
            columns[name] = arrays[f"{_PREFIX}{number}.{name}"]
        routes = columns["route_offset"], columns["route_links"]
        if phase.rounds is None:
            transfers: Transfers = TransferColumns(*(columns[name] for name in _COLUMNS))
        else:
            with open(path, "rb") as file:
                transfers = Rounds.of(
                    file,
                    offset[f"{_PREFIX}{number}.rounds"],
                    len(columns["rounds"]),
                    RoundShape(len(routes[0]) - 1, num_chunks, phase.rounds.length_ps),
                    phase.rounds.num_rounds,
                    phase.rounds.num_transfers,
                )
        yield Phase(*routes, transfers, phase.mirrored)
