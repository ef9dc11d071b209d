"""The page of a job's step: where its time goes, by rank and stage, and what would shorten it."""

from collections.abc import Iterator

from hocket.base.units import format_bytes, format_time
from hocket.report.charts import Bar, BarPart, Chart, bar_chart, time_axis
from hocket.report.collective_blocks import collective_blocks
from hocket.report.link_blocks import link_blocks
from hocket.report.node_names import NodeNames
from hocket.report.page import Advice, Block, Cards, Figure, Page, Section, Table, Text
from hocket.report.part_colors import part_colors
from hocket.report.rank_timeline import timeline_blocks
from hocket.report.step_facts import StepFacts, StoredStep
from hocket.simulator.analysis import Activity, PredictionFacts, StoredFacts, best_changes, gain_nothing

__all__ = ["step_content", "stored_step_content"]

_NOTABLE = 0.1  # a share of the step
_CAUSES = {
    Activity.HOST: "The accelerators wait for what only the host does.",
    Activity.MEMORY: "Nodes that load and store, with no computation meanwhile.",
    Activity.COMMUNICATION: "It goes on while no computation hides it.",
    Activity.BUBBLE: "Ranks wait for other pipeline stages: more micro-batches or another schedule make it smaller.",
    Activity.SKEW: "Ranks wait in collectives for slower ones.",
    Activity.IDLE: "Ranks neither compute nor communicate.",
}


def stored_step_content(stored: StoredStep) -> Page:
    """The page of the JSON. Raises ValueError or HocketError where its parts do not fit each other."""
    return step_content(stored, StoredFacts(stored.prediction))


def step_content(step: StepFacts, facts: PredictionFacts) -> Page:
    """What is on the page; `facts` are those of its prediction."""
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
    if remarks := [*step.assumed, *step.notes]:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in remarks]))
    left = step.simulated_ranks
    folded = f" ({left} simulated, the others behave identically)" if left < step.ranks else ""
    return Page("A training step", f"{step.ranks} ranks{folded} on {step.topology}", sections)


def _communication(facts: PredictionFacts) -> Iterator[Section]:
    """The collectives one sort a row, and the links where anything went over them."""
    if facts.collectives:
        yield Section("Collectives", [*collective_blocks(facts)])
    if facts.link_messages.any():
        yield Section("Topology and links", [*link_blocks(facts, NodeNames(facts.topology))])


def _advice(step: StepFacts) -> Iterator[Advice]:
    """The largest parts that are not computation, and the changes that were found to shorten the step the most."""
    lost = [row for row in step.parts if row.activity is not Activity.COMPUTATION]
    most = max(lost, key=lambda row: row.mean_ps, default=None)
    if most is None or most.share < _NOTABLE:
        what, why = "Computation takes nearly all of the step", "No other part takes a tenth of it."
    else:
        name = most.part.name
        what = f"{name[:1].upper()}{name[1:]} takes {most.share:.0%} of the step"
        why = f"{format_time(most.mean_ps / step.counted_steps)} per step, mean over the ranks."
        why += f" {_CAUSES[most.activity]}"
    found = best_changes(step.changes)
    changes = "; ".join(f"{each.name} ({each.gain:.1%} less)" for each in found)
    remedy = f"{changes}." if found else "No change that was tried shortens the step."
    yield Advice(what, why, remedy)


def _cards(step: StepFacts) -> Iterator[tuple[str, str, str]]:
    yield "Step", format_time(step.step_ps), f"{step.ratio:.3f} times the bound"
    if (rate := step.tokens_per_second) is not None:
        yield "Tokens/s", f"{rate:,.0f}", f"{rate / max(step.working_ranks, 1):,.1f} per accelerator"
    if (used := step.model_flops_utilisation) is not None:
        yield "MFU", f"{used:.1%}", f"of {step.accelerator}'s peak"
    if step.memory_bytes:
        of = f"of {format_bytes(step.capacity_bytes)}, " if step.capacity_bytes else ""
        most = max(step.memory_bytes)
        fits = " (THAT DOES NOT FIT)" if 0 < step.capacity_bytes < most else ""
        yield "Memory", format_bytes(most), f"{of}{step.stages[step.memory_bytes.index(most)]}, the fullest{fits}"
    if step.idle_ranks:
        yield "Idle", f"{step.idle_ranks:,}", f"of {step.accelerators:,} accelerators have no rank of the job"
    for best in best_changes(step.changes)[:1]:
        yield "Best change", f"-{best.gain:.1%}", best.name


def _division(step: StepFacts) -> Iterator[Block]:
    rows = [[row.part.name, format_time(row.mean_ps / step.counted_steps), f"{row.share:.1%}"] for row in step.parts]
    yield Table(["mean over the ranks", "per step", "share"], [*rows, ["whole", format_time(step.step_ps), "100.0%"]])
    yield Figure(
        _bars(step),
        "How each rank's time divides; ranks that do alike, or that follow each other where they are many, are one bar."
        " Of what goes on at one time the first part counts, so that they add up. Bubble: waiting for another pipeline"
        " stage; skew: for any other rank.",
    )


def _bars(step: StepFacts) -> Chart:
    parts = [row.part for row in step.parts]
    bars = []
    for group in step.rank_groups:
        shown = [
            BarPart(part.name, mean, f"{group.name}: {part.name} {format_time(mean)}")
            for part, mean in zip(parts, group.parts_ps, strict=True)
        ]
        bars.append(Bar(group.name, shown))
    named = {part.name: color for part, color in part_colors(parts).items()}
    return bar_chart(bars, time_axis(step.time_ps), named, "how ranks divide their time")


def _dimensions(step: StepFacts) -> Iterator[Block]:
    ranks = step.ranks * step.counted_steps
    rows = [
        [
            each.dimension,
            format_time(each.communication_ps / ranks),
            f"{1 - each.exposed_ps / max(each.communication_ps, 1):.1%}",
            format_time(each.exposed_ps / ranks),
        ]
        for each in step.dimensions
    ]
    yield Table(["dimension", "communication", "overlapped", "not overlapped"], rows)
    yield Text(
        "Means of a rank and step. Overlapped: while the rank computes. Where two dimensions communicate at one time,"
        " both count here; above the first of them does."
    )


def _contenders(step: StepFacts) -> Table:
    first = max(step.contenders[0].time_ps, 1)
    rows = [
        [each.name, format_time(each.time_ps / step.counted_steps), f"{each.time_ps / first:.3f}"]
        for each in step.contenders
    ]
    return Table(["collectives by", "per step", "times the first"], rows)


def _what_ifs(step: StepFacts) -> Iterator[Block]:
    rows = [
        [each.label, format_time(each.to_ps / step.counted_steps), f"{-each.gain:+.1%}"]
        for each in step.changes
        if each.matters
    ]
    if rows:
        yield Table(["what if", "per step", "change"], rows)
    if useless := gain_nothing(step.changes):
        yield Text(f"No gain: {'; '.join(useless)}.")
    if step.what_ifs:
        yield Text("One thing is changed at a time, and the whole job simulated again.")
    if step.not_tried:
        yield Table(["not tried", "why"], [[each.name, each.why] for each in step.not_tried])
