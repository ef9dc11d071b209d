"""MSCCL++ plans to JSON."""

import msgspec

from hocket.translator.mscclpp.plan import ExecutionPlan

__all__ = ["to_json"]


def to_json(plan: ExecutionPlan) -> str:
    """The plan as JSON text, two spaces an indentation, as MSCCL++'s own tools write it."""
    return msgspec.json.format(msgspec.json.encode(plan), indent=2).decode() + "\n"
