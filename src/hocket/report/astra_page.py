"""The page of what ASTRA-sim would say of a workload: when its ranks finish, and by which of its rules."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Annotated

import msgspec

from hocket.base.units import format_time
from hocket.report.page import Block, Cards, Page, Section, Table, Text

__all__ = ["AstraFacts", "astra_content"]

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_Cycles = Annotated[int, msgspec.Meta(ge=0)]
_PS_PER_CYCLE = 1000
_MOST_ROWS = 500
_ABOUT = "One cycle of ASTRA-sim is 1 ns. Ranks beside each other that are alike are one row."
_WRAPPED = "Exposed communication is finish less computation, modulo 2^64 as in ASTRA-sim: such a value was below zero."


class AstraFacts(msgspec.Struct, frozen=True):
    """Cycles of every rank: the JSON of `--compat astra-sim`."""

    model: str
    time_ns: _Count
    finish_ns: Annotated[dict[str, _Count], msgspec.Meta(min_length=1)]
    exposed_ns: dict[str, _Cycles]
    messages: _Count
    notes: list[str]


def astra_content(found: AstraFacts) -> Page:
    """What is on the page. Raises LookupError where a rank lacks its exposed communication."""
    rows = [*_rows(found.finish_ns, found.exposed_ns)]
    shown: list[Block] = [Table(["ranks", "finish", "exposed communication"], rows[:_MOST_ROWS]), Text(_ABOUT)]
    if len(rows) > _MOST_ROWS:
        shown.append(Text(f"{len(rows) - _MOST_ROWS:,} more rows are in the JSON."))
    if any(cycles >= 2**63 for cycles in found.exposed_ns.values()):
        shown.append(Text(_WRAPPED))
    sections = [Section("Summary", [Cards([*_cards(found)])]), Section("Ranks", shown)]
    if found.notes:
        sections.append(Section("Assumed, and notes", [Text(note) for note in found.notes]))
    return Page("ASTRA-sim's result", f"{len(found.finish_ns):,} ranks, model {found.model}", sections)


def _cards(found: AstraFacts) -> Iterator[tuple[str, str, str]]:
    last = max(found.finish_ns, key=lambda rank: found.finish_ns[rank])
    yield "Finish", _time(found.time_ns), f"{found.time_ns:,} cycles; rank {last} is last"
    yield "Exposed communication", _time(found.exposed_ns[last]), f"on rank {last}"
    yield "Messages", f"{found.messages:,}", "of all ranks"


def _rows(finish: Mapping[str, int], exposed: Mapping[str, int]) -> Iterator[list[str]]:
    """Of ranks beside each other with the same times a row."""
    for (finish_ns, exposed_ns), alike in groupby(finish, key=lambda rank: (finish[rank], exposed[rank])):
        ranks = [*alike]
        name = ranks[0] if len(ranks) == 1 else f"{ranks[0]} to {ranks[-1]}"
        yield [name, f"{finish_ns:,} ns", f"{exposed_ns:,} ns"]


def _time(cycles: int) -> str:
    """As people read it; what ASTRA-sim wrapped stays as it says it."""
    return format_time(cycles * _PS_PER_CYCLE) if cycles < 2**62 // _PS_PER_CYCLE else f"{cycles:,} cycles"
