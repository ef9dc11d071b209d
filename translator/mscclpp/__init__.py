"""MSCCL++ 0.9 execution plans: read, proved, written."""

from hocket.translator.mscclpp.limits import check_plan_limits
from hocket.translator.mscclpp.lower import lower_to_plan
from hocket.translator.mscclpp.plan import Plan
from hocket.translator.mscclpp.read import from_json, read_plan
from hocket.translator.mscclpp.translate import PlanTranslation, plan_recipe, translate_to_plan
from hocket.translator.mscclpp.verify import PlanProof, verify_plan
from hocket.translator.mscclpp.write import to_json

__all__ = [
    "Plan",
    "PlanProof",
    "PlanTranslation",
    "check_plan_limits",
    "from_json",
    "lower_to_plan",
    "plan_recipe",
    "read_plan",
    "to_json",
    "translate_to_plan",
    "verify_plan",
]
