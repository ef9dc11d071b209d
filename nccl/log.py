"""NCCL's own log (NCCL_DEBUG=INFO): what it chose for each collective, from which table, under which variables.

The formats are those of NCCL 2.20 to 2.30 (src/enqueue.cc, src/graph/tuning.cc): rank 0 of each communicator prints a
line a collective and, at its start, the latency and bandwidth of every algorithm with every protocol.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PROTOCOLS, algorithm_named, protocol_named

__all__ = ["Logged", "NcclLog", "TableEntry", "read_nccl_log", "read_setting", "read_tuning"]

_MESSAGE = re.compile(r"NCCL INFO (.*)")
_VERSION = re.compile(r"NCCL version (\S+)")
# 2.24 and later; before, 2.23 with the collective and 2.20 to 2.22 without.
_CHOSEN = re.compile(r"(\w+): +(\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}")
_NUMBERED = re.compile(r"(?:(\w+): )?(\d+) Bytes -> Algo (\d) proto (\d) time ([\d.]+)")
_APART = re.compile(r"(\w+) \[[\w ]+\]: +\d+ Bytes -> ")
_SET = re.compile(r"(NCCL_\w+) set by environment to (\S.*)")
_RANKS = re.compile(r"comm 0x[0-9a-f]+ rank \d+ n[rR]anks (\d+)(?: nNodes (\d+))?")
_CELL = re.compile(r"\s*([\d.]+)/\s*([\d.]+)\s*")
_OF_BLOCK = ("AllGather", "ReduceScatter")  # of which 2.24 and later print the size of one rank's block


@dataclass(frozen=True, slots=True)
class Logged:
    """A collective that was enqueued. `size_bytes` is as NCCL printed it: where `of_block`, of one rank's block.

    `collective` is None where NCCL does not say it (2.20 to 2.22); `channels` is how many carry it, None before 2.24;
    `time_us` what the model expected, None from 2.24 on.
    """

    collective: str | None
    size_bytes: int
    of_block: bool
    algorithm: str
    protocol: str
    channels: int | None
    time_us: float | None

    def total_bytes(self, ranks: int) -> int:
        """As NCCL's model and nccl-tests count it: of all_gather and reduce_scatter the whole buffer."""
        return self.size_bytes * (ranks if self.of_block else 1)


@dataclass(frozen=True, slots=True)
class TableEntry:
    """Of NCCL's table: `latency_us`, and `bandwidth` in GB/s, which is 0 for what may not be chosen."""

    collective: str
    algorithm: str
    protocol: str
    latency_us: float
    bandwidth: float


@dataclass(frozen=True)
class NcclLog:
    """What a log tells; `source` names it.

    `choices` are in the log's order; `apart` counts collectives that symmetric kernels or copy engines did, which no
    algorithm of the table describes; `communicators` holds each (ranks, nodes) that was set up, nodes None where it is
    not said; `settings` are the variables that NCCL says it read; `tables` are the different ones that were printed.
    """

    source: str
    version: str | None
    choices: tuple[Logged, ...]
    apart: int
    communicators: frozenset[tuple[int, int | None]]
    settings: dict[str, str]
    tables: tuple[tuple[TableEntry, ...], ...]


def read_tuning(message: str, place: str) -> Logged | None:
    """The choice that a line of the log reports, wherever in the line it stands; None for other lines.

    Raises FormatError, naming `place`, for names that are not NCCL's.
    """
    if chosen := _CHOSEN.search(message):
        collective = _collective(chosen[1], place)
        low, high = _whole(chosen[5], place), _whole(chosen[6], place)
        if not low <= high < 64:
            raise FormatError(f"{place}: channels {low} to {high} of NCCL's 64: the line is damaged")
        algorithm, protocol = algorithm_named(chosen[3], place), protocol_named(chosen[4], place)
        of_block = collective in _OF_BLOCK
        return Logged(collective, _whole(chosen[2], place), of_block, algorithm, protocol, high - low + 1, None)
    if numbered := _NUMBERED.search(message):
        at, of = int(numbered[3]), int(numbered[4])
        if at >= len(ALGORITHMS) or of >= len(PROTOCOLS):
            raise FormatError(f"{place}: no algorithm {at} with protocol {of} in NCCL: the line is damaged")
        collective_or_none = _collective(numbered[1], place) if numbered[1] else None
        size, time = _whole(numbered[2], place), _decimal(numbered[5], place)
        return Logged(collective_or_none, size, False, ALGORITHMS[at], PROTOCOLS[of], None, time)
    return None


def read_setting(message: str) -> tuple[str, str] | None:
    """Name and value of the variable that a line of the log says NCCL read."""
    found = _SET.search(message)
    return (found[1], found[2].strip().removesuffix(".")) if found else None


def read_nccl_log(path: Path | str) -> NcclLog:
    """The log in a file: rank 0's alone, or all ranks' as a launcher mixes them; other programs' lines are passed over.

    Raises FormatError, naming file and line, when it holds no choice of NCCL's, or a line of it is damaged.
    """
    source, lines = str(path), read_text(path).splitlines()
    messages = [(f"{source}:{at}", found[1]) for at, line in enumerate(lines, 1) if (found := _MESSAGE.search(line))]
    choices = tuple(logged for place, text in messages if (logged := read_tuning(text, place)))
    apart = sum(_APART.match(text) is not None for _, text in messages)
    if not choices:
        others = f" (but {apart} collectives of symmetric kernels or copy engines)" if apart else ""
        raise FormatError(
            f"{source}: no choice of NCCL's{others}: run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING and"
            " NCCL 2.20 or later, and take rank 0's log"
        )
    versions = (found[1] for line in lines if (found := _VERSION.search(line)))
    ranks = ((place, found) for place, text in messages if (found := _RANKS.search(text)))
    told = {(_whole(found[1], place), _whole(found[2], place) if found[2] else None) for place, found in ranks}
    with_nodes = {known for known, nodes in told if nodes is not None}
    return NcclLog(
        source,
        next(versions, None),
        choices,
        apart,
        frozenset(pair for pair in told if pair[1] is not None or pair[0] not in with_nodes),
        dict(setting for _, text in messages if (setting := read_setting(text))),
        tuple(dict.fromkeys(_tables(messages))),
    )


def _tables(messages: list[tuple[str, str]]) -> Iterator[tuple[TableEntry, ...]]:
    """The tables that were printed: blocks of three algorithms side by side, a row per collective."""
    entries: list[TableEntry] = []
    columns: list[str] = []
    for place, text in messages:
        name, *cells = (cell.strip() for cell in text.split("|"))
        if name == "Algorithm":
            columns = [algorithm_named(cell, place) for cell in cells if cell]
            if columns[:1] == [ALGORITHMS[0]] and entries:
                yield tuple(entries)
                entries = []
        elif columns and name in COLLECTIVES:
            numbers = [_CELL.fullmatch(cell) for cell in cells if cell]
            if len(numbers) != len(columns) * len(PROTOCOLS) or None in numbers:
                raise FormatError(f"{place}: {len(numbers)} cells of latency/bandwidth: the line is cut off or damaged")
            of = [(algorithm, protocol) for algorithm in columns for protocol in PROTOCOLS]
            for (algorithm, protocol), cell in zip(of, numbers, strict=True):
                if cell is not None:
                    entries.append(
                        TableEntry(name, algorithm, protocol, _decimal(cell[1], place), _decimal(cell[2], place))
                    )
    if entries:
        yield tuple(entries)


def _collective(name: str, place: str) -> str:
    if name not in COLLECTIVES:
        raise FormatError(f"{place}: '{name}': expected one of {', '.join(COLLECTIVES)}: the line is damaged")
    return name


def _whole(digits: str, place: str) -> int:
    if len(digits) > 18:
        raise FormatError(f"{place}: a number of {len(digits)} digits: the line is damaged")
    return int(digits)


def _decimal(text: str, place: str) -> float:
    if text.count(".") > 1 or text == ".":
        raise FormatError(f"{place}: '{text}' is no number: the line is damaged")
    return float(text)
