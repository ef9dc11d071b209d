"""MSCCL++ 0.9 execution plans: read, proved, written."""

from hocket.translator.mscclpp.limits import check_plan_limits
from hocket.translator.mscclpp.plan import Plan
from hocket.translator.mscclpp.read import from_json, read_plan
from hocket.translator.mscclpp.verify import PlanProof, verify_plan

__all__ = ["Plan", "PlanProof", "check_plan_limits", "from_json", "read_plan", "verify_plan"]
