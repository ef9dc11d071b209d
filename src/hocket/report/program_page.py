"""The page of a judged MSCCL XML: what each runtime does with it, and the counterexample drawn."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from hocket.base.units import format_bytes
from hocket.report.lanes import Box, Lane, draw_lanes
from hocket.report.page import Block, Drawing, Section, Table, Text, render
from hocket.schedule import Counterexample, Program, Proof, Step
from hocket.schedule.program import chunks_text
from hocket.translator import Finding, Judgement
from hocket.translator.msccl.judge import EXECUTION

__all__ = ["program_page"]


def program_page(name: str, judgements: Sequence[Judgement]) -> str:
    """The page as HTML text, of a file's judgements for one or more runtimes."""
    sections = [Section("Runtimes", [_runtimes(judgements)])]
    findings = list(_findings(judgements))
    if findings:
        sections.append(Section("What was found", findings))
    outcomes = {
        outcome: one.program
        for one in judgements
        for outcome in (one.outcome, one.above)
        if outcome is not None and one.program is not None
    }
    sections += [Section(_title(outcome), list(_outcome(outcome, program))) for outcome, program in outcomes.items()]
    subtitle = "not a program"
    for program in outcomes.values():
        subtitle = (
            f"{program.kind} on {program.num_ranks} ranks in {program.chunks_per_loop} chunks, {program.protocol}, "
            f"{program.num_channels} channels"
        )
    return render(Path(name).name, subtitle, sections)


def _runtimes(judgements: Sequence[Judgement]) -> Table:
    return Table(
        ["runtime", "parser", "runs", "correct", "selected", "largest safe size"],
        [
            [
                str(one.runtime),
                f"{one.verdict}s",
                *("yes" if flag else "no" for flag in (one.runnable, one.correct, one.selectable)),
                "any" if one.largest_safe_bytes is None else format_bytes(one.largest_safe_bytes),
            ]
            for one in judgements
        ],
    )


def _findings(judgements: Sequence[Judgement]) -> Iterator[Text]:
    """Each finding once, with the runtimes that it holds for; what an execution finds has a section of its own."""
    runtimes: dict[Finding, list[str]] = {}
    for one in judgements:
        for finding in one.findings:
            if finding.rule != EXECUTION:
                runtimes.setdefault(finding, []).append(str(one.runtime))
    for finding, names in runtimes.items():
        yield Text(f"{', '.join(names)} ({finding.severity}): {finding.describe()}")


def _title(outcome: Proof | Counterexample) -> str:
    if isinstance(outcome, Proof):
        return "Proof"
    return "Deadlock" if outcome.deadlock else "Counterexample"


def _outcome(outcome: Proof | Counterexample, program: Program) -> Iterator[Block]:
    if isinstance(outcome, Proof):
        yield Text(f"Proved: {outcome.describe()}.")
        return
    yield from (Text(line) for line in outcome.text.splitlines())
    if outcome.places:
        yield Drawing(
            draw_lanes(lambda rank, block: _lane(program, rank, block), outcome.places, outcome.arrows),
            "Each lane is a thread block that walks its steps from left to right; “after b:s” waits for step s of "
            "thread block b of the same rank. Red: the steps of the counterexample; an arrow leads from a step to the "
            "one that it waits for, or with which nothing orders it.",
        )


def _lane(program: Program, rank: int, block: int) -> Lane:
    of = program.gpus[rank].thread_blocks[block]
    peers = [f"{word} rank {peer}" for word, peer in (("sends to", of.send), ("takes from", of.receive)) if peer >= 0]
    return Lane(peers, [_box(step) for step in of.steps])


def _box(step: Step) -> Box:
    place = chunks_text(step.src_buffer, step.src_offset, step.count) if step.type.reads else ""
    if step.type.writes:
        place += f" → {chunks_text(step.dst_buffer, step.dst_offset, step.count)}"
    waits = f"after {step.depend_block}:{step.depend_step}" if step.depend_block >= 0 else ""
    return Box(str(step.type), place.strip(), waits)
