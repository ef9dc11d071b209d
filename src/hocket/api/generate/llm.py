"""Makes traces of one step of training a large language model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import structs

from hocket.api.generate.cards import find_card
from hocket.api.generate.job_file import JOB_SUFFIX, WrittenJob, read_job_file, write_job_file
from hocket.api.generate.request import LlmGeneration
from hocket.api.generate.target import checked, pricing, ranks_there
from hocket.api.parts import TraceFolder
from hocket.api.progress import Progress
from hocket.api.trace.written import WrittenTraces, write_job
from hocket.base.errors import HocketError
from hocket.base.units import format_bytes, parse_bytes
from hocket.chakra import TraceSet
from hocket.chakra.roles import TracesByRole
from hocket.workload.accelerators import Accelerator, Precision, parse_efficiency
from hocket.workload.llm import (
    AttentionKernel,
    ContextMethod,
    ModelCard,
    ParallelPlan,
    PipelineSchedule,
    Recomputation,
    TokenDispatch,
    TokenFormat,
    llm_traces,
)
from hocket.workload.llm.loads import parse_loads
from hocket.workload.llm.memory import memory_of
from hocket.workload.parsing import parse_splits

__all__ = ["GeneratedJob", "generated", "perform", "traces_of_job_file"]


@dataclass(frozen=True, eq=False)
class GeneratedJob:
    """A model and a plan by which it can be trained; `lines` describe them; `needs_bytes` is what the fullest rank
    keeps."""

    request: LlmGeneration
    card: ModelCard
    plan: ParallelPlan
    accelerator: Accelerator
    lines: tuple[str, ...]
    needs_bytes: int

    @cached_property
    def traces(self) -> TraceSet:
        """A step's traces, whose metadata hold the request; made when they are first asked for: what does not fit may
        need none. Raises FormatError where the accelerator lacks the plan's precision."""
        found = llm_traces(self.card, self.plan, self.accelerator)
        assert isinstance(found.traces, TracesByRole)
        return replace(found, traces=found.traces.saying({"request": self.asked.to_json()}))

    @property
    def asked(self) -> LlmGeneration:
        """The request that may be asked again anywhere, with a change: for as many ranks, by the same accelerator."""
        return structs.replace(
            self.request,
            dp=self.plan.dp,
            topology=None,
            accelerator=self.accelerator.spec,
            efficiency=None,
            memory_efficiency=None,
            written=TraceFolder(output="traces"),
        )

    @property
    def fits(self) -> bool:
        """Whether the accelerator has that much memory, where it is known."""
        return not 0 < self.accelerator.memory_bytes < self.needs_bytes


def perform(request: LlmGeneration, progress: Progress) -> WrittenTraces | WrittenJob:
    job = generated(request)
    if not job.fits:
        progress.note(
            f"warning: that does not fit: {job.accelerator.name} has {format_bytes(job.accelerator.memory_bytes)};"
            " choose more tp or pp, a higher --zero, or --recompute full"
        )
    if request.written.output.endswith(JOB_SUFFIX):
        return write_job_file(request, job.asked, job.plan.num_ranks, job.lines)
    return write_job(request, job.traces, request.written, request.profile, progress, [*job.lines])


def generated(request: LlmGeneration) -> GeneratedJob:
    """The job that is asked for. Raises FormatError for a model that is none, RequestError and Infeasible
    for a plan that it cannot be trained by."""
    card, plan, priced = _card(request), _plan(request), pricing(request)
    accelerator = priced.accelerator.with_efficiency(
        None if request.efficiency is None else parse_efficiency(request.efficiency),
        None if request.memory_efficiency is None else parse_efficiency(request.memory_efficiency),
    )
    plan.check(card)
    memories = [memory_of(card, plan, stage) for stage in range(plan.pp)]
    stage = max(range(plan.pp), key=lambda stage: memories[stage].total)
    memory = memories[stage]
    parts = ", ".join(
        f"{format_bytes(getattr(memory, part))} {part}"
        for part in ("parameters", "gradients", "optimizer", "activations")
    )
    lines = (
        *_described(card, plan),
        *(f"  assumed: {assumed}" for assumed in card.assumed),
        f"  computation: {replace(priced, accelerator=accelerator).said(plan.precision)}",
        f"  memory: about {format_bytes(memory.total)} on a rank of stage {stage}, the fullest: {parts}",
    )
    return GeneratedJob(request, card, plan, accelerator, lines, memory.total)


def traces_of_job_file(path: str) -> TraceSet:
    """The traces of the job that a file holds, those of a rank of each role until others are asked for."""
    request = read_job_file(path)
    try:
        return generated(request).traces
    except HocketError as error:
        raise type(error)(f"{path}: {error}") from error


def _card(request: LlmGeneration) -> ModelCard:
    card = find_card(request.model)
    return card if request.sequence is None else replace(card, sequence=request.sequence)


def _plan(request: LlmGeneration) -> ParallelPlan:
    plan = ParallelPlan(
        tp=request.tp,
        pp=request.pp,
        dp=request.dp or 1,
        cp=request.cp,
        ep=request.ep,
        sequence_parallel=request.sequence_parallel,
        schedule=PipelineSchedule(request.schedule),
        chunks=request.chunks,
        zero=request.zero,
        shard_group=request.shard_group,
        prefetch=request.prefetch,
        keep_gathered=request.keep_gathered,
        context=ContextMethod(request.context),
        context_inner=request.context_inner,
        loads=parse_loads(request.expert_skew, request.expert_seed, request.expert_changes),
        dispatch=TokenDispatch(request.dispatch),
        token_format=TokenFormat(request.token_format),
        node_ranks=request.node_ranks,
        most_nodes=request.most_nodes,
        global_batch=request.global_batch,
        micro_batch=request.micro_batch,
        recomputation=Recomputation(request.recompute),
        attention=AttentionKernel(request.attention),
        precision=Precision(request.precision),
        gradient_bytes=request.gradient_bytes,
        bucket_bytes=parse_bytes(request.bucket_size),
        embeddings_count=request.embeddings_count,
        layers_per_stage=parse_splits(request.layers_per_stage) if request.layers_per_stage else (),
        first_stage_layers=request.first_stage_layers,
        last_stage_layers=request.last_stage_layers,
        order=tuple(request.order.split(",")),
    )
    if request.topology is None:
        return plan
    there = ranks_there(request.topology)
    if request.dp is None:
        plan = replace(plan, dp=max(1, there // plan.num_ranks))
    checked(plan.num_ranks, there, request.topology)
    return plan


def _described(card: ModelCard, plan: ParallelPlan) -> Iterator[str]:
    tokens = plan.global_batch * card.sequence
    parameters, active = card.num_parameters, card.num_active_parameters
    met = f", of which a token meets {active / 1e9:.4g} billion" if active < parameters else ""
    yield f"{card.name}: {parameters / 1e9:.4g} billion parameters{met}"
    yield (
        f"  step: {tokens} tokens, {3 * card.forward_flops(tokens) / 1e15:.4g} PFLOP without recomputation"
        f" ({3 * card.forward_flops(tokens, causal=True) / 1e15:.4g} without what the mask hides);"
        f" {plan.micro_batches} micro-batches of {plan.micro_batch} x {card.sequence} tokens on each rank"
    )
    sizes = " x ".join(f"{name} {getattr(plan, name)}" for name in plan.order)
    yield f"  ranks: {plan.num_ranks} = {sizes}" + (f"; ep {plan.ep}" if plan.ep > 1 else "")
