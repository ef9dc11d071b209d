"""Which of several plans MSCCL++ runs for a call, and why not each other one."""

from collections.abc import Sequence
from pathlib import Path

from hocket.base.units import format_bytes
from hocket.schedule import Kind
from hocket.translator.bundle.manifest import PROGRAMS, is_bundle
from hocket.translator.mscclpp import PlanJudgement, judge_plan
from hocket.translator.selection.msccl import Choice, RuntimeCall, Selection, misfit

__all__ = ["plans_in_order", "select_plan"]

_NOTES = (
    "plans count as registered, in this order (register_plans.py of a bundle): MSCCL++ reads no folder of them",
    "a call without a plan runs MSCCL++'s own algorithms, or NCCL's",
    "reductions are sums, whatever the call asks for; nodes of other sizes are another mismatch",
)


def plans_in_order(folder: Path) -> list[Path]:
    """The plans of a folder, or of a bundle, in the order of their names, in which bundles register them."""
    folder = folder / PROGRAMS if is_bundle(folder) else folder
    return sorted(path for path in folder.iterdir() if path.suffix == ".json")


def select_plan(files: Sequence[Path], call: RuntimeCall) -> Selection:
    """What MSCCL++ does with the call when these plans are registered in this order."""
    choices: list[Choice] = []
    for path in files:
        judgement = judge_plan(path)
        chosen = next((choice for choice in choices if choice.runs), None)
        reason = _mismatch(judgement, call)
        if reason is None and chosen is not None:
            reason = f"matches too, but {chosen.path.name} comes first"
        if reason is None:
            choices.append(Choice(path, True, "is the first that matches", _warnings(judgement, call)))
        else:
            choices.append(Choice(path, False, reason))
    return Selection(tuple(choices), _NOTES)


def _mismatch(judgement: PlanJudgement, call: RuntimeCall) -> str | None:
    """The first condition of the selection that the call does not meet."""
    plan = judgement.plan
    if plan is None:
        return f"is refused: {judgement.reasons[0]}"
    if plan.kind is not call.kind:
        return f"is for {plan.collective}, not {call.kind}"
    if plan.num_ranks != call.num_ranks:
        return f"is for {plan.num_ranks} ranks, the communicator has {call.num_ranks}"
    return misfit(call, plan.in_place, not plan.in_place, (plan.min_message_size, plan.max_message_size))


def _warnings(judgement: PlanJudgement, call: RuntimeCall) -> tuple[str, ...]:
    """What goes wrong when the runtime runs the plan for the call."""
    plan, found = judgement.plan, list(judgement.reasons if not judgement.correct else ())
    unit = plan.slots * plan.buffer_alignment if plan is not None else 1
    if call.size_bytes % unit:
        found.append(f"the call has {call.size_bytes} B, no multiple of the {unit} B that its chunks need")
    if judgement.correct and call.size_bytes > judgement.largest_safe_bytes:
        found.append(f"is wrong above {format_bytes(judgement.largest_safe_bytes)}")
    if plan is not None and plan.kind is Kind.BROADCAST:
        found.append("the root is no part of the match: the plan is right for one root only")
    return tuple(found)
