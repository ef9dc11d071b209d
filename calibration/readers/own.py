"""Hocket's own runs: the JSON of `hocket run` and `hocket replay`."""

from typing import Annotated, Any, TypeVar

import msgspec

from hocket.base.errors import FormatError
from hocket.calibration.measurement import Assumed, Measurement, kind_named

__all__ = ["read_replay", "read_run"]

Size = Annotated[int, msgspec.Meta(ge=0, lt=2**55)]
Time = Annotated[int, msgspec.Meta(gt=0, lt=2**61)]
Ranks = Annotated[int, msgspec.Meta(ge=2, lt=2**24)]
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class Timed(msgspec.Struct):
    time_ps: Time
    wrong: int


class RunRow(msgspec.Struct):
    size_bytes: Size
    out_of_place: Timed | None
    in_place: Timed | None


class Run(msgspec.Struct):
    collective: str
    ranks: Ranks
    wrong: int
    rows: list[RunRow]


class Operation(msgspec.Struct):
    kind: str
    ranks: list[int]
    size_bytes: Size
    median_ps: Annotated[int, msgspec.Meta(lt=2**61)]


class ReplayFile(msgspec.Struct):
    version: int
    operations: list[Operation]


def read_run(content: Any, source: str, assumed: Assumed) -> tuple[Measurement, ...]:
    """The program's times of `hocket run --json`, on one node unless `assumed` says more.

    Raises FormatError, naming file and entry, for other content and wrong results.
    """
    run = _convert(content, Run, source)
    if run.wrong:
        raise FormatError(f"{source}: {run.wrong} wrong values: what computes wrongly is not calibrated")
    kind = kind_named(run.collective, source)
    return tuple(
        Measurement(
            kind, run.ranks, assumed.nodes or 1, row.size_bytes, timed.time_ps, in_place, f"{source}: rows[{at}]"
        )
        for at, row in enumerate(run.rows)
        for timed, in_place in ((row.out_of_place, False), (row.in_place, True))
        if timed is not None and row.size_bytes
    )


def read_replay(content: Any, source: str, assumed: Assumed) -> tuple[Measurement, ...]:
    """The medians of `hocket replay --json`: collectives and messages that moved anything.

    Raises FormatError, naming file and entry, for other content.
    """
    replay = _convert(content, ReplayFile, source)
    found = []
    for at, operation in enumerate(replay.operations):
        place = f"{source}: operations[{at}]"
        ranks = len(operation.ranks)
        if operation.size_bytes and operation.median_ps > 0 and ranks > 1 and operation.kind != "barrier":
            kind = kind_named(operation.kind, place)
            found.append(
                Measurement(kind, ranks, assumed.nodes or 1, operation.size_bytes, operation.median_ps, True, place)
            )
    return tuple(found)


def _convert(content: Any, struct: type[_Struct], source: str) -> _Struct:
    try:
        return msgspec.convert(content, struct)
    except msgspec.ValidationError as error:
        raise FormatError(f"{source}: {error}: not what hocket wrote, or another version's") from error
