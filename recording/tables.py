"""A collection's summary as tables for people."""

from collections.abc import Iterable, Sequence

from hocket.base.rank_names import name_ranks
from hocket.base.text import printable
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.recording.kinds import KindRow
from hocket.recording.summary import DroppedRow, GroupRow, RankRow, RecordingSummary

__all__ = ["render"]

_LONGEST_SCRIPT = 60


def render(summary: RecordingSummary) -> str:
    """The text of summary.txt."""
    lines = [
        f"job: {printable(summary.job)}, of {_begin(summary.script)}",
        f"{summary.world} ranks, {summary.steps} training steps recorded",
        f"hook: {'; '.join(summary.hooks)}",
        f"clocks: {summary.clock}; worst residual {_time(summary.clock_residual_ns)}",
        "",
        *_table("group|name|members", map(_group_cells, summary.groups)),
        *_table("operation|group|count|min size|total size|transfer|skew", map(_kind_cells, summary.kinds)),
        *_table("rank|operations|elapsed|compute|communication|exposed|last|delay", map(_rank_cells, summary.ranks)),
    ]
    if summary.nccl:
        rows = [(row.rank, row.calls, row.found, row.timed, row.strange) for row in summary.nccl]
        lines += _table("rank|calls of NCCL|found in its profile|timed|records of no call", rows)
    if summary.dropped:
        lines.append(_dropped(summary.dropped))
    unwaited = [row.text() for row in summary.unwaited]
    return "\n".join([*lines, *summary.stragglers.text(), *unwaited, *summary.unseen_text(), *summary.problems(), ""])


def _begin(script: str) -> str:
    """What tells a script from others in one line: a program may stand on the launch line itself."""
    line = script.partition("\n")[0][:_LONGEST_SCRIPT]
    return printable(line) + " ..." * (len(line) < len(script))


def _dropped(rows: Sequence[DroppedRow]) -> str:
    """What the caps of the streams took, and what ranks that have it lose with it."""
    by_cap, uncommon = [row.by_cap for row in rows], [row.uncommon for row in rows]
    text = f"dropped: of {name_ranks([row.rank for row in rows])} the first {_span(by_cap)} calls by the cap"
    return text + (f", {_span(uncommon)} more because not all ranks have them" if any(uncommon) else "")


def _span(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _group_cells(row: GroupRow) -> tuple[object, ...]:
    name = row.name if row.description in ("", "undefined") else row.description
    consecutive = len(row.ranks) > 2 and row.ranks == tuple(range(row.ranks[0], row.ranks[-1] + 1))
    members = f"{row.ranks[0]}-{row.ranks[-1]}" if consecutive else ",".join(map(str, row.ranks))
    return row.number, name, members


def _kind_cells(row: KindRow) -> tuple[object, ...]:
    sizes = format_bytes(row.bytes_min), format_bytes(row.bytes_total)
    return row.kind, row.group, row.count, *sizes, _time(row.transfer_ns), _time(row.skew_ns)


def _rank_cells(row: RankRow) -> tuple[object, ...]:
    times = map(_time, (row.elapsed_ns, row.compute_ns, row.communication_ns, row.exposed_ns))
    return row.rank, row.operations, *times, row.last, _time(row.delay_ns)


def _time(nanoseconds: int) -> str:
    return "0" if nanoseconds == 0 else format_time(nanoseconds * 1000)


def _table(columns: str, rows: Iterable[tuple[object, ...]]) -> list[str]:
    return [*text_table(columns.split("|"), list(rows), gap=3), ""]
