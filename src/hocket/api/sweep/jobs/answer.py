"""Answers one point of a sweep over jobs."""

from __future__ import annotations

from functools import lru_cache

from hocket.api.generate.llm import GeneratedJob, generated
from hocket.api.generate.request import LlmGeneration
from hocket.api.generate.target import ranks_there
from hocket.api.progress import SILENT
from hocket.api.step.summary import simulated_step
from hocket.api.sweep.jobs.point import JobPoint
from hocket.base.errors import HocketError, RequestError
from hocket.base.units import format_bytes
from hocket.simulator.analysis import (
    JobOutcome,
    SkipReason,
    outcome_of,
)

__all__ = ["answer", "failed_outcome"]


def answer(point: JobPoint) -> JobOutcome:
    """What became of the point's job; what cannot be done is an answer too."""
    made = None
    if point.generation is not None:
        try:
            made = _made(point.generation, tuple(point.files()))
        except HocketError as error:
            return JobOutcome(skipped=str(error), because=SkipReason.PLAN)
        if not made.fits and not point.over_memory:
            return _too_large(made)
    try:
        return outcome_of(simulated_step(point.step, made.traces if made else None, SILENT).summary)
    except HocketError as error:
        return JobOutcome(skipped=str(error), because=SkipReason.SIMULATION)


def failed_outcome(reason: str) -> JobOutcome:
    """What a point has whose simulation did not end."""
    return JobOutcome(skipped=reason, because=SkipReason.FAILURE)


@lru_cache(maxsize=1)  # the next point is the same job, often, on the same topology by other algorithms
def _made(generation: LlmGeneration, files: tuple[str, ...]) -> GeneratedJob:
    """The job of these files."""
    if generation.dp is None and generation.topology is not None:
        there, ranks = ranks_there(generation.topology), generation.tp * generation.pp * generation.cp
        if there % ranks:
            raise RequestError(
                f"tp * pp * cp = {ranks} does not divide the {there} ranks of {generation.topology}: choose others, or"
                " say dp and leave ranks idle"
            )
    return generated(generation)


def _too_large(made: GeneratedJob) -> JobOutcome:
    has = made.accelerator.memory_bytes
    return JobOutcome(
        ranks=made.plan.num_ranks,
        accelerator=made.accelerator.name,
        memory_bytes=made.needs_bytes,
        capacity_bytes=has,
        skipped=f"a rank needs {format_bytes(made.needs_bytes)}, and {made.accelerator.name} has {format_bytes(has)}",
        because=SkipReason.MEMORY,
    )
