"""`hocket generate llm`: one step of training a large language model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace.output import OutputOption, PrefixOption, ProfileOption, write_job
from hocket.workload.accelerators import Precision
from hocket.workload.llm.pipeline import PipelineSchedule
from hocket.workload.llm.plan import ContextMethod, Recomputation

if TYPE_CHECKING:
    from hocket.workload.accelerators import Accelerator
    from hocket.workload.llm import ModelCard, Plan

__all__ = ["EPILOG", "llm"]

EPILOG = (
    "Examples: hocket generate llm llama3-8b --dp 8 --zero 3 --global-batch 8 -o traces/ |"
    " hocket generate llm gpt3-175b --tp 8 --sequence-parallel --pp 8 --dp 16 --global-batch 256 -o traces/ |"
    " hocket generate llm mixtral/config.json --sequence 4096 --dp 8 --ep 8 --global-batch 64 -o traces/"
)


def llm(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A published model (gpt3-175b, llama2-7b, llama2-70b, llama3-8b, llama3-70b, llama3-405b,"
            " mixtral-8x7b, deepseek-v3) or the config.json of one on Hugging Face.",
        ),
    ],
    output: OutputOption,
    global_batch: Annotated[int, typer.Option(min=1, max=1 << 30, help="Sequences of a step on all ranks.")],
    micro_batch: Annotated[int, typer.Option(min=1, max=1 << 20, help="Sequences that a rank works on at a time.")] = 1,
    sequence: Annotated[int | None, typer.Option(min=1, max=1 << 30, help="Tokens; the model's unless given.")] = None,
    tp: Annotated[int, typer.Option(min=1, max=1 << 16, help="Tensor parallel ranks.")] = 1,
    sequence_parallel: Annotated[
        bool, typer.Option("--sequence-parallel", help="Divide norms and residuals among the tensor parallel ranks.")
    ] = False,
    pp: Annotated[int, typer.Option(min=1, max=1 << 16, help="Pipeline stages.")] = 1,
    schedule: Annotated[
        PipelineSchedule, typer.Option(help="Order of the passes of a pipeline stage.")
    ] = PipelineSchedule.ONE_F_ONE_B,
    chunks: Annotated[int, typer.Option(min=1, max=1 << 10, help="Model chunks of a stage, for interleaved.")] = 1,
    embeddings_count: Annotated[
        bool, typer.Option("--embeddings-count", help="Embedding and output take a layer's place in their stages.")
    ] = False,
    dp: Annotated[int, typer.Option(min=1, max=1 << 20, help="Data parallel ranks.")] = 1,
    zero: Annotated[int, typer.Option(min=0, max=3, help="Stage of ZeRO; 3 is FSDP.")] = 0,
    bucket_size: Annotated[str, typer.Option(help="Gradients are reduced when this much is there.")] = "160MB",
    gradient_bytes: Annotated[int, typer.Option(help="Bytes of a gradient: 4 (FP32) or 2 (BF16).")] = 4,
    cp: Annotated[int, typer.Option(min=1, max=1 << 16, help="Context parallel ranks.")] = 1,
    context: Annotated[
        ContextMethod, typer.Option(help="How context parallel ranks share keys and values.")
    ] = ContextMethod.RING,
    ep: Annotated[int, typer.Option(min=1, max=1 << 16, help="Expert parallel ranks, taken from dp * cp.")] = 1,
    recompute: Annotated[
        Recomputation, typer.Option(help="What is computed again backward: nothing, scores, whole layers.")
    ] = Recomputation.SELECTIVE,
    order: Annotated[str, typer.Option(help="What varies from rank to rank, the fastest first.")] = "tp,cp,dp,pp",
    accelerator: Annotated[
        str,
        typer.Option(help="a100, h100, h200, b200, mi300x; or peak=989TFLOP/s,memory=3.35TB/s,capacity=80GB."),
    ] = "h100",
    efficiency: Annotated[
        str | None, typer.Option(help="Part of the peak that matrices reach, 0.6; the accelerator's unless given.")
    ] = None,
    memory_efficiency: Annotated[
        str | None, typer.Option(help="Part of the memory's bandwidth that kernels reach, likewise.")
    ] = None,
    precision: Annotated[Precision, typer.Option(help="Format of the multiplications.")] = Precision.BF16,
    profile: ProfileOption = Profile.MLCOMMONS,
    prefix: PrefixOption = "trace",
) -> None:
    """Make traces of one step of training a large language model by a parallel plan."""
    from dataclasses import replace

    from hocket.base.units import parse_bytes
    from hocket.workload.accelerators import parse_accelerator, parse_efficiency
    from hocket.workload.llm import Plan, llm_traces

    card = _card(model)
    if sequence is not None:
        card = replace(card, sequence=sequence)
    machine = parse_accelerator(accelerator).with_efficiency(
        None if efficiency is None else parse_efficiency(efficiency),
        None if memory_efficiency is None else parse_efficiency(memory_efficiency),
    )
    plan = Plan(
        tp=tp,
        pp=pp,
        dp=dp,
        cp=cp,
        ep=ep,
        sequence_parallel=sequence_parallel,
        schedule=schedule,
        chunks=chunks,
        zero=zero,
        context=context,
        global_batch=global_batch,
        micro_batch=micro_batch,
        recomputation=recompute,
        precision=precision,
        gradient_bytes=gradient_bytes,
        bucket_bytes=parse_bytes(bucket_size),
        embeddings_count=embeddings_count,
        order=tuple(order.split(",")),
    )
    plan.check(card)
    _print_plan(card, plan)
    _print_memory(card, plan, machine)
    write_job(llm_traces(card, plan, machine), output, prefix, profile)


def _card(model: str) -> ModelCard:
    from hocket.base.errors import FormatError
    from hocket.base.strict_yaml import nearest
    from hocket.workload.llm import MODELS
    from hocket.workload.llm.huggingface import read_card

    if model in MODELS:
        return MODELS[model]
    if not Path(model).exists():
        raise FormatError(f"{model}: no such model or config.json; {nearest(model, MODELS)}")
    return read_card(model)


def _print_plan(card: ModelCard, plan: Plan) -> None:
    tokens = plan.global_batch * card.sequence
    parameters, active = card.num_parameters, card.num_active_parameters
    met = f", of which a token meets {active / 1e9:.4g} billion" if active < parameters else ""
    typer.echo(f"{card.name}: {parameters / 1e9:.4g} billion parameters{met}")
    typer.echo(
        f"  step: {tokens} tokens, {3 * card.forward_flops(tokens) / 1e15:.4g} PFLOP without recomputation;"
        f" {plan.micro_batches} micro-batches of {plan.micro_batch} x {card.sequence} tokens on each rank"
    )
    sizes = " x ".join(f"{name} {getattr(plan, name)}" for name in plan.order)
    typer.echo(f"  ranks: {plan.num_ranks} = {sizes}" + (f"; ep {plan.ep}" if plan.ep > 1 else ""))


def _print_memory(card: ModelCard, plan: Plan, accelerator: Accelerator) -> None:
    from hocket.base.units import format_bytes
    from hocket.workload.llm.memory import memory_of

    memories = [memory_of(card, plan, stage) for stage in range(plan.pp)]
    stage = max(range(plan.pp), key=lambda stage: memories[stage].total)
    memory = memories[stage]
    typer.echo(
        f"  memory: about {format_bytes(memory.total)} on a rank of stage {stage}, the fullest:"
        f" {format_bytes(memory.parameters)} parameters, {format_bytes(memory.gradients)} gradients,"
        f" {format_bytes(memory.optimizer)} optimizer, {format_bytes(memory.activations)} activations"
    )
    if 0 < accelerator.memory_bytes < memory.total:
        typer.echo(
            f"warning: that does not fit: {accelerator.name} has {format_bytes(accelerator.memory_bytes)};"
            " choose more tp or pp, a higher --zero, or --recompute full",
            err=True,
        )
