"""One machine under each release of NCCL that may have been measured, on as many nodes as curves ask for."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, TopologyError
from hocket.calibration.curve import MeasuredCurve
from hocket.calibration.measurement import Measurement
from hocket.calibration.nccl.curve import structure_of
from hocket.nccl import VARIABLES, Constants, NcclModel, Settings
from hocket.nccl.fitted import Structure
from hocket.nccl.releases import RELEASES, Release, release_of
from hocket.topology.formats.nccl.machine import NcclMachine

__all__ = ["Releases", "measured_releases", "measured_settings"]

#: Those that curves are held against where it is not told which ran.
_CANDIDATES = (RELEASES["2.30"], RELEASES["2.28"])


def measured_releases(measurements: Iterable[Measurement]) -> tuple[Release, ...]:
    """The release that the outputs say; the candidates where they say none, or one that is not known.

    Raises FormatError, naming both places, where they say different versions.
    """
    told = [(each, each.run.version) for each in measurements if each.run and each.run.version]
    for each, version in told:
        if version != told[0][1]:
            raise FormatError(
                f"{each.place}: measured with NCCL {version}, but {told[0][0].place} with {told[0][1]}: what NCCL runs"
                " depends on it: calibrate each alone"
            )
    try:
        return (release_of(told[0][1]),) if told else _CANDIDATES
    except FormatError:
        return _CANDIDATES


def measured_settings(measurements: Iterable[Measurement], assignments: Iterable[str] = ()) -> list[str]:
    """`assignments` (NAME=VALUE), and the variables that the outputs show and NCCL's model depends on.

    Raises FormatError, naming the place, where they say different values.
    """
    told = {name: ("--set", value) for name, _, value in (each.partition("=") for each in assignments)}
    for each in measurements:
        for name, value in (each.run.variables or {}).items() if each.run else ():
            if name not in VARIABLES:
                continue
            place, before = told.setdefault(name, (each.place, value))
            if value != before:
                raise FormatError(
                    f"{each.place}: measured with {name}={value}, but {place} with {before}: what NCCL runs depends on"
                    " it: calibrate each alone"
                )
    return [f"{name}={value}" for name, (_, value) in told.items()]


class Releases:
    """The models, which are made as they are asked for, and the structures of curves; `candidates` may have run. NVLink
    joins `domain` nodes at a time."""

    def __init__(
        self,
        machine: NcclMachine,
        settings: Settings | None = None,
        candidates: Sequence[Release] = _CANDIDATES,
        domain: int = 1,
    ) -> None:
        self.machine = machine
        self.domain = domain
        self.settings = settings
        self.candidates = candidates
        self._models: dict[tuple[str, int], NcclModel] = {}

    def model(self, release: Release, nodes: int) -> NcclModel:
        """Raises TopologyError for machines that NCCL's model does not take."""
        key = release.name, nodes
        if key not in self._models:
            self._models[key] = self._of(release, None, nodes)
        return self._models[key]

    def with_constants(self, release: Release, constants: Constants, nodes: int) -> NcclModel:
        return self._of(release, constants, nodes)

    def _of(self, release: Release, constants: Constants | None, nodes: int) -> NcclModel:
        settings = (self.settings or Settings()).of(release.code)
        return NcclModel(self.machine, nodes, settings, constants, min(self.domain, nodes))

    def structure(self, release: Release, curve: MeasuredCurve, sizes: NDArray[np.int64] | None = None) -> Structure:
        """Of the sizes of a curve that `has_structure`, or of others. Raises TopologyError where the machine has other
        ranks than the curve."""
        model = self.model(release, curve.nodes)
        if model.ranks != curve.ranks:
            raise TopologyError(
                f"{curve.place[0]}: {curve.name}, but {self.machine.source} has {model.ranks // curve.nodes} GPUs: take"
                " the file of the machine that was measured"
            )
        return structure_of(model, release, curve.kind, curve.sizes if sizes is None else sizes, curve.ran)
