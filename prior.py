"""What all measured machines together say of another: the weights of the effects, what was seen at all, and how far to
trust them, which is chosen by leaving out one of the machines after the other.

Where a generation, a fabric, or an algorithm and protocol was never seen, NCCL's own model answers; scaled to what was
measured of the machine, if anything was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from hocket.calibration.transfer.anchors import SMALL, scaled
from hocket.calibration.transfer.curve import Curve
from hocket.calibration.transfer.fit import Fit, Weights, fit, where_measured
from hocket.calibration.transfer.predict import predict
from numpy.typing import NDArray

__all__ = ["NINETY", "Answer", "Prior", "Rule", "answer", "facts_of"]

NINETY = 1.6449  # standard deviations, both ways: 90 %

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rule:
    """How much the form counts beside NCCL's model (0 to 1), up to SMALL and above it; `stretch` of its intervals, and
    `spread` (sd of the logarithm) of NCCL's model alone."""

    small: float = 1.0
    large: float = 1.0
    stretch: float = 1.0
    spread: float = 0.3


@dataclass(frozen=True, eq=False)
class Prior:
    """`seen`: facts of the curves that were fitted; rules for machines of which nothing was measured, and something."""

    weights: Weights
    seen: frozenset[str]
    unmeasured: Rule
    measured: Rule


@dataclass(frozen=True, eq=False)
class Answer:
    """Times (us) of a curve's sizes, within `low` and `high` in 90 of 100 curves; `unseen`: at each size, what was
    never measured, so that it is NCCL's model that answers."""

    time_us: _Floats
    low_us: _Floats
    high_us: _Floats
    unseen: tuple[str, ...]


def facts_of(curve: Curve) -> list[str]:
    """What has to have been seen, for each size."""
    where = "between nodes" if curve.machines > 1 else "inside a node"
    common = [curve.generation, *([f"{curve.fabric} between nodes"] if curve.fabric else [])]
    common += ["NVLink between hosts"] if curve.joined else []
    return ["\n".join([*common, f"{chosen} {where}"]) for chosen in curve.chosen]


def answer(prior: Prior, curve: Curve, own: Sequence[Curve] = ()) -> Answer:
    """Of a curve of a machine of which `own` was measured, if anything."""
    rows = where_measured(own)
    fitted = fit(rows, prior.weights) if rows else Fit(prior.weights, ())
    rule = prior.measured if rows else prior.unmeasured
    said = predict(fitted, curve)
    plain = scaled(curve, rows)
    unseen = tuple(_unseen(prior, each) for each in facts_of(curve))
    trusted = np.array([not each for each in unseen])
    share = np.where(trusted, np.where(curve.sizes <= SMALL, rule.small, rule.large), 0.0)
    time = np.exp(share * np.log(said.time_us) + (1 - share) * np.log(plain))
    off = NINETY * np.where(trusted, rule.stretch * said.spread, rule.spread)
    return Answer(time, time * np.exp(-off), time * np.exp(off), unseen)


def _unseen(prior: Prior, facts: str) -> str:
    return next((fact for fact in facts.split("\n") if fact not in prior.seen), "")


def as_unknown(curves: Iterable[Curve]) -> list[Curve]:
    """The curves as if nothing had been measured."""
    return [replace(curve, time_us=np.full(len(curve.sizes), np.nan)) for curve in curves]
