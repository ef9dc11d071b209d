"""The step of a job from one rank of each pipeline stage.

The ranks of a stage do alike, so one stands for all: its collectives end when its own part has begun and their time is
over, its messages to the next rank of a ring arrive as its own do. What is lost: groups that share links at the same
time. Of many micro-batches two counts are simulated and the rest is as much longer as the second: from one to the next
the pipeline is full. The time is linear in the price of each kind of work along the longest path, so a path is kept as
the amount of each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hocket.bench.published.prices import Prices
from hocket.bench.published.rows import Job
from hocket.chakra.trace import CollectiveType, NodeType, Trace
from hocket.workload.accelerators import Accelerator, Precision, parse_accelerator
from hocket.workload.kernels import BENCHMARKED
from hocket.workload.llm.program import stage_program
from hocket.workload.llm.ranks import GroupKind, Peer
from hocket.workload.llm.work import Workbook

__all__ = ["KINDS", "FoldedStep"]

KINDS = (
    "16-bit products", "8-bit products", "4-bit products", "experts' products", "attention", "older attention",
    "bytes", "launches", "tensor parallel", "experts' tokens", "other communication",
)  # fmt: skip
_PRODUCTS = {Precision.MXFP8: 1, Precision.FP8: 1, Precision.FP8_CURRENT: 1, Precision.NVFP4: 2}
_EXPERTS, _ATTENTION, _OLDER, _BYTES, _LAUNCHES, _TENSOR, _TOKENS, _OTHER = range(3, 11)
_AT_ONCE = Fraction(10**9)
_OF_GROUPS = {GroupKind.TENSOR: _TENSOR, GroupKind.EXPERT: _TOKENS}


@dataclass(frozen=True, eq=False)
class _Graph:
    """The nodes of all stages: seconds of each kind (nodes x kinds), what each waits for, in an order of execution."""

    cost: NDArray[np.float64]
    deps: list[tuple[int, ...]]
    order: list[int]

    def path(self, slowness: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds of each kind along the longest path."""
        took = (self.cost @ slowness).tolist()
        end = [0.0] * len(took)
        before = [-1] * len(took)
        deps = self.deps
        for node in self.order:
            start, last = 0.0, -1
            for dep in deps[node]:
                if end[dep] > start:
                    start, last = end[dep], dep
            end[node] = start + took[node]
            before[node] = last
        node = max(range(len(end)), key=end.__getitem__)
        rows = []
        while node >= 0:
            rows.append(node)
            node = before[node]
        found: NDArray[np.float64] = self.cost[rows].sum(axis=0)
        return found


class FoldedStep:
    """A job's step; `seconds(slowness)` with each kind of work so many times as slow as it is priced."""

    def __init__(self, job: Job) -> None:
        self._job = job
        plan = job.plan
        step = plan.dp * plan.micro_batch
        few = plan.pp * 2 if plan.pp > 1 else 2
        counts = [few, few + plan.pp] if plan.micro_batches > few + plan.pp else [plan.micro_batches]
        self._graphs = [_graph(replace(job, plan=replace(plan, global_batch=step * count))) for count in counts]
        self._more = (plan.micro_batches - few) / plan.pp if len(counts) > 1 else 0.0

    def path(self, slowness: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds of each of KINDS on the longest path, before they are slowed."""
        paths = [graph.path(slowness) for graph in self._graphs]
        whole = paths[0] + self._more * (paths[-1] - paths[0])
        return whole / self._job.padded


def _graph(job: Job) -> _Graph:
    programs = list(_programs(job))
    prices = Prices(job)
    first = np.cumsum([0, *(len(program) for program, _ in programs)]).tolist()
    costs = [compute + _communication(program, prices, stage) for stage, (program, compute) in enumerate(programs)]
    deps: list[list[int]] = []
    for stage, (program, _) in enumerate(programs):
        deps += _own_dependencies(program, first[stage])
    _join_messages([program for program, _ in programs], first, deps)
    return _Graph(np.concatenate(costs), [tuple(each) for each in deps], _sorted(deps))


def _programs(job: Job) -> Iterator[tuple[Trace, NDArray[np.float64]]]:
    """Each stage's program, and the seconds of its computations by kind: what is gained when a kind takes no time."""
    chip = replace(parse_accelerator(job.accelerator), kernels=BENCHMARKED, memory_efficiency=Fraction(1))
    if job.older_attention:
        kernels = chip.kernels
        forward, backward = (job.older_attention * each for each in (kernels.attention, kernels.attention_backward))
        chip = replace(chip, kernels=replace(kernels, attention=forward, attention_backward=backward))
    none = replace(chip.kernels, launch_ns=0)
    faster: dict[int, Accelerator] = {
        _LAUNCHES: replace(chip, kernels=none),
        _BYTES: replace(chip, memory_bandwidth=chip.memory_bandwidth * 10**6),
        _OLDER if job.older_attention else _ATTENTION: replace(
            chip, kernels=replace(chip.kernels, attention=_AT_ONCE, attention_backward=_AT_ONCE)
        ),
        _EXPERTS: replace(chip, kernels=replace(chip.kernels, grouped=_AT_ONCE)),
    }
    books = {kind: Workbook(job.card, job.plan, accelerator) for kind, accelerator in faster.items()}
    whole = Workbook(job.card, job.plan, chip)
    products = _PRODUCTS.get(job.plan.precision, 0)
    for stage in range(job.plan.pp):
        program = stage_program(job.card, job.plan, whole, stage)
        compute = program.type == NodeType.COMP
        total = np.where(compute, program.duration_ns, 0) / 1e9
        found = np.zeros((len(program), len(KINDS)))
        for kind, book in books.items():
            if kind == _EXPERTS and not job.is_moe:
                continue
            other = stage_program(job.card, job.plan, book, stage)
            found[:, kind] = total - np.where(compute, other.duration_ns, 0) / 1e9
        found[:, products] = np.maximum(total - found.sum(axis=1), 0)
        yield program, found


def _communication(program: Trace, prices: Prices, stage: int) -> NDArray[np.float64]:
    """Seconds of collectives; a message's time is that of its receiver."""
    found = np.zeros((len(program), len(KINDS)))
    for row in np.flatnonzero(program.type == NodeType.COMM_COLL).tolist():
        group = GroupKind(program.text(program.process_group, row))
        time_ps = prices.collective_ps(
            CollectiveType(int(program.comm_type[row])), int(program.comm_bytes[row]), group, stage
        )
        found[row, _OF_GROUPS.get(group, _OTHER)] = time_ps / 1e12
    for row in np.flatnonzero(program.type == NodeType.COMM_RECV).tolist():
        source = program.comm_src[row]
        step = {Peer.PREVIOUS_STAGE: -1, Peer.NEXT_STAGE: 1}.get(Peer(int(source)), 0)
        other = (stage + step) % prices.stages
        found[row, _OTHER] = prices.message_ps(int(program.comm_bytes[row]), stage, other) / 1e12
    return found


def _own_dependencies(program: Trace, first: int) -> Iterator[list[int]]:
    row_of = {int(node): row for row, node in enumerate(program.id.tolist())}
    data, ctrl = program.data_deps.tolist(), program.ctrl_deps.tolist()
    data_at, ctrl_at = program.data_offset.tolist(), program.ctrl_offset.tolist()
    for row in range(len(program)):
        ids = data[data_at[row] : data_at[row + 1]] + ctrl[ctrl_at[row] : ctrl_at[row + 1]]
        yield [first + row_of[each] for each in ids]


def _join_messages(programs: list[Trace], first: list[int], deps: list[list[int]]) -> None:
    """Every receive waits for its send: of another stage, or, in a ring, for the like one of its own."""
    sends: dict[tuple[int, int, int], list[int]] = {}
    for stage, program in enumerate(programs):
        for row in np.flatnonzero(program.type == NodeType.COMM_SEND).tolist():
            key = (stage, int(program.comm_dst[row]), int(program.comm_tag[row]))
            sends.setdefault(key, []).append(first[stage] + row)
    opposite = {
        Peer.PREVIOUS_STAGE: (Peer.NEXT_STAGE, -1),
        Peer.NEXT_STAGE: (Peer.PREVIOUS_STAGE, 1),
        Peer.PREVIOUS_CONTEXT: (Peer.NEXT_CONTEXT, 0),
    }
    taken: dict[tuple[int, int, int], int] = {}
    for stage, program in enumerate(programs):
        for row in np.flatnonzero(program.type == NodeType.COMM_RECV).tolist():
            peer, step = opposite[Peer(int(program.comm_src[row]))]
            key = ((stage + step) % len(programs), int(peer), int(program.comm_tag[row]))
            at = taken.get(key, 0)
            deps[first[stage] + row].append(sends[key][at])
            taken[key] = at + 1


def _sorted(deps: list[list[int]]) -> list[int]:
    """Every node after what it waits for."""
    waiting = [len(each) for each in deps]
    after: list[list[int]] = [[] for _ in deps]
    for node, each in enumerate(deps):
        for dep in each:
            after[dep].append(node)
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:
        for one in after[node]:
            waiting[one] -= 1
            if not waiting[one]:
                order.append(one)
    return order
