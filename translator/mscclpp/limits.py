"""What MSCCL++ 0.9 can hold and do: limits it enforces, ignores, or crashes on, and ops that do not do as they say."""

from collections import defaultdict
from collections.abc import Iterator

from hocket.base.errors import ScheduleError
from hocket.translator.mscclpp.plan import ExecutionPlan, Op, Operand, OpName, PlanBlock
from hocket.translator.mscclpp.references import References
from hocket.translator.mscclpp.shapes import shape_of

__all__ = ["MAX_CHANNELS", "MAX_OPS", "MAX_OP_CHANNELS", "check_plan_limits", "loader_refuses"]

MAX_OPS = 64  # of a thread block, those inside pipelines too
MAX_CHANNELS = 16  # of a type, of a thread block; and as many remote buffers
MAX_OP_CHANNELS = 8
MAX_OP_OPERANDS = 2 + MAX_OP_CHANNELS
MAX_BARRIERS = 16
MAX_OP_SEMAPHORES = 16

_SIGNALS = (OpName.SIGNAL, OpName.RELAXED_SIGNAL, OpName.PUT, OpName.PUT_SIGNAL, OpName.PUT_SIGNAL_FLUSH)
_WAITS = (OpName.WAIT, OpName.RELAXED_WAIT)


def check_plan_limits(plan: ExecutionPlan) -> None:
    """Raises ScheduleError with rank, thread block, op, number, limit and remedy when the runtime cannot run the plan
    as it is written, or when what it would do is not determined."""
    problem = next(_problems(plan), None)
    if problem is not None:
        raise ScheduleError(f"{plan.name} does not fit MSCCL++ 0.9: {problem}")


def _problems(plan: ExecutionPlan) -> Iterator[str]:
    for rank, gpu in enumerate(plan.gpus):
        users: dict[tuple[str, int], set[int]] = defaultdict(set)
        barriers: dict[int, set[int]] = defaultdict(set)
        if not gpu.thread_blocks:
            yield f"rank {rank}: no thread block, and no kernel can be launched of none"
        for number, block in enumerate(gpu.thread_blocks):
            where = f"rank {rank} thread block {number}"
            for problem in _block_problems(block):
                yield f"{where}: {problem}"
            references = References(plan, rank, number)
            for position, op in enumerate(block.ops):
                at = f"{where} op {position} ({op.name})"
                for problem in _op_problems(plan, op):
                    yield f"{at}: {problem}"
                for part in (op, *op.ops):
                    for use in _counters(references, part):
                        users[use].add(number)
                    if part.barrier_id is not None:
                        barriers[part.barrier_id].add(number)
                        if part.num_threadblocks != _first_count(plan, rank, part.barrier_id):
                            yield f"{at}: barrier {part.barrier_id} is used with different num_threadblocks"
        for (what, which), blocks in sorted(users.items()):
            if len(blocks) > 1:
                yield (
                    f"rank {rank}: thread blocks {sorted(blocks)} all {what} {which}: which of them comes first is not "
                    "determined; give each its own"
                )
        for barrier, blocks in sorted(barriers.items()):
            size = _first_count(plan, rank, barrier)
            if len(blocks) != size:
                yield f"rank {rank}: {len(blocks)} thread blocks use barrier {barrier}, which waits for {size}"
    yield from _scratch_problems(plan)


def _scratch_problems(plan: ExecutionPlan) -> Iterator[str]:
    """Packets of chunk k lie where plain chunks 2k and 2k + 1 do."""
    last_plain: dict[int, tuple[int, str]] = {}
    first_packet: dict[int, tuple[int, str]] = {}
    for rank, gpu in enumerate(plan.gpus):
        for number, block in enumerate(gpu.thread_blocks):
            references = References(plan, rank, number)
            for position, op in enumerate(block.ops):
                at = f"rank {rank} thread block {number} op {position} ({op.name})"
                for owner, operand, packet in (
                    use for part in (op, *op.ops) for use in _scratch_uses(references, part)
                ):
                    if packet and operand.index < first_packet.get(owner, (operand.index + 1, ""))[0]:
                        first_packet[owner] = (operand.index, at)
                    elif not packet and operand.index + operand.size > last_plain.get(owner, (0, ""))[0]:
                        last_plain[owner] = (operand.index + operand.size, at)
    for rank in sorted(last_plain.keys() & first_packet.keys()):
        (plain_end, keeper), (first, sender) = last_plain[rank], first_packet[rank]
        if plain_end > 2 * first:
            yield f"{sender} keeps packets in scratch of rank {rank} where {keeper} keeps plain data; use other chunks"


def _first_count(plan: ExecutionPlan, rank: int, barrier: int) -> int | None:
    """Thread blocks of a barrier, as its first op says."""
    ops = (part for block in plan.gpus[rank].thread_blocks for op in block.ops for part in (op, *op.ops))
    return next((part.num_threadblocks for part in ops if part.barrier_id == barrier), None)


def _counters(references: References, op: Op) -> Iterator[tuple[str, int]]:
    """What an op counts up or down: a channel's signals or waits, a semaphore."""
    if op.name in _SIGNALS or op.name is OpName.READ_PUT_PACKETS:
        verb = "signal or post on"
    elif op.name in _WAITS:
        verb = "wait on"
    else:
        for semaphore in op.semaphore_ids:
            yield f"{'release' if op.name is OpName.RELEASE else 'acquire'} semaphore", semaphore
        return
    for channel in op.channel_ids:
        yield f"{verb} {op.channel_type} channel", references.number(op, channel)


def _scratch_uses(references: References, op: Op) -> Iterator[tuple[int, Operand, bool]]:
    """The rank whose scratch each operand is in, for those that are, and whether it is packets."""
    shape = shape_of(op)
    if shape is None:
        return
    for operands, access in ((op.sources, shape.source), (op.destinations, shape.destination)):
        for position, operand in enumerate(operands):
            for rank, buffer in references.places(op, operand):
                if buffer == "s":
                    yield rank, operand, access(position).packet


def longest_block(plan: ExecutionPlan) -> int:
    """Ops of the thread block that has most, those inside pipelines too."""
    return max((_num_ops(block) for gpu in plan.gpus for block in gpu.thread_blocks), default=0)


def loader_refuses(plan: ExecutionPlan) -> bool:
    """Whether MSCCL++'s loader throws for the plan; over other limits its kernels go wrong."""
    ops = (part for gpu in plan.gpus for block in gpu.thread_blocks for op in block.ops for part in (op, *op.ops))
    return longest_block(plan) > MAX_OPS or any(op.name is OpName.GROUP_REDUCE for op in ops)


def _num_ops(block: PlanBlock) -> int:
    return sum(1 + len(op.ops) for op in block.ops)


def _block_problems(block: PlanBlock) -> Iterator[str]:
    ops = _num_ops(block)
    if ops > MAX_OPS:
        yield f"{ops} ops, limit {MAX_OPS}; use more thread blocks or fewer chunks"
    channels: dict[str, int] = defaultdict(int)
    for refs in block.channels:
        channels[f"{refs.channel_type} channels"] += len(refs.channel_ids)
    for buffers in block.remote_buffers:
        channels[f"remote buffers for {buffers.access_channel_type} channels"] += len(buffers.remote_buffer_ids)
    for what, count in channels.items():
        if count > MAX_CHANNELS:
            yield f"{count} {what}, limit {MAX_CHANNELS}; use more thread blocks"


def _op_problems(plan: ExecutionPlan, op: Op) -> Iterator[str]:
    if op.iter_context is not None:
        for position, part in enumerate(op.ops):
            for problem in (*_inner_problems(part, op.iter_context.num_chunks), *_op_problems(plan, part)):
                yield f"its op {position} ({part.name}): {problem}"
    if op.name is OpName.GROUP_REDUCE:
        yield "its own language writes this op, and its loader throws for it; reduce and store (glres)"
    if len(op.channel_ids) > MAX_OP_CHANNELS:
        yield f"{len(op.channel_ids)} channels, limit {MAX_OP_CHANNELS}; split the op"
    if max(len(op.sources), len(op.destinations)) > MAX_OP_OPERANDS:
        yield f"{max(len(op.sources), len(op.destinations))} operands, limit {MAX_OP_OPERANDS}; split the op"
    if len(op.semaphore_ids) > MAX_OP_SEMAPHORES:
        yield f"{len(op.semaphore_ids)} semaphores, limit {MAX_OP_SEMAPHORES}; split the op"
    if (op.barrier_id or 0) >= MAX_BARRIERS:
        yield f"barrier {op.barrier_id}, of {MAX_BARRIERS}; use semaphores"
    if _is_packet_op(op) and plan.protocol != "LL":
        yield 'packets take twice their data, for which only protocol "LL" reserves scratch'
    if op.name is OpName.PUT_PACKETS and op.channel_type == "port" and not plan.reuse_resources:
        yield (
            "the runtime takes packets that are put over a port from the scratch of the first plan it set up; share "
            "one scratch (reuse_resources), or read and put them (rppkt)"
        )
    if op.name is OpName.GET and any(
        source.index != target.index for source, target in zip(op.sources, op.destinations, strict=True)
    ):
        yield "the runtime exchanges the offsets of source and destination of a get; give both the same, or put instead"


def _inner_problems(op: Op, num_chunks: int) -> Iterator[str]:
    if _is_packet_op(op):
        yield "packet ops do the whole of their chunks in every round of a pipeline"
    if op.tbg_info is not None and op.tbg_info.tbg_size > 1:
        yield "a share of a thread block group runs past its end in a pipeline"
    for operand in (*op.sources, *op.destinations):
        if operand.size != num_chunks:
            yield f"moves {operand.size} chunks in a pipeline over {num_chunks}; more are left out, fewer overrun"


def _is_packet_op(op: Op) -> bool:
    shape = shape_of(op)
    return shape is not None and any(access.packet for access in (*shape.sources, *shape.destinations))
