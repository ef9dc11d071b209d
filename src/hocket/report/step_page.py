"""The page of a job's step: where its time goes, by rank and stage, and what would shorten it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_bytes, format_time
from hocket.report.figures import blank_figure
from hocket.report.page import Block, Cards, Figure, Section, Table, Text, render
from hocket.report.part_colors import part_colors
from hocket.simulator.analysis import StepShares, StepSummary

__all__ = ["step_page"]

_MOST_BARS = 48


def step_page(step: StepSummary) -> str:
    """The page as HTML text."""
    sections = [
        Section("In numbers", [Cards([*_cards(step)])]),
        Section("Where the time goes", [*_division(step)]),
        Section("Parallel dimensions", [*_dimensions(step)]),
        Section("Whose collectives", [_contenders(step)]),
    ]
    if step.what_ifs or step.not_tried:
        sections.append(Section("What would shorten it", [*_what_ifs(step)]))
    remarks = [*step.facts.notes, *step.prediction.assumed, *step.prediction.notes, *step.prediction.warnings]
    if remarks:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in remarks]))
    prediction = step.prediction
    ranks = prediction.workload.job_ranks
    left = prediction.workload.num_ranks
    alike = f" ({left} simulated for all: the others do as they do)" if left < ranks else ""
    return render("A training step", f"{ranks} ranks{alike} on {prediction.topology.name}", sections)


def _cards(step: StepSummary) -> Iterator[tuple[str, str, str]]:
    facts, time_ps = step.facts, step.prediction.time_ps
    yield "Step", format_time(step.step_ps), f"{step.prediction.ratio:.3f} times the bound"
    if (rate := facts.tokens_per_second(time_ps)) is not None:
        yield "Tokens/s", f"{rate:,.0f}", f"{rate / max(facts.num_ranks, 1):,.1f} an accelerator"
    if (used := facts.utilisation(time_ps)) is not None:
        yield "MFU", f"{used:.1%}", f"of {facts.accelerator}'s peak"
    if facts.memory_bytes:
        of = f"of {format_bytes(facts.capacity_bytes)}, " if facts.capacity_bytes else ""
        most = max(facts.memory_bytes)
        fits = " (THAT DOES NOT FIT)" if 0 < facts.capacity_bytes < most else ""
        yield "Memory", format_bytes(most), f"{of}{facts.stages[facts.memory_bytes.index(most)]}, the fullest{fits}"
    if facts.idle_ranks:
        ranks = step.prediction.topology.num_ranks
        yield "Idle", f"{facts.idle_ranks:,}", f"of {ranks:,} accelerators have no rank of the job"
    if step.best_changes:
        best = step.best_changes[0]
        yield "Best change", f"-{best.gain:.1%}", best.name


def _division(step: StepSummary) -> Iterator[Block]:
    shares = step.shares
    whole = max(shares.time_ps, 1)
    rows = [
        [part.name, format_time(mean / step.facts.counted_steps), f"{mean / whole:.1%}"]
        for part, mean in zip(shares.parts, shares.means_ps.tolist(), strict=True)
    ]
    yield Table(["mean over the ranks", "a step", "share"], [*rows, ["whole", format_time(step.step_ps), "100.0%"]])
    alike, counts = _alike(shares)
    yield Figure(
        _bars(shares, alike, counts),
        "How each rank's time divides; ranks that do alike are one bar. Of what goes on at one time the first part"
        " counts, so that they add up. Bubble: waiting for another pipeline stage; skew: for any other rank.",
    )


def _alike(shares: StepShares) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first of the ranks that do alike to a thousandth of the step, ascending, and how many each stands for; of
    more than fit those that stand for the most."""
    rounded = np.rint(shares.times_ps * 1000 / max(shares.time_ps, 1)).astype(np.int64)
    _, first, counts = np.unique(rounded, axis=1, return_index=True, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:_MOST_BARS]
    order = most[np.argsort(first[most])]
    return first[order], counts[order]


def _bars(shares: StepShares, ranks: NDArray[np.int64], counts: NDArray[np.int64]) -> Any:
    figure = blank_figure(150 + 20 * len(ranks), barmode="stack", bargap=0.25)
    figure.update_layout(legend={"traceorder": "normal"})
    names = [
        f"rank {rank}" + (f" and {count - 1} more" if count > 1 else "")
        for rank, count in zip(ranks.tolist(), counts.tolist(), strict=True)
    ]
    colors = part_colors(shares.parts)
    for part, times in zip(shares.parts, shares.times_ps, strict=True):
        figure.add_bar(
            orientation="h",
            name=part.name,
            y=names,
            x=(times[ranks] / 1e9).tolist(),
            marker={"color": colors[part]},
            hovertext=[format_time(each) for each in times[ranks].tolist()],
            hoverinfo="name+y+text",
        )
    figure.update_xaxes(title="milliseconds", rangemode="tozero", showgrid=True)
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def _dimensions(step: StepSummary) -> Iterator[Block]:
    overlap, ranks = step.shares.overlap, step.prediction.workload.job_ranks * step.facts.counted_steps
    columns = (overlap[name].tolist() for name in ("dimension", "communication_ps", "exposed_ps"))
    rows = [
        [
            name,
            format_time(total / ranks),
            f"{1 - exposed / max(total, 1):.1%}",
            format_time(exposed / ranks),
        ]
        for name, total, exposed in zip(*columns, strict=True)
    ]
    yield Table(["dimension", "communication", "overlapped", "not overlapped"], rows)
    yield Text(
        "Means of a rank and step. Overlapped: while the rank computes. Where two dimensions communicate at one time,"
        " both count here; above the first of them does."
    )


def _contenders(step: StepSummary) -> Table:
    first, steps = max(step.contenders[0][1], 1), step.facts.counted_steps
    rows = [[name, format_time(time / steps), f"{time / first:.3f}"] for name, time in step.contenders]
    return Table(["collectives by", "a step", "times the first"], rows)


def _what_ifs(step: StepSummary) -> Iterator[Block]:
    rows = [
        [each.label, format_time(each.to_ps / step.facts.counted_steps), f"{-each.gain:+.1%}"]
        for each in step.what_ifs
        if each.matters
    ]
    if rows:
        yield Table(["what if", "a step", "change"], rows)
    if step.gain_nothing:
        yield Text(f"No gain: {'; '.join(step.gain_nothing)}.")
    if step.what_ifs:
        yield Text("One thing is changed at a time, and the whole job simulated again.")
    if step.not_tried:
        yield Table(["not tried", "why"], step.not_tried)
