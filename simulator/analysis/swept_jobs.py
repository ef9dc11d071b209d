"""Many jobs side by side: which are the best on each topology, and which none other beats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from hocket.simulator.analysis.dimensions import in_order
from hocket.simulator.analysis.job_outcome import JobOutcome, SkipReason
from hocket.simulator.analysis.step_shares import Activity, StepPart

__all__ = ["SweptJob", "SweptJobs"]

_NUMBER = re.compile(r"\d[\d,.]*")
_OF_SIMULATION = ("algorithm", "library", "model")


@dataclass(frozen=True, eq=False)
class SweptJob:
    """A job of a sweep: its `number` there, from 1 on; `what` is trained, a model or a folder of traces; the topology;
    `settings`, by name what tells it from others of the sweep, a switch without a value; and the `commands` that say
    all of it."""

    number: int
    what: str
    topology: str
    settings: Mapping[str, str]
    commands: Sequence[str]
    outcome: JobOutcome

    @property
    def name(self) -> str:
        """Its settings in a line: `tp 8, pp 4, dp 2, zero 1`."""
        return ", ".join(f"{name} {value}".strip() for name, value in self.settings.items()) or "as it is"


@dataclass(frozen=True, eq=False)
class SweptJobs:
    """All jobs of a sweep, in its order."""

    jobs: Sequence[SweptJob]

    @cached_property
    def done(self) -> Sequence[SweptJob]:
        """Those that were simulated."""
        return [job for job in self.jobs if not job.outcome.skipped]

    @cached_property
    def skipped(self) -> Mapping[SkipReason, Sequence[SweptJob]]:
        """The others by why not, the most frequent reason first."""
        reasons = Counter(job.outcome.because for job in self.jobs if job.outcome.because is not None)
        return {
            reason: [job for job in self.jobs if job.outcome.because is reason] for reason, _ in reasons.most_common()
        }

    @cached_property
    def rivals(self) -> Mapping[tuple[str, str], Sequence[SweptJob]]:
        """The simulated jobs that fit their memory, by what is trained and the topology: those that can be chosen
        among. The fastest first; of equally fast ones the one that needs less memory."""
        found: dict[tuple[str, str], list[SweptJob]] = {}
        for job in self.done:
            if job.outcome.fits:
                found.setdefault((job.what, job.topology), []).append(job)
        return {
            key: sorted(jobs, key=lambda job: (-job.outcome.rate, job.outcome.memory_bytes, job.number))
            for key, jobs in found.items()
        }

    @property
    def best(self) -> Iterator[SweptJob]:
        """The fastest of each model on each topology."""
        return (jobs[0] for jobs in self.rivals.values())

    @cached_property
    def pareto(self) -> frozenset[int]:
        """The numbers of those that no rival beats in speed without needing as much memory, or more."""
        found: set[int] = set()
        for jobs in self.rivals.values():
            least: int | None = None
            for job in jobs:
                if least is None or job.outcome.memory_bytes < least:
                    least = job.outcome.memory_bytes
                    found.add(job.number)
        return frozenset(found)

    @property
    def unlike(self) -> Iterator[str]:
        """Which jobs that are compared, of one model on one topology by the same algorithms, assume one thing where
        others of them assume another, numbers aside: in sentences."""
        compared: dict[tuple[str, ...], list[SweptJob]] = {}
        for job in self.done:
            key = (job.what, job.topology, *(job.settings.get(name, "") for name in _OF_SIMULATION))
            compared.setdefault(key, []).append(job)
        for (what, topology, *_), jobs in compared.items():
            said = [{_NUMBER.sub("N", each): each for each in job.outcome.assumed} for job in jobs]
            first = {sort: sentence for each in reversed(said) for sort, sentence in each.items()}
            for one, other in combinations(sorted(first), 2):
                counts = [sum(sort in each for each in said) for sort in (one, other)]
                of_one_thing = one.split()[:2] == other.split()[:2]
                if of_one_thing and not any(one in each and other in each for each in said):
                    yield f"{len(jobs)} points of {what} on {topology} are not simulated alike:"
                    yield from (f"  {n} of them: {first[sort]}" for n, sort in zip(counts, (one, other), strict=True))

    @cached_property
    def parts(self) -> Sequence[StepPart]:
        """The parts of all steps, in the order of a step report."""
        seen = {each.part for job in self.done for each in job.outcome.parts}
        dimensions, activities = in_order({part.dimension for part in seen}), list(Activity)
        return sorted(seen, key=lambda part: (activities.index(part.activity), dimensions.index(part.dimension)))
