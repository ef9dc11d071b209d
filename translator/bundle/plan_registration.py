"""`register_plans.py` of an MSCCL++ bundle: gives a job's calls their plans, by a selector of its own.

MSCCL++'s own selector throws for sizes that are no multiple of a plan's chunks, takes all plans for in-place ones or
none, and lets ranks of an in-place reduce_scatter take different plans. It never sees the plans of a bundle: they are
not registered with it, but handed to it call by call.
Source: microsoft/mscclpp 0.9, python/mscclpp/ext, src/core/algorithm.cc, src/ext/nccl; not run on GPUs.
"""

import inspect
from collections.abc import Iterator

from hocket.schedule import Kind
from hocket.translator.bundle import plan_choice
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.plan_choice import PlanCalls
from hocket.translator.mscclpp import COLLECTIVE_NAMES

__all__ = ["REGISTRATION", "plan_calls", "registration"]

REGISTRATION = "register_plans.py"

_HEAD = '''"""Tells MSCCL++ 0.9 of the plans of this folder: import it before torch.distributed.init_process_group.

The NCCL calls of the job reach MSCCL++ when libmscclpp_nccl.so is preloaded, as run.sh does. A call that no plan here
serves is done as if there were none: by MSCCL++'s own algorithms, or by NCCL (MSCCLPP_NCCL_LIB_PATH). For a tuner,
`candidates(...)` gives the plans that may run a call as mscclpp.Algorithm objects, which its own communicator executes.

No call is given a plan unless MSCCLPP_NCCL_SYMMETRIC_MEMORY says that the buffers of all ranks correspond (README.md).
"""

import os
import sys
from pathlib import Path
'''
_BODY = '''

here = Path(__file__).resolve().parent
_loaded = {}


def algorithm(plan, rank):
    """A plan as rank `rank` of a communicator executes it: groups of a job are numbered from 0 each."""
    if (plan, rank) not in _loaded:
        constraint = Algorithm.Constraint(world_size=plan.ranks, n_ranks_per_node=plan.ranks_per_node)
        execution = ExecutionPlan(str(here / plan.file), rank)
        _loaded[plan, rank] = Algorithm(id=Path(plan.file).stem, execution_plan=execution, constraint=constraint)
    return _loaded[plan, rank]


def candidates(request):
    """The plans of this folder that may run a call, as mscclpp.Algorithm objects."""
    return [algorithm(plan, request.rank) for plan in PLANS if mismatch(plan, request) is None]


def select(algorithms, request):
    """MSCCL++ asks for each call; None: it goes on without these plans."""
    if not promises_symmetry(os.environ):
        return None
    for plans, load in bundles:
        plan = choose(plans, request)
        if plan is not None:
            return load(plan, request.rank)._algorithm
    return None


builder = AlgorithmCollectionBuilder()
# MSCCL++ asks one selector alone: that of the bundle imported last speaks for all that were
bundles = builder.__dict__.setdefault("hocket_bundles", [])
bundles.append((PLANS, algorithm))
builder.set_algorithm_selector(select)
if not promises_symmetry(os.environ) and os.environ.get("RANK", "0") == "0":
    text = f"{__file__}: no call is given a plan: {SYMMETRIC}=1 says that buffers correspond (README.md)"
    print(text, file=sys.stderr)
for plan in PLANS:
    algorithm(plan, int(os.environ.get("RANK", 0)) % plan.ranks)  # a file that is missing is told now
'''


def plan_calls(bundle: Bundle) -> list[PlanCalls]:
    """Which calls each plan of a bundle serves.

    In a broadcast a rank that is not the root cannot tell by its addresses whether the root's call is in place; plans
    for out-of-place calls are right in place too (`PlanTarget` proves it), and where there are such, they serve both.
    """
    rooted = bundle.collective is Kind.BROADCAST
    both = rooted and any(not file.in_place for file in bundle.files)
    return [
        PlanCalls(
            file=file.path,
            collective=COLLECTIVE_NAMES[bundle.collective],
            ranks=bundle.ranks,
            ranks_per_node=bundle.ranks_per_node,
            in_place=None if both else file.in_place,
            min_bytes=file.min_bytes,
            max_bytes=file.max_bytes,
            unit_bytes=file.chunks * file.alignment,
            root=bundle.root if rooted else None,
        )
        for file in bundle.files
        if not (both and file.in_place)
    ]


def registration(bundle: Bundle) -> str:
    """A module that a job imports, for Python."""
    return "\n".join(_lines(bundle))


def _lines(bundle: Bundle) -> Iterator[str]:
    source = inspect.getsource(plan_choice)
    yield _HEAD + source[source.index('"""\n', 3) + 4 :].lstrip("\n")
    yield ""
    yield "from mscclpp import Algorithm, ExecutionPlan  # noqa: E402"
    yield "from mscclpp.ext import AlgorithmCollectionBuilder  # noqa: E402"
    yield ""
    yield "PLANS = ("
    for calls in plan_calls(bundle):
        yield f"    {calls!r},"
    yield ")"
    yield _BODY.rstrip("\n")
    yield ""
