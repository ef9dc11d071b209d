"""Rows of published step times as jobs: a model, a plan, a machine, seconds; or why a row cannot be one.

What a page leaves open is not guessed, but for three things: a blank recomputation is taken for none, a blank stage of
sharding for ZeRO 1 (Megatron's distributed optimizer), and micro-batches where there is no pipeline and no accumulation
of gradients (torchtitan, MaxText) for all of a replica's sequences.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.workload.accelerators import Precision
from hocket.workload.llm import MODELS, ModelCard, ParallelPlan, PipelineSchedule, Recomputation

__all__ = ["Job", "newest", "read_rows"]

_FILE = Path(__file__).parent / "step_times.csv"


@dataclass(frozen=True)
class Job:
    """A row that can be compared: `seconds` of a step as published, `machine` as `--topology` names it.

    `padded`: layers of the card over those of the model, where a pipeline's stages do not hold equally many.
    `older_attention`: the part of the newest kernels' speed that the job's attention reaches."""

    row: int
    model: str
    card: ModelCard
    plan: ParallelPlan
    gpu: str
    machine: str
    accelerator: str
    seconds: float
    source: str
    padded: float = 1.0
    older_attention: Fraction | None = None

    @property
    def chip(self) -> str:
        """What computes, whatever memory and boards it has."""
        return self.accelerator.split(",")[0].removesuffix("-40gb")

    @property
    def stack(self) -> str:
        """The software that the page is of."""
        return next(stack for page, stack in _STACKS if page in self.source)

    @property
    def is_moe(self) -> bool:
        return self.card.experts is not None


_STACKS = (
    ("NVIDIA", "NeMo, Megatron"),
    ("mosaicml", "llm-foundry"),
    ("pytorch", "torchtitan"),
    ("AI-Hypercomputer", "MaxText"),
    ("", "others"),
)


class _Left(Exception):
    """A row that is not compared, and why."""


# Names of the pages, without what they say of software and training.
_MODELS = {
    "LLAMA3.1_405B": "llama3-405b", "llama3.1-405b": "llama3-405b", "Llama3.1-405B": "llama3-405b",
    "LLAMA3_70B": "llama3-70b", "LLAMA3-70B": "llama3-70b", "llama3.1-70b": "llama3-70b", "Llama3.1-70B": "llama3-70b",
    "LLAMA3_8B": "llama3-8b", "LLAMA3-8B": "llama3-8b", "Llama3.1-8B": "llama3-8b",
    "LLAMA2-7B": "llama2-7b", "LLAMA2-13B": "llama2-13b", "LLAMA2-70B": "llama2-70b", "Llama2-70B": "llama2-70b",
    "GPT3-175B": "gpt3-175b", "Nemotron-340B": "nemotron4-340b",
    "Qwen3_235B_a22B": "qwen3-235b-a22b", "qwen3-235b-a22b": "qwen3-235b-a22b", "Qwen3_30B_a3B": "qwen3-30b-a3b",
    "GPT OSS 120B": "gpt-oss-120b", "gpt-oss-120b": "gpt-oss-120b",
    "DeepSeekV3": "deepseek-v3", "deepseek-v3": "deepseek-v3", "Kimi_K2": "kimi-k2",
    "MPT-7b": "mpt-7b", "MPT-13b": "mpt-13b", "MPT-30b": "mpt-30b", "MPT-70b": "mpt-70b",
}  # fmt: skip
_SUFFIXES = (" (Llama 3.1)", " (tokendrop)", " (dropless)", " (w/o MTP)")
_OTHER_TRAINING = ("SFT", "LoRA")
# GPUs by the pages' names: the machine, GPUs of one, the accelerator.
_GPUS = {
    "H100": ("dgx-h100", 8, "h100"),
    "H100 80GB": ("dgx-h100", 8, "h100"),
    "H100 96GB HBM2e 500W": ("dgx-h100", 8, "h100,memory=2.4TB/s"),
    "A100": ("dgx-a100", 8, "a100"),
    "A100 80GB": ("dgx-a100", 8, "a100"),
    "A100 40GB": ("dgx-a100", 8, "a100-40gb"),
    "A100 (Selene)": ("dgx-a100", 8, "a100"),
    "H200": ("dgx-h200", 8, "h200"),
    "B200": ("dgx-b200", 8, "b200"),
    "B300": ("dgx-b300", 8, "b300"),
    "GB200": ("gb200-nvl72", 64, "gb200"),
    "GB300": ("gb300-nvl72", 64, "gb300"),
    "MI300X (page: MI300)": ("mi300x", 8, "mi300x"),
    "MI355X (page: MI355)": ("mi355x", 8, "mi355x"),
    "TPU v5p": ("tpu-v5p", 0, "tpu-v5p"),
    "TPU v6e": ("tpu-v6e", 0, "tpu-v6e"),
    "TPU7x (Ironwood)": ("tpu7x", 0, "tpu7x"),
}
_PRECISIONS = {
    "bf16": Precision.BF16, "amp_bf16": Precision.BF16, "half precision": Precision.FP16,
    "fp8-cs": Precision.FP8_CURRENT, "fp8-mx": Precision.MXFP8, "mxfp8": Precision.MXFP8, "nvfp4": Precision.NVFP4,
    "float8": Precision.FP8_CURRENT, "float8 tensorwise": Precision.FP8_CURRENT,
    "float8 rowwise": Precision.FP8_CURRENT, "fp8_full": Precision.FP8,
}  # fmt: skip
# How much slower attention's kernel is than the newest, which the figures of accelerators are of: FlashAttention 2 is
# about twice as fast as 1 (arXiv:2307.08691, abstract), which llm-foundry's Triton kernels are like, and 3 on H100 1.5
# to 2 times as fast as 2 (arXiv:2407.08608, abstract), which PyTorch has.
_OLDER = {
    ("llm-foundry", "A100"): Fraction(1, 2),
    ("llm-foundry", "H100"): Fraction(2, 7),
    ("torchtitan", "H100"): Fraction(4, 7),
}
_DELAYED = ("24.07", "24.03")  # NeMo's releases whose FP8 had delayed scaling


def read_rows() -> tuple[list[Job], list[tuple[int, str]]]:
    """The jobs, and the numbers of the rows that are none with the reason."""
    jobs: list[Job] = []
    left: list[tuple[int, str]] = []
    with _FILE.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            try:
                jobs.append(_job(number, row))
            except _Left as reason:
                left.append((number, str(reason)))
            except HocketError as error:
                left.append((number, f"not a plan of ours: {error}"))
    return jobs, left


def _job(number: int, row: dict[str, str]) -> Job:
    card = _card(row)
    gpu = row["gpu_type"]
    machine, per_machine, accelerator = _GPUS[gpu]
    gpus = _number(row, "gpus")
    plan = _plan(row, card, gpus)
    card, plan, padded = _dealt_out(card, plan)
    plan.check(card)
    if plan.num_ranks != gpus:
        raise _Left(f"{plan.num_ranks} ranks of the plan are not its {gpus} GPUs")
    nodes = f":nodes={-(-gpus // per_machine)}" if per_machine else ""
    seconds = _seconds(row, card, plan)
    label = _base_name(row["model"])
    older = next(
        (part for (page, chip), part in _OLDER.items() if page in row["source"] and gpu.startswith(chip)), None
    )
    return Job(
        number, _MODELS[label], card, plan, gpu, machine + nodes, accelerator, seconds, row["source"], padded, older
    )


def _base_name(name: str) -> str:
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _card(row: dict[str, str]) -> ModelCard:
    if any(row["model"].endswith(what) for what in _OTHER_TRAINING):
        raise _Left("fine-tuning: packed sequences and frozen parameters are not modelled")
    if "tokendrop" in row["model"]:
        raise _Left("tokens are dropped: how many experts a token meets is not known")
    name = _base_name(row["model"])
    if name.startswith(("Nemotron_3", "DeepSeekV4")):
        raise _Left("state-space or compressed-attention layers are not modelled")
    if name not in _MODELS:
        raise _Left("the page does not give the model's whole shape")
    if not row["seq_len"]:
        raise _Left("the sequence length is not stated")
    card = replace(MODELS[_MODELS[name]], sequence=_number(row, "seq_len"))
    if name == "DeepSeekV3" and "w/o MTP" not in row["model"]:
        card = replace(card, layers=card.layers + 1)  # that of multi-token prediction, without its output layer
    return replace(card, positions=card.sequence) if card.positions else card


def _plan(row: dict[str, str], card: ModelCard, gpus: int) -> ParallelPlan:
    for what in ("tp", "pp"):
        if not row[what]:
            raise _Left(f"{what} is not stated")
    if not row["global_batch"]:
        raise _Left("the global batch is not stated")
    sharding, tp, pp, cp = row["zero_or_fsdp"], *(int(row[what] or 1) for what in ("tp", "pp", "cp"))
    dp = gpus // (tp * pp * cp)
    whole = "FSDP" in sharding
    if whole and row["dp"] not in ("", "1") and "in a slice" in sharding:
        raise _Left("sharded within a slice and copied among slices: not a plan of ours")
    batch = _number(row, "global_batch")
    chunks = int(row["vp"] or 1)
    return ParallelPlan(
        tp=tp,
        pp=pp,
        dp=dp,
        cp=cp,
        ep=int(row["ep"] or 1) if card.experts else 1,
        sequence_parallel=tp > 1 and row["sequence_parallel"] != "False",
        schedule=PipelineSchedule.INTERLEAVED if pp > 1 and chunks > 1 else PipelineSchedule.ONE_F_ONE_B,
        chunks=chunks if pp > 1 else 1,
        zero=3 if whole else 1,
        global_batch=batch,
        micro_batch=_micro_batch(row, batch // dp, pp),
        recomputation=Recomputation.FULL if row["recompute"] == "full" else Recomputation.SELECTIVE,
        precision=_precision(row),
        gradient_bytes=2 if whole else 4,
    )


def _micro_batch(row: dict[str, str], replica: int, pp: int) -> int:
    if row["micro_batch"]:
        return int(row["micro_batch"])
    if pp == 1 and ("torchtitan" in row["source"] or "AI-Hypercomputer" in row["source"]) and replica:
        return replica
    raise _Left("the micro-batch is not stated")


def _precision(row: dict[str, str]) -> Precision:
    text = row["precision"].split(" (page")[0].lower()
    if text == "fp8":
        delayed = any(release in row["source"] for release in _DELAYED)
        return Precision.FP8 if delayed else Precision.FP8_CURRENT
    if not text and "maxtext" in row["source"]:
        return Precision.BF16  # the scripts' default
    if text not in _PRECISIONS:
        raise _Left("the precision is not stated")
    return _PRECISIONS[text]


def _dealt_out(card: ModelCard, plan: ParallelPlan) -> tuple[ModelCard, ParallelPlan, float]:
    """Layers for every part of the pipeline: as they are, or embedding and output in place of two, or, where stages
    hold unequally many, a card of so many layers that all hold as many as the fullest."""
    parts = plan.pp * plan.chunks
    if card.layers % parts == 0:
        return card, plan, 1.0
    if (card.layers + 2) % parts == 0 and (card.layers + 2) // parts > 1:
        return card, replace(plan, embeddings_count=True), 1.0
    layers = -(-card.layers // parts) * parts
    return replace(card, layers=layers), plan, layers / card.layers


def _seconds(row: dict[str, str], card: ModelCard, plan: ParallelPlan) -> float:
    """Of a step. Rates in FLOP/s count the half of the attention that the mask leaves, without recomputation."""
    value, gpus = float(row["value"]), int(row["gpus"])
    tokens = plan.global_batch * card.sequence
    match row["reported_metric"]:
        case "step_s":
            return value
        case "tokens_per_s_per_gpu":
            return tokens / (value * gpus)
        case "tflops_per_gpu" if "d41696840e" not in row["source"]:
            return 3 * card.forward_flops(tokens, causal=True) / (value * 1e12 * gpus)
        case _:
            raise _Left("its FLOP/s count what the page does not say")


def _number(row: dict[str, str], what: str) -> int:
    if not row[what]:
        raise _Left(f"{what} is not stated")
    return int(row[what])


def newest(jobs: list[Job]) -> Iterator[Job]:
    """Of each model and GPU of NeMo the rows of the newest release that has both; pages list those first. Of rows that
    differ in nothing the first."""
    release: dict[tuple[str, str], str] = {}
    seen: set[tuple[object, ...]] = set()
    for job in jobs:
        key = (job.card, job.plan, job.machine, job.accelerator, job.seconds)
        of_newest = "NeMo" not in job.source or release.setdefault((job.model, job.gpu), job.source) == job.source
        if of_newest and key not in seen:
            seen.add(key)
            yield job
