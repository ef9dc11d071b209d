"""What the page of a step shows beside its prediction, as the JSON of `hocket step` has it."""

from typing import Annotated

import msgspec
import numpy as np

from hocket.simulator.analysis import Activity, StepPart, StepShares, StepSummary, StoredForm, WhatIf, alike

__all__ = ["StepFacts", "StoredStep", "step_facts"]

_MOST_GROUPS = 32
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_Rate = Annotated[float, msgspec.Meta(ge=0, lt=1e30)]


class PartRow(msgspec.Struct, frozen=True):
    """A part of the ranks' time, in picoseconds of all steps: the mean over the ranks, its share of the whole, and the
    least and the most of a rank."""

    activity: Activity
    dimension: str
    mean_ps: _Rate
    share: _Rate
    least_ps: _Count
    most_ps: _Count

    @property
    def part(self) -> StepPart:
        return StepPart(self.activity, self.dimension)


class GroupParts(msgspec.Struct, frozen=True):
    """Ranks that divide their time alike, or that follow each other, and their mean of each part."""

    name: str
    parts_ps: list[_Rate]


class DimensionRow(msgspec.Struct, frozen=True):
    """`StepShares.overlap`: sums over the ranks."""

    dimension: str
    communication_ps: _Count
    exposed_ps: _Count
    waited_ps: _Count


class ContenderRow(msgspec.Struct, frozen=True):
    """The time of the whole job by whose collectives."""

    name: str
    time_ps: _Count


class WhatIfRow(msgspec.Struct, frozen=True):
    """`WhatIf`."""

    name: str
    of: str
    from_ps: _Count
    to_ps: _Count
    gain: float


class NotTriedRow(msgspec.Struct, frozen=True):
    """What could not be simulated, and why."""

    name: str
    why: str


class StepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`StepSummary` but for its prediction. `ranks` of the job, of which `simulated_ranks` were, `working_ranks` have
    work, `accelerators` of the topology; `memory_bytes` of the fullest rank of each of `stages`; rates per second."""

    topology: str
    assumed: list[str]
    notes: list[str]
    ranks: _Count
    simulated_ranks: _Count
    working_ranks: _Count
    accelerators: _Count
    accelerator: str
    steps: _Count
    time_ps: _Count
    step_ps: _Rate
    bound_ps: _Count
    ratio: _Rate
    idle_ranks: _Count
    tokens: _Count | None
    tokens_per_second: _Rate | None
    model_flops_utilisation: _Rate | None
    memory_bytes: list[_Count]
    stages: list[str]
    capacity_bytes: _Count
    imbalance: float
    parts: Annotated[list[PartRow], msgspec.Meta(min_length=1, max_length=24)]  # more have no colours
    rank_groups: list[GroupParts]
    dimensions: list[DimensionRow]
    contenders: Annotated[list[ContenderRow], msgspec.Meta(min_length=1)]
    what_ifs: list[WhatIfRow]
    not_tried: list[NotTriedRow]

    @property
    def counted_steps(self) -> int:
        """What the job's time divides by."""
        return max(self.steps, 1)

    @property
    def changes(self) -> list[WhatIf]:
        """`what_ifs`, the one that gains the most first."""
        return [WhatIf(each.name, each.of, each.from_ps, each.to_ps) for each in self.what_ifs]


class StoredStep(StepFacts, frozen=True, kw_only=True):
    """All of the JSON."""

    prediction: StoredForm


def step_facts(step: StepSummary) -> StepFacts:
    """Those of a step."""
    prediction, facts, shares = step.prediction, step.facts, step.shares
    return StepFacts(
        topology=prediction.topology.name,
        assumed=[*prediction.assumed],
        notes=[*facts.notes, *prediction.notes, *prediction.warnings],
        ranks=prediction.workload.job_ranks,
        simulated_ranks=prediction.workload.num_ranks,
        working_ranks=facts.num_ranks,
        accelerators=prediction.topology.num_ranks,
        accelerator=facts.accelerator,
        steps=facts.steps,
        time_ps=prediction.time_ps,
        step_ps=step.step_ps,
        bound_ps=prediction.bound_ps,
        ratio=prediction.ratio,
        idle_ranks=facts.idle_ranks,
        tokens=facts.tokens,
        tokens_per_second=facts.tokens_per_second(prediction.time_ps),
        model_flops_utilisation=facts.utilisation(prediction.time_ps),
        memory_bytes=[*facts.memory_bytes],
        stages=[*facts.stages],
        capacity_bytes=facts.capacity_bytes,
        imbalance=shares.imbalance,
        parts=_parts(shares),
        rank_groups=_rank_groups(shares),
        dimensions=[
            DimensionRow(*row) for row in zip(*(column.tolist() for column in shares.overlap.values()), strict=True)
        ],
        contenders=[ContenderRow(name, time_ps) for name, time_ps in step.contenders],
        what_ifs=[WhatIfRow(each.name, each.of, each.from_ps, each.to_ps, each.gain) for each in step.what_ifs],
        not_tried=[NotTriedRow(name, why) for name, why in step.not_tried],
    )


def _parts(shares: StepShares) -> list[PartRow]:
    whole = max(shares.time_ps, 1)
    columns = (shares.means_ps, shares.times_ps.min(axis=1), shares.times_ps.max(axis=1))
    return [
        PartRow(part.activity, part.dimension, mean, mean / whole, least, most)
        for part, mean, least, most in zip(shares.parts, *(column.tolist() for column in columns), strict=True)
    ]


def _rank_groups(shares: StepShares) -> list[GroupParts]:
    rounded = np.rint(shares.times_ps * 1000 / max(shares.time_ps, 1)).astype(np.int64)
    groups = alike(rounded, _MOST_GROUPS)
    return [GroupParts(group.name, shares.times_ps[:, group.ranks].mean(axis=1).tolist()) for group in groups]
