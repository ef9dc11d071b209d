"""What a job's traces tell of its model: tokens, operations, memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hocket.base.errors import FormatError
from hocket.chakra import TraceSet
from hocket.chakra.job_metadata import JOB, JOB_RANKS
from hocket.chakra.roles import shared_by_rank
from hocket.chakra.steps import NO_STEP
from hocket.simulator.installation import installation
from hocket.simulator.prediction import Prediction
from hocket.workload.accelerators import Accelerator, Precision, parse_accelerator

__all__ = ["JobFacts", "job_facts"]

_TOTALS = ("tokens", "model_flops")  # of a whole job's step, in the metadata of each rank


@dataclass(frozen=True)
class JobFacts:
    """Of one step of a job, or of all jobs side by side: `tokens` on all ranks; `model_flops`, floating-point
    operations that the models need for them, none computed again; `peak_flops` of all accelerators at work together per
    second, each at its job's precision; `memory_bytes` of the fullest rank of each pipeline stage, `stages` what these
    are called, `capacity_bytes` of an accelerator. None or empty where nothing tells.

    `steps` is how many steps the traces tell, 0 where they tell none, or jobs side by side have different numbers of
    them: the whole then counts as one. `num_ranks` have work, `idle_ranks` of the topology have none. `notes` say what
    is not known though some traces tell it.
    """

    steps: int
    num_ranks: int
    idle_ranks: int
    tokens: int | None
    model_flops: float | None
    accelerator: str
    peak_flops: int | None
    memory_bytes: tuple[int, ...]
    stages: tuple[str, ...]
    capacity_bytes: int
    notes: tuple[str, ...] = ()

    @property
    def counted_steps(self) -> int:
        """What the job's time divides by."""
        return max(self.steps, 1)

    def tokens_per_second(self, time_ps: int) -> float | None:
        return None if self.tokens is None else self.tokens * self.counted_steps / max(time_ps, 1) * 1e12

    def utilisation(self, time_ps: int) -> float | None:
        """Model FLOPs utilisation (MFU, PaLM, arXiv:2204.02311): the share of the accelerators' peak that the model's
        own operations reach."""
        if self.model_flops is None or not self.peak_flops:
            return None
        return self.model_flops * self.counted_steps / (self.peak_flops * max(time_ps, 1) * 1e-12)


def job_facts(
    traces: TraceSet,
    spec: str,
    prediction: Prediction,
    tokens: int | None = None,
    model_flops: float | None = None,
    priced_by: Accelerator | None = None,
) -> JobFacts:
    """What the traces' metadata says; `tokens` and `model_flops` where somebody says otherwise. The peak is that of
    `priced_by`, else of what the traces were priced by, else of what computes in the topology that `spec` names."""
    shared = shared_by_rank(traces)
    metadata = [trace.metadata for trace in shared if len(trace)]
    jobs: dict[object, list[int]] = {}
    for rank, trace in enumerate(shared):
        if len(trace) or JOB in trace.metadata:  # the others are idle ranks beside jobs
            jobs.setdefault(trace.metadata.get(JOB), []).append(rank)
    steps = {job: _steps(prediction, ranks) for job, ranks in jobs.items()}
    unknown = _why_no_totals(traces, jobs, steps)
    told_tokens, told_flops = (_total(traces, jobs, name) if not unknown else None for name in _TOTALS)
    tells = any(name in each for each in metadata for name in _TOTALS)
    memory = _memory(metadata)
    default = installation(spec).accelerator
    computing = [priced_by or _accelerator(each.get("accelerator")) or default for each in metadata]
    names = {found.name: found for found in computing if found}
    return JobFacts(
        steps=next(iter(counts)) if len(counts := {*steps.values()}) == 1 else 0,
        num_ranks=len(metadata),
        idle_ranks=prediction.topology.num_ranks - len(metadata),
        tokens=tokens or (None if told_tokens is None else int(told_tokens)),
        model_flops=model_flops or told_flops,
        accelerator=" and ".join(names),
        peak_flops=_peak(computing, metadata),
        memory_bytes=tuple(memory.values()),
        stages=tuple(memory),
        capacity_bytes=min((found.memory_bytes for found in names.values()), default=0),
        notes=(f"{unknown}: tokens and operations per step are not known",) if unknown and tells else (),
    )


def _steps(prediction: Prediction, ranks: Sequence[int]) -> int:
    """How many steps the traces of these ranks tell, of those with a node that takes time."""
    workload = prediction.workload
    counted = (workload.step != NO_STEP) & (prediction.node_finish_ps > prediction.node_start_ps)
    counted &= np.isin(workload.rank, workload.rows_of(np.array(ranks, np.int64)))
    return len(np.unique(workload.step[counted]))


def _why_no_totals(traces: TraceSet, jobs: Mapping[object, Sequence[int]], steps: Mapping[object, int]) -> str:
    """Why what the traces say of whole jobs does not hold for the ranks that are there; empty where it does."""
    for job, ranks in jobs.items():
        first = traces.traces[ranks[0]].metadata
        there, whole = (len(ranks), JOB_RANKS) if job else (traces.num_ranks, "world_size")
        told = first.get(whole, there)
        if told != there:
            named = f"job '{job}'" if job else "the job"
            return f"{named} has {told} ranks, and there are traces of {there}"
    if len(set(steps.values())) > 1:
        said = ", ".join(f"{count} of '{job}'" for job, count in steps.items())
        return f"the jobs side by side have different numbers of steps ({said})"
    silent = [job for job, ranks in jobs.items() if not {*_TOTALS} & traces.traces[ranks[0]].metadata.keys()]
    return f"job '{silent[0]}' says nothing of its own" if silent else ""


def _total(traces: TraceSet, jobs: Mapping[object, Sequence[int]], name: str) -> float | None:
    """The sum over the jobs of what each says of its whole step; None where one says nothing."""
    told = [traces.traces[ranks[0]].metadata.get(name) for ranks in jobs.values()]
    numbers = [each for each in told if isinstance(each, int | float)]
    return sum(numbers) if numbers and len(numbers) == len(told) else None


def _memory(metadata: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Bytes of the fullest rank of each stage, by what it is called, in the order of jobs and stages."""
    found: dict[tuple[str, int], int] = {}
    for each in metadata:
        stage, size = each.get("stage"), each.get("memory_bytes")
        if isinstance(stage, int) and isinstance(size, int):
            place = str(each.get(JOB, "")), stage
            found[place] = max(size, found.get(place, 0))
    return {f"stage {stage}" + (f" of '{job}'" if job else ""): found[job, stage] for job, stage in sorted(found)}


def _peak(computing: Sequence[Accelerator | None], metadata: Sequence[Mapping[str, object]]) -> int | None:
    """Operations a second of all together, each at its job's precision; None where one's is not known."""
    peaks = []
    for found, each in zip(computing, metadata, strict=True):
        precision = str(each.get("precision", Precision.BF16))
        peak = found.peak.get(Precision(precision)) if found and precision in [*Precision] else None
        if not peak:
            return None
        peaks.append(peak)
    return sum(peaks)


@lru_cache(maxsize=16)
def _accelerator(text: object) -> Accelerator | None:
    if not isinstance(text, str):
        return None
    try:
        return parse_accelerator(text)
    except FormatError:  # of another version, or another tool's word
        return None
