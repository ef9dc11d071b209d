"""MSCCL++ 0.9's own selection of plans that are registered with it, as its source has it, faults and all.

Source: microsoft/mscclpp 0.9.0, src/ext/nccl/nccl.cc (algoSelector), algorithm_selector.cc (matchExecutionPlan),
src/core/algorithm.cc (DslAlgorithm, CollectiveRequest), executor/execution_plan.cc (checkMessageSize), executor.cc
(ExecutionContextKey).
`python -m hocket.bench.mscclpp_selection --source DIR` holds it to that code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from hocket.translator.bundle.plan_choice import ELEMENTS, PlanCalls, PlanRequest, whole_bytes

__all__ = [
    "UNTAKEN_ELEMENTS",
    "Allocation",
    "Contexts",
    "Element",
    "Request",
    "StockSelector",
    "failure",
    "outcome",
    "request_of",
]

#: Element types of NCCL that the shim throws for before it asks any selector; ELEMENTS and uint8 are taken.
UNTAKEN_ELEMENTS = frozenset({"int8", "int64", "uint64", "float64"})


@dataclass(frozen=True, slots=True)
class Element:
    """A member of MSCCL++'s DataType."""

    name: str


@dataclass(slots=True)
class Request:
    """A call as the shim tells it to a selector."""

    collective: str
    world_size: int
    n_ranks_per_node: int
    rank: int
    input_buffer: int
    output_buffer: int
    message_size: int
    dtype: Element
    hints: dict[str, list[int]]


@dataclass
class StockSelector:
    """One process's selector; `plans` in the order in which it finds them, which a hash of their names decides.

    `in_place` is what all plans are taken for: the kind of the plan that the process asked first (None: none yet).
    """

    plans: Sequence[PlanCalls]
    in_place: bool | None = None

    def select(self, request: PlanRequest) -> PlanCalls | None:
        """The plan that runs; None: the shim goes on to its own algorithms, then to NCCL."""
        of_collective = [plan for plan in self.plans if plan.collective == request.collective]
        return next((plan for plan in of_collective if self._matches(plan, request)), None)

    def _matches(self, plan: PlanCalls, request: PlanRequest) -> bool:
        if self.in_place is None:
            self.in_place = bool(plan.in_place)
        return (
            (plan.ranks, plan.ranks_per_node) == (request.world_size, request.n_ranks_per_node)
            and self.in_place == _seems_in_place(request)
            and plan.min_bytes <= whole_bytes(request) <= plan.max_bytes
        )


class Allocation(NamedTuple):
    """What the driver allocated at once, and a buffer lies in: its address and bytes."""

    base: int
    size: int


@dataclass
class Contexts:
    """What one rank's executor has set up: a plan for the allocations of a call, or (`reuses` its resources) for all.

    To set up takes all ranks of the plan; to go by an earlier set-up none. A call of which ranks differ in that hangs.
    """

    known: set[tuple[str, Allocation | None, Allocation | None]] = field(default_factory=set)

    def sets_up(self, plan: str, source: Allocation, target: Allocation, *, reuses: bool = False) -> bool:
        """Whether a call sets the plan up, which it then is."""
        key = (plan, None, None) if reuses else (plan, source, target)
        fresh = key not in self.known
        self.known.add(key)
        return fresh


def _seems_in_place(request: PlanRequest) -> bool:
    if request.input_buffer == request.output_buffer:
        return True
    share = request.rank * request.message_size
    return request.collective == "allgather" and request.input_buffer == request.output_buffer + share


def failure(plan: PlanCalls, request: PlanRequest) -> str | None:
    """Why the call ends the job once it was given the plan; None: it runs."""
    if request.dtype.name not in ELEMENTS:
        return f"fails: plans are not run with elements of {request.dtype.name}"
    if whole_bytes(request) % plan.unit_bytes:
        return f"throws: {whole_bytes(request)} B are no multiple of the {plan.unit_bytes} B that its chunks need"
    return None


def request_of(
    collective: str, ranks: int, ranks_per_node: int, rank: int, size_bytes: int, *, in_place: bool, element: str
) -> Request:
    """What `rank` asks for in a call of `size_bytes` of the whole buffer, somewhere in its memory."""
    first, second = 1 << 40, 1 << 41
    share = size_bytes // ranks
    if collective == "allgather":
        source, target = (first + rank * share if in_place else second), first
    elif collective == "reducescatter":
        source, target = first, (first + rank * share if in_place else second)
    else:
        source, target = first, (first if in_place else second)
    message = share if collective == "allgather" else size_bytes
    hints = {"root": [0]} if collective == "broadcast" else {}
    return Request(collective, ranks, ranks_per_node, rank, source, target, message, Element(element), hints)


def outcome(
    plans: Sequence[PlanCalls], asked_first: bool, call: tuple[str, int, int, int], *, in_place: bool, element: str
) -> str:
    """In words what becomes of a call (collective, ranks, ranks per node, bytes) in a job whose processes first asked
    an in-place plan, or (`asked_first` False) an out-of-place one."""
    collective, ranks, per_node, size = call
    # the first rank's share of a buffer begins where the buffer does; all others are alike
    requests = [
        request_of(collective, ranks, per_node, rank, size, in_place=in_place, element=element)
        for rank in range(min(ranks, 2))
    ]
    found = [StockSelector(plans, asked_first).select(request) for request in requests]
    names = ["no plan" if plan is None else plan.file for plan in found]
    if found[0] is not found[-1]:
        return f"rank 0 runs {names[0]} and the others {names[-1]}, and they wait for each other"
    plan = found[0]
    if plan is None:
        return "runs no plan"
    wrong = failure(plan, requests[0])
    if wrong is not None:
        return f"is given {plan.file} and {wrong}"
    if plan.in_place and not in_place:
        return f"runs {plan.file}, which is for in-place calls, and never writes the output"
    if not plan.in_place and in_place:
        return f"runs {plan.file}, which is for out-of-place calls and not proved in place"
    return f"runs {plan.file}"
