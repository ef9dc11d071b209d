"""MSCCL++ 0.9 execution plans: read, proved, written."""

from hocket.translator.mscclpp.counterexample import op_places
from hocket.translator.mscclpp.judge import PLAN_RUNTIME, PlanJudgement, judge_plan
from hocket.translator.mscclpp.limits import check_plan_limits
from hocket.translator.mscclpp.lower import PlanDraft, TranslatedPlan, draft_plan, join_blocks, lower_to_plan
from hocket.translator.mscclpp.plan import COLLECTIVE_NAMES, ExecutionPlan
from hocket.translator.mscclpp.read import from_json, read_plan
from hocket.translator.mscclpp.references import References
from hocket.translator.mscclpp.translate import plan_recipe, translate_to_plan
from hocket.translator.mscclpp.verify import PlanProof, verify_plan
from hocket.translator.mscclpp.write import to_json

__all__ = [
    "COLLECTIVE_NAMES",
    "PLAN_RUNTIME",
    "ExecutionPlan",
    "PlanDraft",
    "PlanJudgement",
    "PlanProof",
    "References",
    "TranslatedPlan",
    "check_plan_limits",
    "draft_plan",
    "from_json",
    "join_blocks",
    "judge_plan",
    "lower_to_plan",
    "op_places",
    "plan_recipe",
    "read_plan",
    "to_json",
    "translate_to_plan",
    "verify_plan",
]
