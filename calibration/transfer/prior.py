"""What public tables tell of every machine, and how far to trust it where.

The file `prior.json` beside this is made from the tables by `python -m hocket.bench.transfer --write`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.effects import Effects
from hocket.calibration.transfer.features import CurveFeatures, CurvePlace, Observed
from hocket.calibration.transfer.fitting import Fit, fit_curves
from hocket.calibration.transfer.prediction import PredictedTimes, predict
from hocket.calibration.transfer.scaling import scaled_us

__all__ = ["LARGE", "MEASURED", "Prior", "Trust", "prior_json", "read_prior", "situation"]

LARGE = 1 << 20
"""Bytes; trust above and up to here is told apart."""

#: How near the machines that were measured are to the one that is asked.
MEASURED, KIN, PARTS, STRANGE = "measured itself", "of a kind that was measured", "of parts that were", "never measured"

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trust:
    """`weight` of the prediction (in logarithms) beside NCCL's own time, or that scaled by what was measured; and the
    factor on its spread."""

    weight: float
    stretch: float


@dataclass(frozen=True, eq=False)
class Prior:
    """`effects` of all machines; `known`, generations with their fabrics that were measured; `trust` by situation, and
    `spread` of measured over NCCL's own time (logarithms), each up to LARGE and above it."""

    effects: Effects
    known: frozenset[tuple[str, str]]
    trust: Mapping[str, tuple[Trust, Trust]]
    spread: tuple[float, float]

    def adapted(self, curves: Sequence[Observed]) -> Fit:
        """To a machine's own measurements."""
        return fit_curves(curves, self.effects)

    def situation(self, place: CurvePlace) -> str:
        return situation(place, self.known)

    def knows(self, place: CurvePlace) -> bool:
        """Whether other machines tell anything of it."""
        return self.situation(place) != STRANGE

    def predict(self, features: CurveFeatures, own: Fit | None = None) -> PredictedTimes:
        """By the prior, or by its adaptation to `own` measurements of the machine."""
        found = MEASURED if own is not None else self.situation(features.place)
        seen = own.curve_at(features.place) if own is not None else None
        large = features.size_bytes > LARGE
        nccl = np.log(features.expected_us)
        if found == STRANGE:
            return PredictedTimes(nccl, np.where(large, self.spread[1], self.spread[0]))
        predicted = predict(own or Fit(self.effects, ()), features)
        small, big = self.trust.get(found, (Trust(1.0, 1.0),) * 2)
        weight = np.where(large, big.weight, small.weight)
        if own is not None:
            nccl = np.log(scaled_us(seen.observed, features)) if seen else predicted.log_us
        log_us = weight * predicted.log_us + (1 - weight) * nccl
        return PredictedTimes(log_us, predicted.spread * np.where(large, big.stretch, small.stretch))


def situation(place: CurvePlace, known: frozenset[tuple[str, str]]) -> str:
    """Of a machine of which no own measurements are known."""
    if place.known_by in known:
        return KIN
    parts = {generation for generation, _ in known}, {fabric for _, fabric in known}
    return PARTS if place.generation in parts[0] and place.fabric in parts[1] else STRANGE


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """`covariance` has the rows of its lower triangle."""

    format: str
    tables: list[str]
    known: list[tuple[str, str]]
    trust: dict[str, list[tuple[float, float]]]
    spread: tuple[float, float]
    names: list[str]
    mean: list[float]
    covariance: list[list[float]]


_FORMAT = "hocket.transfer 1"


def prior_json(prior: Prior, tables: Sequence[str]) -> str:
    """The file's text, to six digits."""
    effects = prior.effects
    trust = {key: [(each.weight, _digits(each.stretch)) for each in both] for key, both in prior.trust.items()}
    content: dict[str, Any] = msgspec.to_builtins(
        _File(
            _FORMAT,
            list(tables),
            sorted(prior.known),
            trust,
            (_digits(prior.spread[0]), _digits(prior.spread[1])),
            list(effects.names),
            [_digits(value) for value in effects.mean.tolist()],
            [[_digits(value) for value in row[: at + 1]] for at, row in enumerate(effects.covariance.tolist())],
        )
    )
    lines = [f"  {msgspec.json.encode(key).decode()}: {_lines(value)}" for key, value in content.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


@lru_cache(maxsize=1)
def read_prior() -> Prior:
    """The one that Hocket ships."""
    text = Path(__file__).with_name("prior.json").read_bytes()
    file = msgspec.json.decode(text, type=_File)
    covariance = np.zeros((len(file.names),) * 2)
    for at, row in enumerate(file.covariance):
        covariance[at, : at + 1] = covariance[: at + 1, at] = row
    trust = {key: (Trust(*small), Trust(*big)) for key, (small, big) in file.trust.items()}
    effects = Effects(tuple(file.names), np.array(file.mean), covariance)
    return Prior(effects, frozenset(file.known), trust, file.spread)


def _digits(value: float) -> float:
    return float(f"{value:.6g}")


def _lines(value: Any) -> str:
    """JSON with a line for each part of a long list."""
    if isinstance(value, list) and len(value) > 8:
        return "[\n    " + ",\n    ".join(msgspec.json.encode(each).decode() for each in value) + "\n  ]"
    return msgspec.json.encode(value).decode()
