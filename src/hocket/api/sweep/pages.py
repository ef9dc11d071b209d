"""The page of a sweep, and figures of its columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hocket.api.sweep.jobs.result import JobSweepResult
from hocket.api.sweep.plots import usual_plots
from hocket.api.sweep.result import SweepResult
from hocket.report.column_plots import Plot, figures
from hocket.report.page import Block, Cards, Details, Section, Table, Text, render
from hocket.report.sweep_page import sweep_page
from hocket.simulator.analysis import Columns

__all__ = ["page_of", "plot_sections"]

_MOST_ROWS = 500


def page_of(result: SweepResult, plots: Sequence[Plot], formulas: Sequence[str]) -> str:
    """The page as HTML text: the plots, and of jobs all that is known of them; of collectives the usual plots where
    none are asked for, and what cannot be simulated."""
    if isinstance(result, JobSweepResult):
        return sweep_page(result.jobs, plot_sections(plots, result.results))
    columns = result.results
    errors = [*columns["error"].tolist()]
    done = sum(not error for error in errors)
    sections = [Section("Summary", [Cards([("Points", f"{len(errors):,}", f"{done:,} simulated")])])]
    sections += plot_sections(plots or usual_plots(columns, formulas), columns)
    if done < len(errors):
        sections.append(Section("Not simulated", [*_not_simulated(columns)]))
    topologies = dict.fromkeys(columns["topology"].tolist())
    shown = ", ".join([*topologies][:6]) + (f" and {len(topologies) - 6} more" if len(topologies) > 6 else "")
    return render("A sweep over collectives", shown, sections)


def plot_sections(plots: Sequence[Plot], columns: Columns) -> list[Section]:
    """A section a plot."""
    return [Section(plot.title or _title(plot), [*figures(plot, columns)]) for plot in plots]


def _title(plot: Plot) -> str:
    if plot.kind == "heat":
        return f"{plot.value} over {plot.x} and {plot.y}"
    return f"{plot.y} against {plot.x}" if plot.kind == "pareto" else f"{plot.y} over {plot.x}"


def _not_simulated(columns: Columns) -> Iterator[Block]:
    reasons: dict[str, list[int]] = {}
    for at, error in enumerate(columns["error"].tolist()):
        if error:
            reasons.setdefault(error, []).append(at)
    names = ("topology", "collective", "size_bytes", "algorithm")
    for reason, places in [*reasons.items()][:_MOST_ROWS]:
        rows = [[str(columns[name][at]) for name in names] for at in places[:_MOST_ROWS]]
        yield Details(f"{len(places):,} point{'s' * (len(places) != 1)}: {reason}", [Table([*names], rows)])
    if len(reasons) > _MOST_ROWS:
        yield Text(f"{len(reasons) - _MOST_ROWS:,} more reasons are in results.csv.")
