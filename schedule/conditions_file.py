"""The YAML (or JSON) file that says what a custom collective asks for."""

from pathlib import Path
from typing import Annotated

import msgspec

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import read_yaml
from hocket.base.units import parse_bytes
from hocket.schedule.collective import Collective
from hocket.schedule.conditions import Chunk, Conditions
from hocket.topology.naming import parse_spans

__all__ = ["load_conditions"]

_MOST_CHUNKS = 10_000_000
_Rank = Annotated[int, msgspec.Meta(ge=0)]
_Ranks = _Rank | str | list[_Rank]


class _Chunk(msgspec.Struct, forbid_unknown_fields=True):
    origin: _Ranks = msgspec.field(name="from")
    wanted: _Ranks = msgspec.field(name="to")
    bytes: int | str
    count: Annotated[int, msgspec.Meta(ge=1)] = 1


class _File(msgspec.Struct, forbid_unknown_fields=True):
    ranks: Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
    chunks: Annotated[list[_Chunk], msgspec.Meta(min_length=1)]


def load_conditions(path: Path | str) -> Collective:
    """The custom collective of a file such as

        ranks: 4
        chunks:
          - {from: 0, to: "1-3", bytes: 1MiB, count: 8}
          - {from: all, to: 2, bytes: 64KiB}

    `from` and `to` are ranks of 0..ranks-1 (a number, a list, `0,2-4` or `all`); what several contribute is summed;
    `count` repeats a chunk. Raises FormatError naming file, line and key.
    """
    document = read_yaml(read_text(path, YAML), str(path))
    content = document.convert(_File)
    everyone = list(range(content.ranks))
    chunks: list[Chunk] = []
    for at, row in enumerate(content.chunks):
        if len(chunks) + row.count > _MOST_CHUNKS:
            raise FormatError(f"{document.where(f'$.chunks[{at}]')}: more than {_MOST_CHUNKS} chunks")
        try:
            origin, wanted = (
                everyone if ranks == "all" else parse_spans(ranks) if isinstance(ranks, str) else ranks
                for ranks in (row.origin, row.wanted)
            )
            chunk = Chunk(
                [origin] if isinstance(origin, int) else origin,
                [wanted] if isinstance(wanted, int) else wanted,
                parse_bytes(str(row.bytes)),
            )
            Conditions.of(content.ranks, [chunk])
        except (FormatError, ScheduleError) as error:
            raise FormatError(f"{document.where(f'$.chunks[{at}]')}: {error}") from error
        chunks += [chunk] * row.count
    return Collective.custom(content.ranks, Conditions.of(content.ranks, chunks))
