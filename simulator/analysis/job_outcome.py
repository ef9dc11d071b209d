"""What became of one job of many: what a step report says of it, small enough to keep; or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from hocket.base.enums import StrEnum
from hocket.simulator.analysis.step_report import StepSummary
from hocket.simulator.analysis.step_shares import Activity, StepPart

__all__ = ["DimensionTime", "JobOutcome", "PartTime", "SkipReason", "outcome_of"]


class SkipReason(StrEnum):
    """Why a job was not simulated: no such plan of this model on these ranks, less memory than it needs, what the
    simulation refuses, or that it did not end (a process that died, or a limit of time)."""

    PLAN = "plan"
    MEMORY = "memory"
    SIMULATION = "simulation"
    FAILURE = "failure"

    @property
    def words(self) -> str:
        """As of several of them."""
        return _WORDS[self]


_WORDS = {
    SkipReason.PLAN: "impossible plans",
    SkipReason.MEMORY: "over the memory",
    SkipReason.SIMULATION: "refused by the simulation",
    SkipReason.FAILURE: "failed; --retry-failed asks again",
}


@dataclass(frozen=True, slots=True)
class PartTime:
    """A part of a rank's step in picoseconds: the mean over ranks, the least and the most of a rank."""

    part: StepPart
    mean_ps: float
    least_ps: float
    most_ps: float


@dataclass(frozen=True, slots=True)
class DimensionTime:
    """Communication of a parallel dimension, picoseconds a rank and step, and how much of it computation does not
    hide."""

    dimension: str
    communication_ps: float
    exposed_ps: float


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Of a step on `ranks` accelerators: `step_ps` and `bound_ps`, the mean step and the least that any schedule needs;
    tokens per second, the model FLOPs utilisation; `memory_bytes` of the fullest rank and the accelerator's
    `capacity_bytes`, 0 where nothing tells; the longest computation over the mean, less one; `parts` that add up to the
    step. Of a job that was `skipped`, a sentence, what is known without a simulation, and `because`."""

    ranks: int = 0
    step_ps: float = -1
    bound_ps: float = -1
    tokens_per_second: float | None = None
    utilisation: float | None = None
    accelerator: str = ""
    memory_bytes: int = 0
    capacity_bytes: int = 0
    imbalance: float = 0
    parts: tuple[PartTime, ...] = ()
    dimensions: tuple[DimensionTime, ...] = ()
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: str = ""
    because: SkipReason | None = None

    @property
    def fits(self) -> bool:
        """Whether it has the memory, where that is known."""
        return not 0 < self.capacity_bytes < self.memory_bytes

    @property
    def ratio(self) -> float:
        """The step over its bound."""
        return self.step_ps / self.bound_ps if self.bound_ps > 0 else 1.0

    @property
    def rate(self) -> float:
        """What a rank gets done in a second: tokens, or parts of a step where nobody says how many tokens it has."""
        whole = 1e12 / max(self.step_ps, 1) if self.tokens_per_second is None else self.tokens_per_second
        return whole / max(self.ranks, 1)

    def share(self, activity: Activity) -> float:
        """Of the step, the part in which this goes on, in all dimensions."""
        return sum(each.mean_ps for each in self.parts if each.part.activity is activity) / max(self.step_ps, 1)


def outcome_of(step: StepSummary) -> JobOutcome:
    """What is kept of a step report."""
    facts, shares, prediction, steps = step.facts, step.shares, step.prediction, step.facts.counted_steps
    least, most = shares.times_ps.min(axis=1).tolist(), shares.times_ps.max(axis=1).tolist()
    overlap, ranks = shares.overlap, prediction.workload.job_ranks * steps
    columns = (overlap[name].tolist() for name in ("dimension", "communication_ps", "exposed_ps"))
    return JobOutcome(
        ranks=facts.num_ranks,
        step_ps=step.step_ps,
        bound_ps=prediction.bound_ps / steps,
        tokens_per_second=facts.tokens_per_second(prediction.time_ps),
        utilisation=facts.utilisation(prediction.time_ps),
        accelerator=facts.accelerator,
        memory_bytes=max(facts.memory_bytes, default=0),
        capacity_bytes=facts.capacity_bytes,
        imbalance=float(shares.imbalance),
        parts=tuple(
            PartTime(part, mean / steps, low / steps, high / steps)
            for part, mean, low, high in zip(shares.parts, shares.means_ps.tolist(), least, most, strict=True)
        ),
        dimensions=tuple(
            DimensionTime(name, whole / ranks, exposed / ranks) for name, whole, exposed in zip(*columns, strict=True)
        ),
        assumed=tuple(prediction.assumed),
        notes=tuple([*prediction.warnings, *facts.notes, *prediction.notes]),
    )
