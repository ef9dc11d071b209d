"""The PCI tree that a matrix of distances tells: NUMA nodes, host bridges, switches."""

from itertools import combinations

from hocket.base.errors import TopologyError
from hocket.topology.formats.smi.matrix import LEVELS, SmiMatrix

__all__ = ["PciGroups"]

_PIX, _PXB, _NODE, _SYS = (LEVELS[word] for word in ("PIX", "PXB", "NODE", "SYS"))


class PciGroups:
    """`nested`: for each NUMA node, for what is not joined by PCI switches in it, for each switch: its devices.

    Raises TopologyError where the distances are those of no tree. `notes` say what was not taken as it is.
    """

    def __init__(self, matrix: SmiMatrix) -> None:
        self._devices = (*matrix.gpus, *matrix.nics)
        self._level = {
            (one, other): LEVELS[cell]
            for one, other in combinations(self._devices, 2)
            if (cell := matrix.cells.get((one, other), matrix.cells.get((other, one), ""))) in LEVELS
        }
        self.notes: tuple[str, ...] = ()
        within = {level: self._joined(level) for level in (_PIX, _PXB, _NODE)}
        for (one, other), level in self._level.items():
            for bound, group in within.items():
                if level > bound and group[one] == group[other]:
                    raise TopologyError(
                        f"{matrix.source}: {one} and {other} are {_word(level)} apart, but others join them by"
                        f" {_word(bound)} or nearer: these are the distances of no machine; save the output anew"
                    )
        numa = self._by_places(matrix, within[_NODE])
        self.nested = [
            [_groups(bridge, within[_PIX]) for bridge in _groups(node, within[_PXB])]
            for node in _groups(self._devices, numa)
        ]

    def _joined(self, most: int) -> dict[str, str]:
        """Of each device the first one that it is joined with over pairs at most so far apart."""
        first = {device: device for device in self._devices}
        for (one, other), level in self._level.items():
            if level <= most and first[one] != first[other]:
                _merge(first, one, other)
        return first

    def _by_places(self, matrix: SmiMatrix, joined: dict[str, str]) -> dict[str, str]:
        """NUMA nodes: GPUs joined by NVLink are also those that the output places together."""
        numa = dict(joined)
        for one, other in combinations(matrix.gpus, 2):
            place = matrix.places.get(one, "")
            if numa[one] == numa[other] or not place or place != matrix.places.get(other):
                continue
            apart = [
                pair for pair, level in self._level.items()
                if level == _SYS and {numa[pair[0]], numa[pair[1]]} == {numa[one], numa[other]}
            ]  # fmt: skip
            if apart:
                self.notes = (
                    f"{one} and {other} have one affinity, but {apart[0][0]} and {apart[0][1]} are SYS apart: that is"
                    " taken",
                )
                continue
            _merge(numa, one, other)
        return numa


def _merge(first: dict[str, str], one: str, other: str) -> None:
    order = list(first)
    kept, gone = sorted((first[one], first[other]), key=order.index)
    first.update({device: kept for device, at in first.items() if at == gone})


def _groups(devices: tuple[str, ...] | list[str], first: dict[str, str]) -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for device in devices:
        found.setdefault(first[device], []).append(device)
    return list(found.values())


def _word(level: int) -> str:
    return next(word for word, number in LEVELS.items() if number == level)
