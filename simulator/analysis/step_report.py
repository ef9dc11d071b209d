"""What is known of a job's step, for its report: where the time goes, who would take how long, what would help."""

from collections.abc import Iterable
from dataclasses import dataclass

from hocket.simulator.analysis.job_facts import JobFacts
from hocket.simulator.analysis.step_shares import StepShares
from hocket.simulator.prediction import Prediction

__all__ = ["AS_ASKED", "StepSummary", "WhatIf", "best_changes", "gain_nothing"]

AS_ASKED = "as asked"
"""By whose algorithms a what-if is simulated: by those of the job itself."""
_LEAST_GAIN = 1 / 1000


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One thing changed: a job of `from_ps`, as it was asked for, then takes `to_ps`; `of` says by whose algorithms
    that is simulated."""

    name: str
    of: str
    from_ps: int
    to_ps: int

    @property
    def label(self) -> str:
        """The name, and the algorithms where these are not those asked for."""
        return self.name if self.of == AS_ASKED else f"{self.name} ({self.of})"

    @property
    def gain(self) -> float:
        """The share of the time that it saves; negative where it costs."""
        return 1 - self.to_ps / max(self.from_ps, 1)

    @property
    def helps(self) -> bool:
        """Whether it saves more than 0.1 %."""
        return self.gain > _LEAST_GAIN

    @property
    def matters(self) -> bool:
        """Whether it saves or costs more than that."""
        return abs(self.gain) > _LEAST_GAIN


@dataclass(frozen=True, eq=False)
class StepSummary:
    """A job as it was simulated (`prediction`), how its time divides, and what its traces tell of its model.

    `contenders` are the times of the whole job by whose collectives, picoseconds, and the bound; `what_ifs` are ordered
    by what they gain, the most first; `not_tried` are what-ifs and contenders that cannot be, and why.
    """

    prediction: Prediction
    shares: StepShares
    facts: JobFacts
    contenders: tuple[tuple[str, int], ...] = ()
    what_ifs: tuple[WhatIf, ...] = ()
    not_tried: tuple[tuple[str, str], ...] = ()

    @property
    def step_ps(self) -> float:
        """The mean of the job's steps."""
        return self.prediction.time_ps / self.facts.counted_steps


def best_changes(what_ifs: Iterable[WhatIf]) -> tuple[WhatIf, ...]:
    """The three that gain the most, of those (the most first) that gain anything."""
    return tuple(each for each in what_ifs if each.helps)[:3]


def gain_nothing(what_ifs: Iterable[WhatIf]) -> tuple[str, ...]:
    """Those that neither save nor cost anything to speak of, by their labels."""
    return tuple(each.label for each in what_ifs if not each.matters)
