"""What lets times differ from NCCL's model: effects of hardware and fabric, normal around what other machines told.

A time is L latency + C sqrt(latency transfer) + B transfer. The logarithms of L, C and B are sums of effects, one of
every group below; the standard deviations are those of `docs/transfer.md`, which says where they come from.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.transfer.features import CurvePlace

__all__ = ["TERMS", "Effects", "labels"]

TERMS = ("latency", "filling", "transfer")

#: (term, group): the standard deviation of its effects, in logarithms of time.
_GROUPS: dict[tuple[str, str], float] = {
    ("latency", "all"): 0.15,
    ("latency", "choice"): 0.2,
    ("latency", "fabric"): 1.0,
    ("latency", "generation and fabric"): 0.2,
    ("latency", "generation and choice"): 0.1,
    ("latency", "collective"): 0.1,
    ("latency", "machine"): 0.2,
    ("latency", "machine of an uneven fabric"): 0.4,
    ("latency", "machine and choice"): 0.1,
    ("filling", "all"): 0.4,
    ("filling", "choice"): 0.4,
    ("filling", "fabric"): 0.3,
    ("filling", "generation and fabric"): 0.2,
    ("filling", "machine"): 0.2,
    ("filling", "machine of an uneven fabric"): 0.4,
    ("filling", "machine and choice"): 0.15,
    ("transfer", "all"): 0.05,
    ("transfer", "choice"): 0.1,
    ("transfer", "fabric"): 0.15,
    ("transfer", "generation and fabric"): 0.1,
    ("transfer", "generation and choice"): 0.1,
    ("transfer", "collective"): 0.05,
    ("transfer", "machine"): 0.08,
    ("transfer", "machine of an uneven fabric"): 0.15,
    ("transfer", "machine and choice"): 0.06,
}
#: Groups whose effects say nothing of other machines.
_OF_ONE_MACHINE = frozenset({"machine", "machine of an uneven fabric", "machine and choice"})

_EVEN = ("InfiniBand or RoCE", "inside one machine", "NVLink domain of several hosts")

_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Effects:
    """A normal distribution of effects: `mean` and `covariance` of `names`, each "term / group / label"."""

    names: tuple[str, ...]
    mean: _Floats
    covariance: _Floats

    @classmethod
    def none(cls) -> "Effects":
        return cls((), np.zeros(0), np.zeros((0, 0)))

    def with_names(self, names: Iterable[str]) -> "Effects":
        """With those that are not yet known as their groups say, around 0 and independent."""
        known = set(self.names)
        new = tuple(name for name in dict.fromkeys(names) if name not in known)
        size = len(self.names)
        covariance = np.zeros((size + len(new),) * 2)
        covariance[:size, :size] = self.covariance
        for at, name in enumerate(new, start=size):
            term, group, _ = name.split(" / ", 2)
            covariance[at, at] = _GROUPS[term, group] ** 2
        return Effects((*self.names, *new), np.concatenate([self.mean, np.zeros(len(new))]), covariance)

    def of_all_machines(self) -> "Effects":
        """Without what is one machine's alone."""
        kept = [at for at, name in enumerate(self.names) if name.split(" / ", 2)[1] not in _OF_ONE_MACHINE]
        names = tuple(self.names[at] for at in kept)
        return Effects(names, self.mean[kept], self.covariance[np.ix_(kept, kept)])


def labels(place: CurvePlace, algorithm: str, protocol: str) -> list[tuple[int, str]]:
    """The effects on a call: number of its term, and name."""
    inside = "between machines" if place.several else "inside"
    choice = f"{algorithm}/{protocol} {inside}"
    of_group = {
        "all": "",
        "choice": choice,
        "fabric": place.fabric,
        "generation and fabric": f"{place.generation}, {place.fabric}",
        "generation and choice": f"{place.generation}, {choice}",
        "collective": f"{place.kind} {inside}",
        "machine": f"{place.machine}, {place.fabric}",
        "machine and choice": f"{place.machine}, {choice}",
    }
    if place.fabric not in _EVEN:
        of_group["machine of an uneven fabric"] = f"{place.machine}, {place.fabric}"
    return [
        (TERMS.index(term), f"{term} / {group} / {of_group[group]}") for term, group in _GROUPS if group in of_group
    ]
