"""Which plan of a bundle serves a call of MSCCL++, as each of its ranks decides it alone.

The text of this module is a part of `register_plans.py`, which jobs import that have no Hocket: nothing of Hocket is
imported here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

__all__ = [
    "ELEMENTS",
    "SYMMETRIC",
    "PlanCalls",
    "PlanRequest",
    "choose",
    "is_in_place",
    "mismatch",
    "promises_symmetry",
    "whole_bytes",
]

#: Element types that MSCCL++'s executor runs plans of; with another one a call that was given a plan fails.
ELEMENTS = frozenset({"float16", "bfloat16", "float32", "int32", "uint32"})
ALIGNMENT = 16  # of addresses: its kernels read and write that many bytes at once
#: By this variable a job promises MSCCL++ that the buffers of its ranks correspond.
SYMMETRIC = "MSCCLPP_NCCL_SYMMETRIC_MEMORY"


class PlanCalls(NamedTuple):
    """The calls that a plan serves: of `min_bytes` to `max_bytes` of a rank's whole buffer, a multiple of `unit_bytes`.

    `in_place` None: in place or not. `root` None: the collective has none.
    """

    file: str
    collective: str
    ranks: int
    ranks_per_node: int
    in_place: bool | None
    min_bytes: int
    max_bytes: int
    unit_bytes: int
    root: int | None


class PlanRequest(Protocol):
    """What MSCCL++ says of a call (its CollectiveRequest): `message_size` counts the bytes of an all_gather's input."""

    collective: str
    world_size: int
    n_ranks_per_node: int
    rank: int
    input_buffer: int
    output_buffer: int
    message_size: int
    dtype: Any  # a member of its DataType
    hints: dict[str, list[int]]


def whole_bytes(request: PlanRequest) -> int:
    """Bytes of a rank's whole buffer, the larger of input and output."""
    return request.message_size * (request.world_size if request.collective == "allgather" else 1)


def is_in_place(request: PlanRequest) -> bool:
    """Whether a rank's input is where NCCL's rules have it in an in-place call.

    The answer is the same on all ranks of a call: MSCCL++'s own asks whether input and output are one address, which an
    in-place reduce_scatter's are on rank 0 alone.
    """
    share = request.rank * (whole_bytes(request) // request.world_size)
    if request.collective == "allgather":
        return request.input_buffer == request.output_buffer + share
    if request.collective == "reducescatter":
        return request.output_buffer == request.input_buffer + share
    return request.input_buffer == request.output_buffer


def mismatch(plan: PlanCalls, request: PlanRequest) -> str | None:
    """The first reason why a call does not run the plan; None: it may."""
    size = whole_bytes(request)
    if request.collective != plan.collective:
        return f"is for {plan.collective}, not {request.collective}"
    if request.world_size != plan.ranks:
        return f"is for {plan.ranks} ranks, the communicator has {request.world_size}"
    if request.n_ranks_per_node != plan.ranks_per_node:
        return f"is for nodes of {plan.ranks_per_node} ranks, these have {request.n_ranks_per_node}"
    if plan.in_place is not None and plan.in_place != is_in_place(request):
        return f"is not for {'out-of-place' if plan.in_place else 'in-place'} calls"
    if not plan.min_bytes <= size <= plan.max_bytes:
        return f"is for {plan.min_bytes} to {plan.max_bytes} B, the call has {size} B"
    if size % plan.unit_bytes:
        return f"needs a multiple of {plan.unit_bytes} B, the call has {size} B"
    if request.dtype.name not in ELEMENTS:
        return f"cannot be run with elements of {request.dtype.name}"
    if (request.input_buffer | request.output_buffer) % ALIGNMENT:
        return f"needs addresses that are a multiple of {ALIGNMENT}"
    if plan.root is not None and list(request.hints.get("root", ())) != [plan.root]:
        return f"is for root {plan.root}"
    return None


def promises_symmetry(environment: Mapping[str, str]) -> bool:
    """Whether a job promises that its ranks' buffers correspond, as MSCCL++ reads the variable.

    A rank's executor sets a plan up anew, together with all others, for allocations (base and size) in which it had no
    buffers of that plan before. Where one rank does and another does not, the one waits for ever; where each goes by an
    older set-up, they write to each other's old buffers.
    """
    return environment.get(SYMMETRIC, "0") != "0"


def choose(plans: Iterable[PlanCalls], request: PlanRequest) -> PlanCalls | None:
    """The first plan that a call may run; None: MSCCL++ or NCCL does the call as if there were no plans."""
    return next((plan for plan in plans if mismatch(plan, request) is None), None)
