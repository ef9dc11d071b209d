"""For which message sizes a plan works as its chunks say: offsets of 32 bits, scratch of fixed size."""

from hocket.translator.mscclpp.memory import Granularity, shared_parts
from hocket.translator.mscclpp.plan import ExecutionPlan, Op, OpName

__all__ = ["MAX_BYTES", "granularities", "largest_bytes", "pipeline_unit", "round_bytes"]

_OFFSETS = 1 << 32
#: No plan serves larger messages, whatever its chunks are.
MAX_BYTES = _OFFSETS - 1
_FIXED_SCRATCH = 1 << 26  # with reuse_resources
_SHARED_SCRATCH = 1 << 27  # what all such plans share
_MOST_ROUNDS = (1 << 16) - 1  # of a pipeline, which counts them in 16 bits


def scratch_chunk_bytes(plan: ExecutionPlan) -> int | None:
    """Bytes of a scratch chunk where plans share scratch of a fixed size; None: scratch is as large as needed."""
    chunks = max(gpu.scratch_chunks for gpu in plan.gpus)
    if not plan.reuse_resources or not chunks:
        return None
    size = -(-_FIXED_SCRATCH // (1 + plan.use_double_scratch_buffer) // chunks)
    return -(-size // plan.buffer_alignment) * plan.buffer_alignment


def pipeline_unit(plan: ExecutionPlan) -> int | None:
    """Bytes of a pipeline's round; None: there is no pipeline. The smallest, should they differ."""
    ops = (op for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops)
    return min((op.iter_context.unit_size for op in ops if op.iter_context), default=None)


def largest_bytes(plan: ExecutionPlan) -> int:
    """The largest message for which no chunk of the plan overruns: within `max_message_size`, offsets of 32 bits, the
    rounds that pipelines count, and fixed scratch that no pipeline wraps around in."""
    packets = 2 if plan.protocol == "LL" else 1
    halves = 1 + plan.use_double_scratch_buffer
    scratch = max(gpu.scratch_chunks for gpu in plan.gpus)
    chunk = MAX_BYTES // max(plan.slots, packets * halves * scratch)
    fixed = scratch_chunk_bytes(plan)
    if fixed is not None:
        chunk = min(chunk, _SHARED_SCRATCH // (packets * halves * scratch))
        if pipeline_unit(plan) is None or any(_adds_unwrapped(op) for _, op in _piped(plan)):
            chunk = min(chunk, fixed)
    for iterations in {pipeline.iter_context for pipeline, _ in _piped(plan) if pipeline.iter_context}:
        chunk = min(chunk, _MOST_ROUNDS * iterations.unit_size // iterations.num_chunks)
    chunk -= chunk % plan.buffer_alignment
    return min(chunk * plan.slots, plan.max_message_size)


def _piped(plan: ExecutionPlan) -> list[tuple[Op, Op]]:
    """Every pipeline with each of its ops."""
    ops = (op for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops)
    return [(op, part) for op in ops for part in op.ops]


def _adds_unwrapped(op: Op) -> bool:
    """Whether an op does not wrap around in fixed scratch as it should: the sum's kernel asks the destinations, not the
    sources, whether they are scratch, of all but the first source."""
    if op.name is OpName.REDUCE_SEND:
        return True
    return op.name is OpName.REDUCE and any(source.type == "s" for source in op.sources[1:])


def round_bytes(plan: ExecutionPlan, rounds: int) -> int:
    """The largest message whose chunks take a pipeline so many rounds."""
    return rounds * (pipeline_unit(plan) or 0) * plan.slots


def granularities(plan: ExecutionPlan) -> list[Granularity]:
    """How finely to cut chunks so that every case shows: 1 and 2 rounds of a pipeline, and scratch just full, used
    again, and again."""
    parts, unit = shared_parts(plan), pipeline_unit(plan)
    if unit is None:
        return [Granularity(parts, 1, 1)]
    most = max(1, -(-largest_bytes(plan) // plan.slots // unit))
    fixed = scratch_chunk_bytes(plan)
    held = most if fixed is None else max(1, fixed // unit)
    cases = {1, 2} if fixed is None else {1, 2, held, held + 1, 2 * held + 1}
    return [Granularity(parts, rounds, held) for rounds in sorted(cases) if rounds <= most]
