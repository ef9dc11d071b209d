"""The page of a judged MSCCL++ plan: what the runtime does with it, and the counterexample drawn."""

from collections.abc import Iterator
from pathlib import Path

from hocket.base.units import format_bytes
from hocket.report.lanes import Box, Lane, draw_lanes
from hocket.report.page import Block, Drawing, Section, Table, Text, render
from hocket.schedule import Counterexample
from hocket.translator.mscclpp import ExecutionPlan, PlanJudgement, PlanProof, References, op_places

__all__ = ["plan_page"]


def plan_page(name: str, judgement: PlanJudgement) -> str:
    """The page as HTML text."""
    plan = judgement.plan
    subtitle = "not a plan"
    if plan is not None:
        subtitle = f"{plan.collective} on {plan.num_ranks} ranks in {plan.slots} chunks, MSCCL++ {plan.protocol}"
    return render(Path(name).name, subtitle, [Section("Runtime", list(_runtime(judgement))), *_outcome(judgement)])


def _runtime(judgement: PlanJudgement) -> Iterator[Block]:
    flags = (judgement.runnable, judgement.correct, judgement.selectable)
    yield Table(
        ["runtime", "loader", "runs", "correct", "selected", "largest safe size"],
        [
            [
                judgement.runtime,
                f"{judgement.verdict}s",
                *("yes" if flag else "no" for flag in flags),
                format_bytes(judgement.largest_safe_bytes),
            ]
        ],
    )
    if judgement.outcome is None:
        yield from (Text(reason) for reason in judgement.reasons)


def _outcome(judgement: PlanJudgement) -> Iterator[Section]:
    outcome, plan = judgement.outcome, judgement.plan
    if isinstance(outcome, PlanProof):
        assumed = [Text(f"Assumed: {outcome.assumed}.")] if outcome.assumed else []
        yield Section("Proof", [Text(f"Proved: {outcome.describe()}."), *assumed])
    if isinstance(outcome, Counterexample) and plan is not None:
        lines: list[Block] = [Text(line) for line in outcome.text.splitlines()]
        if outcome.places:
            drawing = draw_lanes(lambda rank, block: _lane(plan, rank, block), outcome.places, outcome.arrows)
            lines.append(
                Drawing(
                    drawing,
                    "Each lane is a thread block that walks its ops from left to right. Red: the ops of the "
                    "counterexample; an arrow leads from an op to the one that it waits for, or with which nothing "
                    "orders it.",
                )
            )
        yield Section("Deadlock" if outcome.deadlock else "Counterexample", lines)


def _lane(plan: ExecutionPlan, rank: int, number: int) -> Lane:
    block, references = plan.gpus[rank].thread_blocks[number], References(plan, rank, number)
    peers = sorted({plan.gpus[rank].peers(used.channel_type)[channel] for used in block.channels
                    if used.channel_type != "switch" for channel in used.channel_ids})  # fmt: skip
    notes = [f"with rank {', '.join(map(str, peers))}"] if peers else []
    return Lane(notes, [Box(str(op.name), op_places(references, op)) for op in block.ops])
