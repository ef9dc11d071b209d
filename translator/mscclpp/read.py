"""MSCCL++ execution plans from JSON: strict, naming rank, thread block, op, the rule and the remedy."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.schedule import Kind
from hocket.translator.mscclpp.plan import OPEN_SIZE, ExecutionPlan, Op, Operand, OpName, PlanBlock, PlanGpu
from hocket.translator.mscclpp.references import References
from hocket.translator.mscclpp.shapes import shape_of

__all__ = ["from_json", "read_plan", "unchecked"]

_PATH_PARTS = (
    (r"\$\.gpus\[(\d+)\]", r"rank \1"),
    (r"\.threadblocks\[(\d+)\]", r" thread block \1"),
    (r"\.ops\[(\d+)\]", r" op \1"),
    (r"\$\.?", ""),
)
_NEEDS = {
    OpName.BARRIER: ("barrier_id", "num_threadblocks"),
    OpName.SIGNAL: ("channel_ids", "channel_type"),
    OpName.WAIT: ("channel_ids", "channel_type"),
    OpName.RELAXED_SIGNAL: ("channel_ids", "channel_type"),
    OpName.RELAXED_WAIT: ("channel_ids", "channel_type"),
    OpName.FLUSH: ("channel_ids", "channel_type"),
    OpName.ACQUIRE: ("semaphore_ids",),
    OpName.RELEASE: ("semaphore_ids",),
    OpName.PIPELINE: ("iter_context", "ops"),
}


def read_plan(path: Path | str) -> ExecutionPlan:
    """The plan in an MSCCL++ JSON file. Raises FormatError naming file, rank, thread block, op, rule and remedy."""
    return from_json(read_text(path), str(path))


def from_json(text: str, source: str) -> ExecutionPlan:
    """The plan in JSON text; `source` names it in errors. Unknown fields are ignored, as by the runtime.

    Refused is what the runtime refuses, and what it takes and cannot do: references to channels, buffers or chunks that
    do not exist, operands that an op does not have, sizes without a whole chunk. Raises FormatError.
    """
    plan = unchecked(text, source)
    _Checker(source, plan).check()
    return plan


def unchecked(text: str, source: str) -> ExecutionPlan:
    """As `from_json`, of text that is a plan's, whatever references and operands there are in it."""
    try:
        return msgspec.json.decode(text, type=ExecutionPlan)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise FormatError(f"{source}: not an MSCCL++ execution plan: {_in_words(str(error))}") from None


def _in_words(message: str) -> str:
    """msgspec's message with the place in a plan's own terms."""
    text, separator, path = message.partition(" - at `")
    for pattern, words in _PATH_PARTS:
        path = re.sub(pattern, words, path)
    return f"{path.rstrip('`')}: {text}" if separator else text


@dataclass(frozen=True, slots=True)
class _Checker:
    source: str
    plan: ExecutionPlan

    def fail(self, where: str, message: str) -> NoReturn:
        raise FormatError(f"{self.source}: {where}: {message}")

    def check(self) -> None:
        plan = self.plan
        if not plan.gpus:
            self.fail("gpus", "there is none; a plan has one for each rank")
        if plan.min_message_size > plan.max_message_size:
            self.fail(
                "min_message_size",
                f"{plan.min_message_size} is above max_message_size {plan.max_message_size}: no size selects the plan",
            )
        if plan.max_message_size > OPEN_SIZE:
            self.fail("max_message_size", f"{plan.max_message_size} does not fit the runtime's 64 bits")
        for rank, gpu in enumerate(plan.gpus):
            if gpu.id != rank:
                self.fail(f"rank {rank}", f'has "id" {gpu.id}; the runtime takes gpus in the order of their ids')
            self.check_chunks(rank, gpu)
        for rank, gpu in enumerate(plan.gpus):
            self.check_channels(f"rank {rank}", rank, gpu)
            self.check_remote_buffers(f"rank {rank}", rank, gpu)
        for rank, gpu in enumerate(plan.gpus):
            for number, block in enumerate(gpu.thread_blocks):
                where = f"rank {rank} thread block {number}"
                if block.id != number:
                    self.fail(where, f'has "id" {block.id}; the runtime needs thread blocks in the order of their ids')
                self.check_references(where, gpu, block)
                references = References(plan, rank, number)
                for position, op in enumerate(block.ops):
                    self.check_op(f"{where} op {position} ({op.name})", rank, references, op, inner=False)

    def check_chunks(self, rank: int, gpu: PlanGpu) -> None:
        n, inputs, outputs = self.plan.num_ranks, gpu.input_chunks, gpu.output_chunks
        if not inputs or not outputs:
            self.fail(f"rank {rank}", f"input_chunks {inputs}, output_chunks {outputs}: the runtime divides by both")
        first = self.plan.gpus[0]
        if (inputs, outputs) != (first.input_chunks, first.output_chunks):
            self.fail(f"rank {rank}", f"has {inputs} input and {outputs} output chunks, rank 0 has others")
        expected = {Kind.ALL_GATHER: (inputs, inputs * n), Kind.REDUCE_SCATTER: (outputs * n, outputs)}
        if (inputs, outputs) != expected.get(self.plan.kind, (inputs, inputs)) and self.plan.collective != "test":
            self.fail(
                f"rank {rank}",
                f"{self.plan.collective} of {n} ranks cannot have {inputs} input, {outputs} output chunks",
            )
        if self.plan.kind is Kind.ALL_TO_ALL and inputs % n:
            self.fail(f"rank {rank}", f"{inputs} chunks cannot be shared by {n} ranks; use a multiple")

    def check_channels(self, where: str, rank: int, gpu: PlanGpu) -> None:
        n = self.plan.num_ranks
        for channel in gpu.channels:
            if channel.channel_type == "switch":
                if channel.buffer_type is None or not channel.rank_groups:
                    self.fail(where, "a switch channel needs buffer_type and rank_groups")
                for group in channel.rank_groups:
                    if sorted({*group.ranks, rank}) != sorted(group.ranks) or max(group.ranks) >= n:
                        self.fail(
                            where, f"a rank group {list(group.ranks)} must name ranks below {n}, {where} among them"
                        )
            for peer in channel.connected_to:
                if peer == rank or peer >= n:
                    self.fail(where, f"connected_to {peer} must be another rank, 0..{n - 1}")

    def check_remote_buffers(self, where: str, rank: int, gpu: PlanGpu) -> None:
        for number, remote in enumerate(gpu.remote_buffers):
            if remote.rank == rank or remote.rank >= self.plan.num_ranks:
                self.fail(where, f"remote buffer {number} must be of another rank, 0..{self.plan.num_ranks - 1}")

    def check_references(self, where: str, gpu: PlanGpu, block: PlanBlock) -> None:
        for channels in block.channels:
            kind = channels.channel_type
            known = len(gpu.switches) if kind == "switch" else len(gpu.peers(kind))
            for number in channels.channel_ids:
                if number >= known:
                    self.fail(where, f"{kind} channel {number} does not exist; its rank has {known}")
        for buffers in block.remote_buffers:
            for number in buffers.remote_buffer_ids:
                if number >= len(gpu.remote_buffers):
                    self.fail(where, f"remote buffer {number} does not exist; its rank has {len(gpu.remote_buffers)}")
                if buffers.access_channel_type not in gpu.remote_buffers[number].access_channel_types:
                    self.fail(
                        where, f"remote buffer {number} is not declared for {buffers.access_channel_type} channels"
                    )

    def check_op(self, where: str, rank: int, references: References, op: Op, inner: bool) -> None:
        for field in _NEEDS.get(op.name, ()):
            if getattr(op, field) in (None, ()):
                self.fail(where, f"needs {field}")
        if op.name is OpName.PIPELINE:
            if inner:
                self.fail(where, "is a pipeline in a pipeline, which the runtime does not unroll")
            for position, part in enumerate(op.ops):
                self.check_op(f"{where}, its op {position} ({part.name})", rank, references, part, inner=True)
            return
        for semaphore in op.semaphore_ids:
            if semaphore >= len(self.plan.gpus[rank].semaphores):
                self.fail(where, f"semaphore {semaphore} does not exist; list it in the gpu's semaphores")
        for channel in op.channel_ids:
            if references.channel(op, channel) is None:
                self.fail(where, f"its thread block has no {op.channel_type} channel {channel}")
        if op.tbg_info is not None and op.tbg_info.tb_id >= op.tbg_info.tbg_size:
            self.fail(where, f"tb_id {op.tbg_info.tb_id} must be below tbg_size {op.tbg_info.tbg_size}")
        for problem in self.operand_problems(rank, references, op):
            self.fail(where, problem)

    def operand_problems(self, rank: int, references: References, op: Op) -> Iterator[str]:
        shape = shape_of(op)
        if shape is None:
            return
        if op.name is OpName.GROUP_REDUCE and not op.sources:
            yield "is in a form of MSCCL++'s own language, whose loader throws for this op; reduce and store (glres)"
            return
        problem = shape.problem(op)
        if problem:
            yield problem
        if shape.channels and op.channel_type not in shape.channels:
            yield f"channel_type {op.channel_type} must be {' or '.join(shape.channels)}"
        if op.channel_type == "port" and len(op.channel_ids) < len(op.destinations):
            yield f"{len(op.channel_ids)} channel_ids for {len(op.destinations)} destinations; each needs its own"
        for operand in (*op.sources, *op.destinations):
            yield from self.place_problems(rank, references, op, operand)
        for remote, channel in zip(op.destinations, op.channel_ids, strict=False):
            if op.channel_type == "port":
                target, peer = references.remote(op, remote)[0], references.channel(op, channel)
                if target != peer:
                    yield f"writes to rank {target} over a channel to rank {peer}"

    def place_problems(self, rank: int, references: References, op: Op, operand: Operand) -> Iterator[str]:
        if operand.buffer_id is not None and not references.has_remote(op, operand):
            yield f"its thread block has no remote buffer {operand.buffer_id} for {op.channel_type} channels"
            return
        if operand.switch_channel_id is not None and not references.has_switch(operand):
            yield f"its thread block has no switch channel {operand.switch_channel_id}"
            return
        for owner, buffer in references.places(op, operand):
            chunks = self.plan.gpus[owner].chunks(buffer)
            if operand.index + operand.size > chunks:
                yield (
                    f"chunks {operand.index}..{operand.index + operand.size - 1} are not all in buffer {buffer} of "
                    f"rank {owner}, which has {chunks}"
                )
