"""One claim of a paper: what was published, how Hocket measures it, and what that says of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from time import process_time

import msgspec

from hocket.base.errors import HocketError

__all__ = ["Claim", "ClaimStatus", "ClaimVerdict", "Figures", "Measure", "judge"]

_DIGITS = 6  # significant ones that are kept of a measured number
_ROUNDING = 1e-9  # what the arithmetic of floats may add to half a digit

Figures = Mapping[str, float]
Measure = Callable[[], Figures]


class ClaimStatus(StrEnum):
    """What a measurement says of a claim, from best to worst, and why there is none."""

    EXACT = "exact"
    WITHIN = "within"
    TREND = "trend"
    REFUTED = "refuted-because"
    NOT_SPECIFIED = "not-specified"
    OUT_OF_REACH = "out-of-reach"
    NOT_YET = "not-yet"
    FAILED = "failed"


_ORDER = list(ClaimStatus)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """`published` has the figures as they are printed ("15.17"), so that "equal" means: to the last digit printed.

    `measure` gives figures under the same names (and others, for context); `thorough` takes its place where there is
    time, and gives what it gives and more: a published figure may be among that. `physical` gives them again under
    Hocket's physical models where `measure` reproduces another simulator's. `tolerance` is relative. `holds` is what
    the claim says besides its digits: an order, a direction, a sign. `unresolved` is the status of a claim that no
    measurement decides: what the paper leaves out, hardware that is absent, a model that is not there yet.
    """

    id: str
    where: str
    claim: str
    setup: str
    published: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    tolerance: float = 0.0
    measure: Measure | None = None
    thorough: Measure | None = None
    physical: Measure | None = None
    holds: Callable[[Figures], bool] | None = None
    unresolved: ClaimStatus | None = None
    because: str = ""


class ClaimVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a claim: a line of the results. `status` is that of the claim about networks, `reproduced` that of
    the figures in the model that they came from, where that is another; times are processor seconds."""

    id: str
    where: str
    claim: str
    setup: str
    status: ClaimStatus
    published: dict[str, str] = {}
    measured: dict[str, float] = {}
    physical: dict[str, float] = {}
    unit: str = ""
    tolerance: float = 0.0
    reproduced: ClaimStatus | None = None
    because: str = ""
    error: str = ""
    seconds: float = 0.0
    quick: bool = False

    def is_of(self, claim: Claim, *, quick: bool) -> bool:
        """Whether it is what would be measured now: of this declaration, and no quicker than wanted."""
        told = ("where", "claim", "setup", "unit", "tolerance", "published")
        same = all(getattr(self, name) == getattr(claim, name) for name in told)
        same = same and claim.because in ("", self.because)
        return same and self.status is not ClaimStatus.FAILED and (quick or not self.quick or claim.thorough is None)


def judge(claim: Claim, *, quick: bool = True) -> ClaimVerdict:
    """Measures a claim. What Hocket cannot do makes it `failed`, with the error."""
    start = process_time()
    try:
        measured = _kept(claim.measure if quick or claim.thorough is None else claim.thorough)
        physical = _kept(claim.physical)
    except HocketError as error:
        return _verdict(claim, ClaimStatus.FAILED, error=str(error), seconds=process_time() - start)
    reproduced = agreement(claim, measured) if measured and claim.physical else None
    status = claim.unresolved or agreement(claim, physical or measured)
    because = claim.because
    if status is ClaimStatus.REFUTED and not because:
        because = _difference(claim, physical or measured)
    return msgspec.structs.replace(
        _verdict(claim, status, seconds=process_time() - start),
        measured=measured,
        physical=physical,
        reproduced=reproduced,
        because=because,
        quick=quick,
    )


def agreement(claim: Claim, measured: Figures) -> ClaimStatus:
    """How far the figures are the published ones: the worst of them decides."""
    if claim.holds is not None and not claim.holds(measured):
        return ClaimStatus.REFUTED
    found = max((_closeness(claim, name, measured) for name in claim.published), key=_ORDER.index, default=None)
    if found is None:  # nothing but an order or a direction was published
        return ClaimStatus.TREND if claim.holds else ClaimStatus.REFUTED
    return ClaimStatus.TREND if found is ClaimStatus.REFUTED and claim.holds else found


def _closeness(claim: Claim, name: str, measured: Figures) -> ClaimStatus:
    if name not in measured:
        return ClaimStatus.REFUTED
    expected = Decimal(claim.published[name])
    digit = 10.0 ** int(expected.as_tuple().exponent)
    difference = abs(measured[name] - float(expected))
    if difference <= digit / 2 * (1 + _ROUNDING):
        return ClaimStatus.EXACT
    return ClaimStatus.WITHIN if difference <= claim.tolerance * abs(float(expected)) else ClaimStatus.REFUTED


def _difference(claim: Claim, measured: Figures) -> str:
    differ = [name for name in claim.published if _closeness(claim, name, measured) is ClaimStatus.REFUTED]
    found = {name: f"{measured[name]:g}" if name in measured else "nothing" for name in differ}
    return "; ".join(f"{name}: {found[name]} instead of {claim.published[name]}" for name in differ)


def _kept(measure: Measure | None) -> dict[str, float]:
    """The figures with as many digits as are worth keeping, the same on every machine."""
    figures = {} if measure is None else measure()
    return {name: float(f"{value:.{_DIGITS}g}") for name, value in figures.items()}


def _verdict(claim: Claim, status: ClaimStatus, *, error: str = "", seconds: float = 0.0) -> ClaimVerdict:
    return ClaimVerdict(
        id=claim.id,
        where=claim.where,
        claim=claim.claim,
        setup=claim.setup,
        status=status,
        published=dict(claim.published),
        unit=claim.unit,
        tolerance=claim.tolerance,
        because=claim.because,
        error=error,
        seconds=round(seconds, 3),
    )
