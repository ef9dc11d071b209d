"""What a job's traces tell of its model: tokens, operations, memory."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.base.errors import FormatError
from hocket.chakra import TraceSet
from hocket.simulator.installation import installation
from hocket.workload.accelerators import Accelerator, Precision, parse_accelerator

__all__ = ["JobFacts", "job_facts"]


@dataclass(frozen=True)
class JobFacts:
    """Of one step: `tokens` on all ranks; `model_flops`, floating-point operations that the model needs for them, none
    computed again; `hardware_flops`, those of all nodes that say theirs; `peak_flops` of an accelerator per second at
    the job's precision; `memory_bytes` of the fullest rank of each stage, `capacity_bytes` of its accelerator. None or
    empty where nothing tells. `steps` is how many steps the traces hold."""

    steps: int
    num_ranks: int
    tokens: int | None
    model_flops: float | None
    hardware_flops: float
    accelerator: str
    peak_flops: int | None
    memory_bytes: tuple[int, ...]
    capacity_bytes: int

    def tokens_per_second(self, time_ps: int) -> float | None:
        return None if self.tokens is None else self.tokens * self.steps / max(time_ps, 1) * 1e12

    def utilisation(self, time_ps: int) -> float | None:
        """Model FLOPs utilisation (MFU, PaLM, arXiv:2204.02311): the share of the accelerators' peak that the model's
        own operations reach."""
        if self.model_flops is None or not self.peak_flops:
            return None
        return self.model_flops * self.steps / (self.num_ranks * self.peak_flops * max(time_ps, 1) * 1e-12)


def job_facts(traces: TraceSet, spec: str, steps: int, tokens: int | None, model_flops: float = 0.0) -> JobFacts:
    """What the traces' metadata says; `tokens` and `model_flops` where somebody says otherwise. The peak is that of
    what the traces were priced by, else of what computes in the topology that `spec` names."""
    metadata = [trace.metadata for trace in traces.traces]
    first = metadata[0] if metadata else {}
    accelerator = _accelerator(first.get("accelerator")) or installation(spec).accelerator
    precision = str(first.get("precision", Precision.BF16))
    peak = accelerator.peak.get(Precision(precision)) if accelerator and precision in [*Precision] else None
    stages: dict[int, int] = {}
    for each in metadata:
        stage, size = each.get("stage"), each.get("memory_bytes")
        if isinstance(stage, int) and isinstance(size, int):
            stages[stage] = max(size, stages.get(stage, 0))
    told_tokens, told_flops = first.get("tokens"), first.get("model_flops")
    return JobFacts(
        steps=max(steps, 1),
        num_ranks=traces.num_ranks,
        tokens=tokens or (told_tokens if isinstance(told_tokens, int) else None),
        model_flops=model_flops or (float(told_flops) if isinstance(told_flops, int | float) else None),
        hardware_flops=float(sum(int(trace.num_ops[trace.num_ops > 0].sum()) for trace in traces.traces)),
        accelerator=accelerator.name if accelerator else "",
        peak_flops=peak,
        memory_bytes=tuple(stages[stage] for stage in sorted(stages)),
        capacity_bytes=accelerator.memory_bytes if accelerator else 0,
    )


def _accelerator(text: object) -> Accelerator | None:
    if not isinstance(text, str):
        return None
    try:
        return parse_accelerator(text)
    except FormatError:  # of another version, or another tool's word
        return None
