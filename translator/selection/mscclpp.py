"""Which of several plans MSCCL++ runs for a call, and why not each other one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hocket.base.errors import ScheduleError
from hocket.base.units import format_bytes
from hocket.schedule import Kind
from hocket.translator.bundle.manifest import PROGRAMS, is_bundle, read_bundle
from hocket.translator.bundle.plan_choice import SYMMETRIC, PlanCalls, choose, mismatch
from hocket.translator.bundle.plan_registration import plan_calls
from hocket.translator.mscclpp import COLLECTIVE_NAMES, PlanJudgement, judge_plan
from hocket.translator.selection.msccl import Choice, RuntimeCall, Selection, misfit
from hocket.translator.selection.mscclpp_stock import UNTAKEN_ELEMENTS, Request, outcome, request_of

__all__ = ["plans_in_order", "select_in_bundle", "select_plan"]

_NCCL = "NCCL (MSCCLPP_NCCL_LIB_PATH; without it an error)"
_OWN = f"a call without a plan runs MSCCL++'s own algorithm on one node, and on several {_NCCL}"
_WITHOUT_PLAN = {
    Kind.ALL_REDUCE: _OWN,
    Kind.ALL_GATHER: _OWN,
    Kind.ALL_TO_ALL: "the NCCL shim has no all_to_all: only MSCCL++'s own executor runs such plans",
}
_KINDS = {True: "in-place", False: "out-of-place"}


def plans_in_order(folder: Path) -> list[Path]:
    """The plans of a folder, or of a bundle, in the order of their names."""
    folder = folder / PROGRAMS if is_bundle(folder) else folder
    return sorted(path for path in folder.iterdir() if path.suffix == ".json")


def select_in_bundle(folder: Path, call: RuntimeCall) -> Selection:
    """What a job does with the call that imported the bundle's `register_plans.py`, whose selector decides, on nodes as
    the bundle's; among the notes, what MSCCL++'s own would do with these plans. Raises ScheduleError for a call that
    there cannot be."""
    bundle = read_bundle(folder)
    plans = plan_calls(bundle)
    request = _request(call, bundle.ranks_per_node, bundle.root)
    chosen = None if call.data_type in UNTAKEN_ELEMENTS else choose(plans, request)
    choices = []
    for plan in plans:
        path = folder / plan.file
        if plan is chosen:
            wrong = _proof_warnings(judge_plan(path, root=bundle.root), call)
            choices.append(Choice(path, True, "is what register_plans.py's selector gives the call", wrong))
        else:
            choices.append(Choice(path, False, mismatch(plan, request) or "is not asked for"))
    stock = _stock_notes(plans, call, bundle.ranks_per_node)
    return Selection(tuple(choices), (*_notes(call, chosen is None), *_promise(chosen), *stock))


def select_plan(files: Sequence[Path], call: RuntimeCall) -> Selection:
    """What MSCCL++'s own selector does with the call where plans that no bundle holds are registered with it, in this
    order, for nodes such as the call's."""
    judged = [(path, judge_plan(path)) for path in files]
    plans = [_calls(path, judgement, call) for path, judgement in judged if judgement.plan is not None]
    choices: list[Choice] = []
    for path, judgement in judged:
        chosen = next((choice for choice in choices if choice.runs), None)
        reason = _mismatch(judgement, call)
        if reason is None and chosen is not None:
            reason = f"matches too, but {chosen.path.name} comes first"
        if reason is None:
            wrong = (*_proof_warnings(judgement, call), *_selector_warnings(plans, call))
            choices.append(Choice(path, True, "is the first that matches", wrong))
        else:
            choices.append(Choice(path, False, reason))
    note = (
        "plans that are registered with MSCCL++ meet its own selector, here in this order, there in that of a hash of "
        "their names: a bundle (hocket translate --bundle) brings a selector of its own"
    )
    return Selection(tuple(choices), (note, *_notes(call, not any(choice.runs for choice in choices))))


def _request(call: RuntimeCall, ranks_per_node: int, root: int) -> Request:
    if call.kind not in COLLECTIVE_NAMES:
        raise ScheduleError(f"MSCCL++ plans have no {call.kind}; they have {', '.join(COLLECTIVE_NAMES)}")
    if call.kind in (Kind.ALL_GATHER, Kind.REDUCE_SCATTER) and call.size_bytes % call.num_ranks:
        raise ScheduleError(
            f"{call.size_bytes} B are no {call.kind} of {call.num_ranks} ranks: give the size of the whole buffer, a "
            f"multiple of {call.num_ranks}"
        )
    shape = COLLECTIVE_NAMES[call.kind], call.num_ranks, ranks_per_node
    request = request_of(*shape, 0, call.size_bytes, in_place=call.in_place, element=call.data_type)
    return replace(request, hints={"root": [root]})


def _calls(path: Path, judgement: PlanJudgement, call: RuntimeCall) -> PlanCalls:
    """The calls of a plan of no bundle, on nodes such as the call's."""
    plan = judgement.plan
    assert plan is not None
    sizes = plan.min_message_size, plan.max_message_size, plan.slots * plan.buffer_alignment
    return PlanCalls(path.name, plan.collective, plan.num_ranks, call.num_ranks, plan.in_place, *sizes, None)


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


def _proof_warnings(judgement: PlanJudgement, call: RuntimeCall) -> tuple[str, ...]:
    """What goes wrong when the plan is run for the call."""
    plan, found = judgement.plan, list(judgement.reasons if not judgement.correct else ())
    if judgement.correct and call.size_bytes > judgement.largest_safe_bytes:
        found.append(f"is wrong above {format_bytes(judgement.largest_safe_bytes)}")
    if plan is not None and plan.kind is Kind.BROADCAST:
        found.append("the root is no part of the match: the plan is right for one root only")
    return tuple(found)


def _selector_warnings(plans: Sequence[PlanCalls], call: RuntimeCall) -> Iterator[str]:
    """What MSCCL++'s own selector makes of the call, where that is not to run the plan that is for it."""
    for asked_first, found in _outcomes(plans, call, call.num_ranks):
        right = any(found == f"runs {plan.file}" for plan in plans)
        if not right:
            yield f"{_first(plans, asked_first)}the call {found}"


def _stock_notes(plans: Sequence[PlanCalls], call: RuntimeCall, ranks_per_node: int) -> Iterator[str]:
    for asked_first, found in _outcomes(plans, call, ranks_per_node):
        yield f"registered with MSCCL++'s own selector instead, {_first(plans, asked_first)}the call {found}"


def _outcomes(plans: Sequence[PlanCalls], call: RuntimeCall, ranks_per_node: int) -> Iterator[tuple[bool, str]]:
    if call.kind not in COLLECTIVE_NAMES or call.data_type in UNTAKEN_ELEMENTS:
        return
    asked = COLLECTIVE_NAMES[call.kind], call.num_ranks, ranks_per_node, call.size_bytes
    for asked_first in sorted({bool(plan.in_place) for plan in plans}, reverse=True):
        yield asked_first, outcome(plans, asked_first, asked, in_place=call.in_place, element=call.data_type)


def _promise(chosen: PlanCalls | None) -> Iterator[str]:
    if chosen is not None:
        yield (
            f"only in a job with {SYMMETRIC}=1, the promise that buffers of all ranks correspond: a rank in whose "
            "allocations the plan was not run before sets it up with all others, and those that do not wait hang it"
        )


def _first(plans: Sequence[PlanCalls], asked_first: bool) -> str:
    both = len({bool(plan.in_place) for plan in plans}) == 2
    return f"in a process that asked an {_KINDS[asked_first]} plan first, " * both


def _notes(call: RuntimeCall, without_plan: bool) -> Iterator[str]:
    if call.data_type in UNTAKEN_ELEMENTS:
        yield (
            f"MSCCL++ throws for {call.data_type} before it asks any selector; "
            f"MSCCLPP_FORCE_NCCL_FALLBACK_OPERATION={COLLECTIVE_NAMES.get(call.kind, call.kind)} leaves all such calls "
            "to NCCL"
        )
    elif without_plan:
        yield _WITHOUT_PLAN.get(call.kind, f"a call without a plan runs {_NCCL}")
    if call.kind in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER):
        yield "reductions are sums, whatever the call asks for: no selector is told the operation"
