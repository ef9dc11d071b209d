"""What the page of a validation shows, as the JSON of `hocket validate` has it."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
import numpy as np

from hocket.simulator import Prediction
from hocket.simulator.analysis import CollectiveErrors, StepErrors, Validation

__all__ = ["CollectiveErrorRow", "ErrorFacts", "StepErrorRow", "ValidationFacts", "validation_facts"]

_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class CollectiveErrorRow(msgspec.Struct, frozen=True):
    """`CollectiveErrors` of a kind, dimension and number of ranks; noise None where it is not known."""

    kind: str
    dimension: str
    ranks: _Count
    size_bytes: _Count
    largest_bytes: _Count
    algorithm: str
    count: Annotated[int, msgspec.Meta(ge=1, lt=2**62)]
    recorded_ps: _Count
    predicted_ps: _Count
    error: float
    noise: float | None
    because: str


class StepErrorRow(msgspec.Struct, frozen=True):
    """`StepErrors`; step -1: the whole job."""

    step: int
    recorded_ps: _Count
    predicted_ps: _Count
    error: float
    recorded_exposed_ps: _Count
    predicted_exposed_ps: _Count


class ErrorFacts(msgspec.Struct, frozen=True):
    """`Validation`: what is not known is None."""

    step_error: float | None
    median_error: float | None
    p90_error: float | None
    noise: float | None
    collectives: list[CollectiveErrorRow]
    near: list[CollectiveErrorRow]
    steps: list[StepErrorRow]


class ValidationFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The errors of a prediction on the topology of that name, and, where it was fitted to some steps, those of the
    other steps before and after."""

    topology: str
    ranks: _Count
    assumed: list[str]
    notes: list[str]
    predicted: ErrorFacts
    not_fitted_predicted: ErrorFacts | None = None
    not_fitted_corrected: ErrorFacts | None = None


def validation_facts(
    prediction: Prediction, plain: Validation, fitted: tuple[Validation, Validation] | None, notes: Sequence[str]
) -> ValidationFacts:
    """Those of a job; `fitted` are the errors of steps that were not fitted to, before and after."""
    before, after = (None, None) if fitted is None else map(_errors, fitted)
    return ValidationFacts(
        topology=prediction.topology.name,
        ranks=prediction.workload.job_ranks,
        assumed=[*prediction.assumed],
        notes=[*notes, *prediction.notes],
        predicted=_errors(plain),
        not_fitted_predicted=before,
        not_fitted_corrected=after,
    )


def _errors(found: Validation) -> ErrorFacts:
    return ErrorFacts(
        step_error=found.step_error,
        median_error=found.error_at(50),
        p90_error=found.error_at(90),
        noise=found.noise,
        collectives=[*map(_collective, found.collectives)],
        near=[*map(_collective, found.near)],
        steps=[*map(_step, found.steps)],
    )


def _collective(found: CollectiveErrors) -> CollectiveErrorRow:
    return CollectiveErrorRow(
        kind=str(found.sort.kind),
        dimension=found.sort.dimension,
        ranks=found.sort.ranks,
        size_bytes=found.sort.size_bytes,
        largest_bytes=found.largest_bytes,
        algorithm=found.algorithm,
        count=found.count,
        recorded_ps=found.recorded_ps,
        predicted_ps=found.predicted_ps,
        error=found.error,
        noise=None if np.isnan(found.noise) else found.noise,
        because=found.because,
    )


def _step(found: StepErrors) -> StepErrorRow:
    return StepErrorRow(
        found.step,
        found.recorded_ps,
        found.predicted_ps,
        found.error,
        found.recorded_exposed_ps,
        found.predicted_exposed_ps,
    )
