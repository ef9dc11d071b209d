"""The comparison as a table."""

from collections.abc import Sequence

from rich.table import Table

from hocket.bench.peers.case import UNKNOWN, Figures, Target
from hocket.bench.peers.run import Result

__all__ = ["table"]


def table(results: Sequence[Result]) -> Table:
    """One row a case. Seconds of the search, and of everything with bound and verification; peers' times that no causal
    execution was measured for are marked with a `?`."""
    columns = [
        "time us",
        "/ bound",
        "to reach",
        "met",
        "search s",
        "limit s",
        "whole s",
        "peak MiB",
        "engine",
        "peer us",
        "peer s",
    ]
    beside = any(result.beside for result in results)
    made = Table("case", *columns, *(["beside us", "beside s"] if beside else []), box=None)
    for result in results:
        outcome, target = result.outcome, result.case.target
        limit = f"{target.whole_seconds:g} whole" if target.whole_seconds else _number(target.seconds)
        if outcome.error:
            cells = ["", "", _to_reach(target), "not yet", "", limit, "", "", outcome.error[:60]]
        else:
            shortfalls = outcome.shortfalls(target)
            cells = [
                f"{outcome.time_ps / 10**6:.2f}",
                f"{outcome.ratio:.4f}",
                _to_reach(target),
                "no: " + ", ".join(shortfalls) if shortfalls else "yes",
                f"{outcome.seconds:.3g}",
                limit,
                f"{outcome.whole_seconds:.3g}",
                f"{outcome.peak_bytes / 2**20:.0f}",
                outcome.engine,
            ]
        cells += _figures(result.case.peer)
        made.add_row(result.case.name, *cells, *(_figures(result.beside or UNKNOWN) if beside else []))
    return made


def _to_reach(target: Target) -> str:
    parts = [f"{target.time_us:.2f}" if target.time_us is not None else ""]
    parts.append(f"{target.ratio:.2f} x bound" if target.ratio is not None else "")
    return ", ".join(part for part in parts if part)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _figures(figures: Figures) -> list[str]:
    time = "" if figures.time_us is None else f"{figures.time_us:.2f}{' ?' if figures.claimed else ''}"
    return [time, _number(figures.seconds)]
