"""One machine under each release of NCCL, on as many nodes as curves ask for."""

import numpy as np
from numpy.typing import NDArray

from hocket.calibration.curve import Curve
from hocket.calibration.nccl_curve import Structure, structure_of
from hocket.core.errors import TopologyError
from hocket.nccl import Constants, NcclModel, Settings
from hocket.nccl.releases import Release
from hocket.topology.nccl_machine import NcclMachine

__all__ = ["Releases"]


class Releases:
    """The models, which are made as they are asked for, and the structures of curves."""

    def __init__(self, machine: NcclMachine, settings: Settings | None = None) -> None:
        self.machine = machine
        self.settings = settings
        self._models: dict[tuple[str, int], NcclModel] = {}

    def model(self, release: Release, nodes: int) -> NcclModel:
        """Raises TopologyError for machines that NCCL's model does not take."""
        key = release.name, nodes
        if key not in self._models:
            self._models[key] = self.with_constants(release.constants, nodes)
        return self._models[key]

    def with_constants(self, constants: Constants, nodes: int) -> NcclModel:
        return NcclModel(self.machine, nodes, self.settings, constants)

    def structure(self, release: Release, curve: Curve, sizes: NDArray[np.int64] | None = None) -> Structure:
        """Of the sizes of a curve that `has_structure`, or of others. Raises TopologyError where the machine has other
        ranks than the curve."""
        model = self.model(release, curve.nodes)
        if model.ranks != curve.ranks:
            raise TopologyError(
                f"{curve.place[0]}: {curve.name}, but {self.machine.source} has {model.ranks // curve.nodes} GPUs: take"
                " the file of the machine that was measured"
            )
        return structure_of(model, release, curve.kind, curve.sizes if sizes is None else sizes)
