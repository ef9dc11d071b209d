"""A step report as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap

from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.simulator.analysis import StepSummary, best_changes, gain_nothing

__all__ = ["head_lines", "rest_lines"]

_WIDTH = 118


def head_lines(step: StepSummary) -> Iterator[str]:
    """What the simulation of the job alone tells."""
    prediction, facts = step.prediction, step.facts
    yield from _wrapped(f"assumed: {sentence}" for sentence in prediction.assumed)
    steps = (
        f"{facts.steps} step{'s' * (facts.steps > 1)}"
        if facts.steps
        else "no steps marked on all ranks: the whole counts as one"
    )
    ranks, left = prediction.workload.job_ranks, prediction.workload.num_ranks
    alike = f" ({left} simulated, the others behave identically)" if left < ranks else ""
    yield f"{prediction.topology.name}: {ranks} ranks{alike}, {steps}"
    yield from (f"  {name:<12} {value}" for name, value in _fact_rows(step))
    yield ""
    yield from _division(step)
    if len(step.shares.overlap["dimension"]):
        yield ""
        yield from _dimensions(step)


def rest_lines(step: StepSummary) -> Iterator[str]:
    """What other simulations of it tell, and what is to be known of all."""
    steps = step.facts.counted_steps
    yield ""
    first = max(step.contenders[0][1], 1)
    rows = [(name, format_time(time / steps), f"{time / first:.3f}x") for name, time in step.contenders]
    yield from text_table(("collectives by", "per step", "vs first"), rows)
    if step.what_ifs:
        yield ""
        yield from _what_ifs(step)
    yield from _wrapped(f"  not tried: {name}: {why}" for name, why in step.not_tried)
    yield from _wrapped(f"  note: {note}" for note in (*step.facts.notes, *step.prediction.notes))


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines, those too long for a page as several."""
    for line in lines:
        yield from wrap(line, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _fact_rows(step: StepSummary) -> Iterator[tuple[str, str]]:
    """Names and values of what is known of the whole step."""
    facts, time_ps = step.facts, step.prediction.time_ps
    yield "step", f"{format_time(step.step_ps)} ({step.prediction.ratio:.3f} times the bound)"
    if (rate := facts.tokens_per_second(time_ps)) is not None:
        yield "tokens/s", f"{rate:,.0f}, {rate / max(facts.num_ranks, 1):,.1f} per accelerator"
    if (used := facts.utilisation(time_ps)) is not None:
        yield "MFU", f"{used:.1%} of {facts.accelerator}'s peak"
    if facts.memory_bytes:
        most = max(facts.memory_bytes)
        of = f" of {format_bytes(facts.capacity_bytes)}" if facts.capacity_bytes else ""
        fits = "" if not 0 < facts.capacity_bytes < most else ": THAT DOES NOT FIT"
        stage = facts.stages[facts.memory_bytes.index(most)]
        yield "memory", f"{format_bytes(most)}{of} on a rank of {stage}, the fullest{fits}"
    if facts.idle_ranks:
        ranks = step.prediction.topology.num_ranks
        yield "idle", f"{facts.idle_ranks:,} of the {ranks:,} accelerators there have no rank of the job"
    yield "imbalance", f"{step.shares.imbalance:.1%}: the longest computation of a rank over the mean"


def _division(step: StepSummary) -> Iterator[str]:
    """A row a part, mean over the ranks; together they are the step."""
    shares, steps = step.shares, step.facts.counted_steps
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
    yield from text_table(("time per rank and step", "mean", "share", "min", "max"), rows)


def _dimensions(step: StepSummary) -> Iterator[str]:
    overlap, ranks = step.shares.overlap, step.prediction.workload.job_ranks * step.facts.counted_steps
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
    yield (
        "what would shorten it the most:"
        if (best := best_changes(step.what_ifs))
        else "nothing that was tried shortens it"
    )
    for number, each in enumerate(best, start=1):
        yield f"  {number}. {each.name}: -{each.gain:.1%}"
    rows = [
        (each.label, format_time(each.to_ps / step.facts.counted_steps), f"{-each.gain:+.1%}")
        for each in step.what_ifs
        if each.matters
    ]
    if rows:
        yield from text_table(("what if", "per step", "change"), rows)
    if useless := gain_nothing(step.what_ifs):
        yield from _wrapped([f"  no gain: {'; '.join(useless)}"])
