"""What the kernels of a runtime take, fitted to measured runs of programs whose every step is known.

Minimized is the sum of log(1 + (r / s)^2) over the logarithms r of predicted / measured (Cauchy's loss: a disturbed run
weighs little), by Levenberg-Marquardt from the best of the runtime's own costs and three guesses. A prediction is the
simulator's, of the very program on the topology. Unknown are a launch, a step and the bandwidth of a thread block, of
each protocol, and the bandwidth of the links, on which thread blocks of a rank meet: all factors of what they are
guessed at. What the runs do not tell stays near that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError
from hocket.calibration.descent import cauchy_loss, descend
from hocket.calibration.machine import levels_of, rescaled
from hocket.calibration.structure import INTRA
from hocket.schedule import Costs, Pace, Program, Protocol
from hocket.simulator import simulate_program
from hocket.topology import Topology

__all__ = ["CostsFit", "MeasuredProgram", "fit_costs", "program_time_ps"]

_Floats = NDArray[np.float64]

_SCALE = 0.1  # of Cauchy's loss: what is off by more weighs less
_HELD = 0.02  # how much a factor of e away from the guess costs, beside a run
_STEPS = 12
_NUDGE = 0.05
_MEGA = 10**6
_LEAST_RUNS = 6


@dataclass(frozen=True, eq=False)
class MeasuredProgram:
    """One call of a program: `size_bytes` as nccl-tests counts it."""

    program: Program
    size_bytes: int
    time_ps: int


@dataclass(frozen=True, eq=False)
class CostsFit:
    """What fits, the topology with the links that fit, and what that predicts of each run (ps, float64)."""

    costs: Costs
    topology: Topology
    runs: tuple[MeasuredProgram, ...]
    predicted_ps: _Floats

    @property
    def error(self) -> _Floats:
        """predicted / measured - 1 of each run."""
        measured = np.array([run.time_ps for run in self.runs], np.float64)
        return np.asarray(self.predicted_ps / measured - 1)


def program_time_ps(program: Program, topology: Topology, size_bytes: int, protocols: Mapping[str, Protocol]) -> int:
    """What a program takes at a size, rounded up to its chunks, by the simulator."""
    loop = program.chunks_per_loop
    size = -(-max(size_bytes, 1) // loop) * loop
    return simulate_program(program, topology, size, protocols=protocols).time_ps


def fit_costs(
    runtime: str, protocols: Mapping[str, Protocol], runs: Sequence[MeasuredProgram], topology: Topology
) -> CostsFit:
    """Raises FormatError for fewer runs than there are unknowns to tell, and for runs on several machines."""
    used = sorted({run.program.protocol for run in runs})
    if len(runs) < _LEAST_RUNS * len(used):
        raise FormatError(
            f"{len(runs)} runs of {' and '.join(used) or 'nothing'}: {_LEAST_RUNS} of each protocol are needed:"
            " measure from 1 KiB to 16 MiB (hocket run -b 1K -e 16M -f 4 --json FILE)"
        )
    level = levels_of(topology)
    if set(level) != {INTRA}:
        raise FormatError(f"{topology.name}: what kernels take is fitted to runs on one machine, and this has several")
    fits = [_Fit(protocols, used, runs, topology, guess) for guess in _guesses(protocols, used, runs)]
    best = min(fits, key=lambda fit: fit.loss)
    factors = best.factors()
    paces, fitted = best.meaning(factors)
    measured = f"{len(runs)} runs of {len({id(run.program) for run in runs})} programs on {topology.name}"
    return CostsFit(Costs(runtime, paces, measured), fitted, tuple(runs), best.predict(factors))


def _guesses(
    protocols: Mapping[str, Protocol], used: Sequence[str], runs: Sequence[MeasuredProgram]
) -> list[dict[str, Pace]]:
    """What is known, if it is, and what the shortest run and the quickest byte say."""
    known = {name: pace for name in used if (pace := protocols[name].pace) is not None}
    guesses = [known] if len(known) == len(used) else []
    for share in (0.1, 0.3, 0.8):
        guess = {}
        for name in used:
            own = [run for run in runs if run.program.protocol == name]
            least = min(run.time_ps for run in own)
            rate = max(run.size_bytes * 10**12 // run.time_ps for run in own)
            step = max(round(least * (1 - share) / _longest(own)), 1)
            own_pace = protocols[name].pace
            covered = 0 if own_pace is None else own_pace.covered  # how kernels are made is not fitted
            guess[name] = Pace(
                max(round(least * share), 1), step, step, max(2 * rate, _MEGA), buffers=1, covered=covered
            )
        guesses.append(guess)
    return guesses


def _longest(runs: Sequence[MeasuredProgram]) -> int:
    """Steps of the longest thread block."""
    return max(len(block.steps) for run in runs for gpu in run.program.gpus for block in gpu.thread_blocks)


class _Fit:
    """From one guess, whose loss is `loss`; the logarithms of what it is off by are three of each protocol, then the
    links'."""

    def __init__(
        self,
        protocols: Mapping[str, Protocol],
        used: Sequence[str],
        runs: Sequence[MeasuredProgram],
        topology: Topology,
        guess: Mapping[str, Pace],
    ) -> None:
        self._protocols, self._used, self._runs, self._guess = protocols, used, runs, guess
        self._topology = topology
        self._level = levels_of(topology)[INTRA]
        self._measured = np.array([run.time_ps for run in runs], float)
        self._of = np.array([used.index(run.program.protocol) for run in runs])
        self.loss = cauchy_loss(self._residuals(np.zeros(3 * len(used) + 1)), _SCALE)

    def factors(self) -> _Floats:
        """With which the loss is least."""
        start = np.zeros(3 * len(self._used) + 1)
        return descend(start, self._residuals, self._slopes, _SCALE, steps=_STEPS, least_gain=1e-3)

    def _slopes(self, factors: _Floats, found: _Floats) -> _Floats:
        """By differences: a prediction is a simulation."""
        slopes = np.zeros((len(found), len(factors)))
        for at in range(len(factors)):
            nudged, which = factors.copy(), self._matters(at)
            nudged[at] += _NUDGE
            slopes[which, at] = (self._residuals(nudged, which) - found[which]) / _NUDGE
        return slopes

    def meaning(self, factors: _Floats) -> tuple[dict[str, Pace], Topology]:
        paces = {}
        for at, name in enumerate(self._used):
            start, step, rate = np.exp(factors[3 * at : 3 * at + 3])
            pace = self._guess[name]
            paces[name] = replace(
                pace,
                start_ps=round(pace.start_ps * start),
                inside_ps=round(pace.inside_ps * step),
                between_ps=round(pace.between_ps * step),
                bandwidth=max(round(pace.bandwidth * rate / _MEGA), 1) * _MEGA,
            )
        wider = max(round(self._level.bandwidth * float(np.exp(factors[-1]))), 1)
        topology = self._topology
        return paces, rescaled(
            topology, {INTRA: (self._level.latency_ps, wider)}, f"{topology.name} calibrated", topology.notes
        )

    def predict(self, factors: _Floats, which: NDArray[np.bool_] | None = None) -> _Floats:
        """Of all runs, or of those."""
        paces, topology = self.meaning(factors)
        protocols = {name: replace(self._protocols[name], pace=pace) for name, pace in paces.items()}
        return np.array(
            [
                program_time_ps(run.program, topology, run.size_bytes, protocols)
                for at, run in enumerate(self._runs)
                if which is None or which[at]
            ],
            float,
        )

    def _matters(self, at: int) -> NDArray[np.bool_]:
        """The residuals that an unknown is in."""
        own = np.ones(len(self._of), bool) if at == 3 * len(self._used) else self._of == at // 3
        return np.append(own, np.arange(3 * len(self._used) + 1) == at)

    def _residuals(self, factors: _Floats, which: NDArray[np.bool_] | None = None) -> _Floats:
        if which is None:
            which = np.ones(len(self._of) + len(factors), bool)
        runs, held = which[: len(self._of)], factors * _HELD * _SCALE
        off = np.log(np.maximum(self.predict(factors, runs), 1) / self._measured[runs])
        return np.concatenate([off, held[which[len(self._of) :]]])
