"""Who of several costs more than chance would have it, in all of a job or from some time on to its end.

Who is named is then left out, and the others are held against chance without it (Westfall and Young's step-down): of
two slow ones, which cost as much, the second is beyond the chance of all but the first. The chance of naming anybody
wrongly stays what it is.

What was lost in one long while is not told from another program's load (`chance`). What began late and goes on to the
end is even from its begin on: so of whom the whole job tells nothing, its last half and its last quarter are held
against chance by themselves, each at half of the level: at most twice the level in all.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.chance import Chance, CostTable, against_chance

__all__ = ["Onset", "since_onset"]

_PARTS = (2, 4)  # the last half, the last quarter
_BLOCKS = 24  # of two in four that cost the same, in blocks unlike each other, fewer do not tell


class Onset(NamedTuple):
    """The verdict of chance, and of each unit of what last part of the job it is: of its 1 / `part`."""

    chance: Chance
    part: NDArray[np.int64]


def since_onset(tables: Sequence[CostTable], units: int, worth_ns: float, level: float) -> Onset:
    """As `against_chance`; of units that are named by an end of the job the excess is of that end."""
    found = _step_down(tables, units, worth_ns, level)
    part = np.ones(units, np.int64)
    for divisor in _PARTS:
        if (found.chance <= level).all():
            break
        ends = [CostTable(places, sums[:, sums.shape[1] - sums.shape[1] // divisor :]) for places, sums in tables]
        late = _step_down(ends, units, worth_ns, level / len(_PARTS))
        begun = (found.chance > level) & (late.chance <= level / len(_PARTS)) & (late.excess >= worth_ns)
        part[begun] = divisor
        found = found._replace(
            excess=np.where(begun, late.excess, found.excess),
            chance=np.where(begun, late.chance, found.chance),
            too_few=found.too_few & ~begun,
            unsettled=found.unsettled & ~begun,
        )
    return Onset(found, part)


def _step_down(tables: Sequence[CostTable], units: int, worth_ns: float, level: float) -> Chance:
    """As `against_chance`, and so again without those who are named, as long as somebody is. What a unit costs more
    than the others remains what it is among all."""
    found = against_chance(tables, units, worth_ns, level, _BLOCKS)
    excess, new = found.excess, found.chance <= level
    while new.any() and (candidates := (excess >= worth_ns) & (found.chance > level)).any():
        kept = [(places, found.chance[places] > level, sums) for places, sums in tables]
        rest = [CostTable(places[stay], sums[stay]) for places, stay, sums in kept]
        later = against_chance(rest, units, worth_ns, level, _BLOCKS)
        new = candidates & (later.chance <= level)
        found = found._replace(
            excess=np.where(new, excess, found.excess),
            chance=np.where(new, later.chance, found.chance),
            too_few=found.too_few & ~new,
            unsettled=found.unsettled & ~new,
        )
    return found
