"""A step report as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.simulator.analysis import StepSummary

__all__ = ["fact_rows", "step_lines"]


def step_lines(step: StepSummary) -> Iterator[str]:
    """All of the report."""
    prediction = step.prediction
    yield from (f"assumed: {sentence}" for sentence in prediction.assumed)
    yield f"{prediction.topology.name}: {prediction.workload.num_ranks} ranks, {step.facts.steps or 'no'} step(s)"
    yield from (f"  {name:<12} {value}" for name, value in fact_rows(step))
    yield ""
    yield from _division(step)
    if len(step.shares.overlap["dimension"]):
        yield ""
        yield from _dimensions(step)
    yield ""
    first = max(step.contenders[0][1], 1)
    rows = [(name, format_time(time), f"{time / first:.3f}x") for name, time in step.contenders]
    yield from text_table(("collectives by", "whole job", "vs first"), rows)
    if step.what_ifs:
        yield ""
        yield from _what_ifs(step)
    yield from (f"  note: {note}" for note in prediction.notes)


def fact_rows(step: StepSummary) -> Iterator[tuple[str, str]]:
    """Names and values of what is known of the whole step."""
    facts, time_ps = step.facts, step.prediction.time_ps
    yield "step", f"{format_time(step.step_ps)} ({step.prediction.ratio:.3f} times the bound)"
    if (rate := facts.tokens_per_second(time_ps)) is not None:
        yield "tokens/s", f"{rate:,.0f}, {rate / facts.num_ranks:,.1f} an accelerator"
    if (used := facts.utilisation(time_ps)) is not None:
        yield "MFU", f"{used:.1%} of {facts.accelerator}'s peak"
    if facts.memory_bytes:
        most = max(facts.memory_bytes)
        of = f" of {format_bytes(facts.capacity_bytes)}" if facts.capacity_bytes else ""
        fits = "" if not 0 < facts.capacity_bytes < most else ": THAT DOES NOT FIT"
        yield (
            "memory",
            f"{format_bytes(most)}{of} on a rank of stage {facts.memory_bytes.index(most)}, the fullest{fits}",
        )
    yield "imbalance", f"{step.shares.imbalance:.1%}: the longest computation of a rank over the mean"


def _division(step: StepSummary) -> Iterator[str]:
    """A row a part, mean over the ranks; together they are the step."""
    shares, steps = step.shares, step.facts.steps
    whole = max(shares.time_ps, 1)
    rows = [
        (
            part.name,
            format_time(mean / steps),
            f"{mean / whole:.1%}",
            format_time(least / steps),
            format_time(most / steps),
        )
        for part, mean, least, most in zip(
            shares.parts,
            shares.means_ps.tolist(),
            shares.times_ps.min(axis=1).tolist(),
            shares.times_ps.max(axis=1).tolist(),
            strict=True,
        )
    ]
    rows.append(("whole", format_time(step.step_ps), "100.0%", "", ""))
    yield from text_table(("a step of a rank", "mean", "share", "least", "most"), rows)


def _dimensions(step: StepSummary) -> Iterator[str]:
    overlap, ranks = step.shares.overlap, step.prediction.workload.num_ranks * step.facts.steps
    rows = [
        (
            name,
            format_time(total / ranks),
            f"{1 - exposed / max(total, 1):.1%}",
            format_time(exposed / ranks),
        )
        for name, total, exposed in zip(
            overlap["dimension"].tolist(),
            overlap["communication_ps"].tolist(),
            overlap["exposed_ps"].tolist(),
            strict=True,
        )
    ]
    yield from text_table(("dimension", "communication", "overlapped", "not overlapped"), rows)


def _what_ifs(step: StepSummary) -> Iterator[str]:
    yield "what would shorten it the most:" if step.best_changes else "nothing that was tried shortens it"
    for number, each in enumerate(step.best_changes, start=1):
        yield f"  {number}. {each.name}: -{each.gain:.1%}"
    rows = [
        (each.name, each.of, format_time(each.from_ps), format_time(each.to_ps), f"{-each.gain:+.1%}")
        for each in step.what_ifs
    ]
    yield from text_table(("what if", "collectives by", "from", "to", ""), rows, align="<<")
    yield from (f"  not tried: {name}: {why}" for name, why in step.not_tried)
