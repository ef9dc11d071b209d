"""Times of collectives by measurements of one's own: what any file that `hocket calibrate` reads tells of a curve."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from hocket.api.simulate.library import StockMachine, WhoseTimes
from hocket.api.simulate.request import Simulation
from hocket.base.errors import RequestError
from hocket.base.late_imports import late_imports
from hocket.base.units import format_bytes
from hocket.simulator import Prediction
from hocket.topology import Topology

with late_imports(__name__):
    from hocket.calibration import CurveFit, calibrate, read_measurements
    from hocket.calibration.validation import Errors
    from hocket.schedule import Collective
    from hocket.simulator import Fidelity, simulate_expected

__all__ = ["MEASURED_BY_FILE", "OwnTimes", "own_times"]

MEASURED_BY_FILE = "measured"
"""What the algorithm is called whose times are those of a file."""
_PS = 10**6  # of a us
_OTHERS = ("algorithm", "library", "chunks", "root", "model", "switching", "queueing", "routing", "degrade", "late")


@dataclass(frozen=True, eq=False)
class OwnTimes:
    """The curves of a kind of collective that are fitted to the measurements of one file."""

    source: str
    kind: str
    fits: tuple[CurveFit, ...]

    def machine(self, topology: Topology, sizes: Sequence[int]) -> StockMachine:
        """The topology, and what the times of these sizes are from. Raises RequestError where so many ranks have no
        curve."""
        fit = self._of(topology.num_ranks)
        measured = fit.curve.sizes.tolist()
        ends = f"{format_bytes(measured[0])} to {format_bytes(measured[-1])}"
        is_beyond = min(sizes) < measured[0] or max(sizes) > measured[-1]
        off = Errors.of(fit.curve.size_bytes, fit.error)
        sentence = f"times of {self.source}, fitted: {fit.curve.name}, {ends}, off by {off}"
        return StockMachine(topology, None, (sentence + "; what is beyond is extrapolated" * is_beyond,))

    def predict(self, collective: Collective, topology: Topology, fidelity: Fidelity) -> Prediction:
        """The fitted time."""
        fit = self._of(collective.num_ranks)
        time_ps = max(1, round(float(fit.pieces.time_us(max(collective.size_bytes, 1))) * _PS))
        return simulate_expected(collective, topology, MEASURED_BY_FILE, time_ps, fidelity)

    def _of(self, ranks: int) -> CurveFit:
        same = [fit for fit in self.fits if fit.curve.ranks == ranks]
        if not same:
            curves = ", ".join(fit.curve.name for fit in self.fits) or "other collectives"
            raise RequestError(
                f"--times {self.source}: {self.kind} on {ranks} ranks was not measured there at 4 sizes or more, but"
                f" {curves}: give a topology of as many ranks, or drop it"
            )
        return min(same, key=lambda fit: fit.curve.nodes)


def own_times(request: Simulation) -> OwnTimes | None:
    """The times of the file that `--times` names; None where it names none.

    Raises RequestError for what is neither such a file nor a choice, and options that ask what no measurement tells;
    FormatError as `read_measurements`.
    """
    if request.times is None or request.times in list(WhoseTimes):
        return None
    if not os.path.isfile(request.times):
        choices = ", ".join(WhoseTimes)
        raise RequestError(f"--times {request.times}: no such file of measurements, and none of {choices}")
    if others := [name for name in _OTHERS if name in request.set_fields()]:
        raise RequestError(f"--times {request.times} is of what was measured there: drop it, or --{others[0]}")
    found = calibrate(read_measurements([request.times]))
    return OwnTimes(request.times, request.what, tuple(fit for fit in found.fits if fit.curve.kind == request.what))
