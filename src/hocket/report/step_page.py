"""The page of a job's step: where its time goes, by rank and stage, and what would shorten it."""

from collections.abc import Iterator

import numpy as np

from hocket.base.units import format_bytes, format_time
from hocket.report.charts import Bar, BarPart, Chart, bar_chart, time_axis
from hocket.report.collective_blocks import collective_blocks
from hocket.report.link_blocks import link_blocks
from hocket.report.node_names import NodeNames
from hocket.report.page import Advice, Block, Cards, Figure, Section, Table, Text, render
from hocket.report.part_colors import part_colors
from hocket.report.rank_timeline import timeline_blocks
from hocket.simulator.analysis import Activity, PredictionFacts, SimulatedFacts, StepShares, StepSummary, alike

__all__ = ["step_page"]

_MOST_BARS = 32
_NOTABLE = 0.1  # a share of the step
_BEST = 3
_CAUSES = {
    Activity.HOST: "The accelerators wait for what only the host does.",
    Activity.MEMORY: "Nodes that load and store, with no computation meanwhile.",
    Activity.COMMUNICATION: "It goes on while no computation hides it.",
    Activity.BUBBLE: "Ranks wait for other pipeline stages: more micro-batches or another schedule make it smaller.",
    Activity.SKEW: "Ranks wait in collectives for slower ones.",
    Activity.IDLE: "Ranks neither compute nor communicate.",
}


def step_page(step: StepSummary) -> str:
    """The page as HTML text."""
    prediction = step.prediction
    facts = SimulatedFacts(prediction)
    sections = [
        Section("Summary", [Cards([*_cards(step)]), *_advice(step)]),
        Section("Where the time goes", [*_division(step)]),
        Section("Timeline", [*timeline_blocks(facts)]),
        Section("Parallel dimensions", [*_dimensions(step)]),
        Section("Whose collectives", [_contenders(step)]),
    ]
    if step.what_ifs or step.not_tried:
        sections.append(Section("What would shorten it", [*_what_ifs(step)]))
    sections += _communication(facts)
    remarks = [*step.facts.notes, *facts.remarks]
    if remarks:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in remarks]))
    ranks = prediction.workload.job_ranks
    left = prediction.workload.num_ranks
    folded = f" ({left} simulated, the others behave identically)" if left < ranks else ""
    return render("A training step", f"{ranks} ranks{folded} on {prediction.topology.name}", sections)


def _communication(facts: PredictionFacts) -> Iterator[Section]:
    """The collectives one sort a row, and the links where anything went over them."""
    if facts.collectives:
        yield Section("Collectives", [*collective_blocks(facts)])
    if facts.link_messages.any():
        yield Section("Topology and links", [*link_blocks(facts, NodeNames(facts.topology))])


def _advice(step: StepSummary) -> Iterator[Advice]:
    """The largest parts that are not computation, and the changes that were found to shorten the step the most."""
    shares, whole = step.shares, max(step.shares.time_ps, 1)
    lost = [
        (mean, part)
        for mean, part in zip(shares.means_ps.tolist(), shares.parts, strict=True)
        if part.activity is not Activity.COMPUTATION
    ]
    mean, part = max(lost, key=lambda each: each[0], default=(0.0, None))
    if part is None or mean < _NOTABLE * whole:
        what, why = "Computation takes nearly all of the step", "No other part takes a tenth of it."
    else:
        what = f"{part.name[:1].upper()}{part.name[1:]} takes {mean / whole:.0%} of the step"
        why = f"{format_time(mean / step.facts.counted_steps)} per step, mean over the ranks. {_CAUSES[part.activity]}"
    found = step.best_changes[:_BEST]
    changes = "; ".join(f"{each.name} ({each.gain:.1%} less)" for each in found)
    remedy = f"{changes}." if found else "No change that was tried shortens the step."
    yield Advice(what, why, remedy)


def _cards(step: StepSummary) -> Iterator[tuple[str, str, str]]:
    facts, time_ps = step.facts, step.prediction.time_ps
    yield "Step", format_time(step.step_ps), f"{step.prediction.ratio:.3f} times the bound"
    if (rate := facts.tokens_per_second(time_ps)) is not None:
        yield "Tokens/s", f"{rate:,.0f}", f"{rate / max(facts.num_ranks, 1):,.1f} per accelerator"
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
    yield Table(["mean over the ranks", "per step", "share"], [*rows, ["whole", format_time(step.step_ps), "100.0%"]])
    yield Figure(
        _bars(shares),
        "How each rank's time divides; ranks that do alike, or that follow each other where they are many, are one bar."
        " Of what goes on at one time the first part counts, so that they add up. Bubble: waiting for another pipeline"
        " stage; skew: for any other rank.",
    )


def _bars(shares: StepShares) -> Chart:
    colors = part_colors(shares.parts)
    rounded = np.rint(shares.times_ps * 1000 / max(shares.time_ps, 1)).astype(np.int64)
    bars = []
    for group in alike(rounded, _MOST_BARS):
        means = shares.times_ps[:, group.ranks].mean(axis=1).tolist()
        parts = [
            BarPart(part.name, mean, f"{group.name}: {part.name} {format_time(mean)}")
            for part, mean in zip(shares.parts, means, strict=True)
        ]
        bars.append(Bar(group.name, parts))
    named = {part.name: color for part, color in colors.items()}
    return bar_chart(bars, time_axis(shares.time_ps), named, "how ranks divide their time")


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
    return Table(["collectives by", "per step", "times the first"], rows)


def _what_ifs(step: StepSummary) -> Iterator[Block]:
    rows = [
        [each.label, format_time(each.to_ps / step.facts.counted_steps), f"{-each.gain:+.1%}"]
        for each in step.what_ifs
        if each.matters
    ]
    if rows:
        yield Table(["what if", "per step", "change"], rows)
    if step.gain_nothing:
        yield Text(f"No gain: {'; '.join(step.gain_nothing)}.")
    if step.what_ifs:
        yield Text("One thing is changed at a time, and the whole job simulated again.")
    if step.not_tried:
        yield Table(["not tried", "why"], step.not_tried)
