"""Whether the predictor picks the faster program for the device interpreter, on this machine's cores.

Run: `python -m hocket.bench.device_choice [--ranks 4] [--turns 5]`. In-place all_reduces of float32 by processes over
memory that they share: every algorithm below, by Simple and by packets (LL), at every size, the least time of some
turns. What the kernels take is fitted to every other size (`hocket calibrate --runtime device`); the others are
predicted without having been fitted. `regret`: the measured time of the program that is predicted to be the quickest,
over that of the quickest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from hocket.base.scratch import hand_over, scratch_folder
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.bench.command_line import command_line
from hocket.calibration import CostsFit, MeasuredProgram, fit_costs, program_time_ps
from hocket.runtime.run import launch, prepare
from hocket.schedule import DEVICE, Collective, Kind, Program
from hocket.schedule.algorithms import build
from hocket.topology import Topology, load
from hocket.translator import Lowering, lower, to_program_json

__all__ = ["Contest", "contest", "main", "measured"]

SIZES = tuple(1 << power for power in range(10, 23, 2))
LARGEST_PACKETS = 256 << 10  # no program of packets is run beyond: every 16 KiB of a message wait for the receiver
ALGORITHMS = ("ring", "direct", "recursive_doubling", "halving_doubling")
PROTOCOLS = ("Simple", "LL")
NEVER = int(np.iinfo(np.int64).max)
_TIMEOUT_S = 300.0


@dataclass(frozen=True, eq=False)
class Contest:
    """Programs by algorithm and protocol, and the least time of each at each size (ps; `NEVER`: it was not run)."""

    names: tuple[tuple[str, str], ...]
    programs: tuple[Program, ...]
    sizes: tuple[int, ...]
    time_ps: np.ndarray  # programs x sizes

    def runs(self, sizes: Sequence[int]) -> list[MeasuredProgram]:
        """Those of some sizes."""
        return [
            MeasuredProgram(program, size, int(self.time_ps[at, self.sizes.index(size)]))
            for at, program in enumerate(self.programs)
            for size in sizes
            if self.time_ps[at, self.sizes.index(size)] < NEVER
        ]


def contest(ranks: int, topology: Topology, sizes: Sequence[int], turns: int) -> Contest:
    """Lowers, and measures."""
    names = [(algorithm, protocol) for algorithm in ALGORITHMS for protocol in PROTOCOLS]
    collective = Collective(Kind.ALL_REDUCE, ranks, sizes[-1], ranks)
    programs = [
        lower(build(algorithm, collective, topology), "device", Lowering(protocol=protocol))
        for algorithm, protocol in names
    ]
    return Contest(tuple(names), tuple(programs), tuple(sizes), measured(programs, ranks, sizes, turns))


def measured(programs: Sequence[Program], ranks: int, sizes: Sequence[int], turns: int) -> np.ndarray:
    """The least times of all programs, which take turns (programs x sizes)."""
    least = np.full((len(programs), len(sizes)), NEVER)
    with scratch_folder("bench") as folder:
        paths = [_written(folder, at, program) for at, program in enumerate(programs)]
        for _ in range(turns):
            for at, path in enumerate(paths):
                own = [size for size in sizes if programs[at].protocol != "LL" or size <= LARGEST_PACKETS]
                job = prepare(path, "device", ranks, own, iterations=10, warmup=3)
                for column, row in enumerate(launch(job, _TIMEOUT_S)):
                    assert row.in_place is not None and row.in_place.wrong == 0
                    least[at, column] = min(least[at, column], row.in_place.time_ps)
    return least


def _written(folder: Path, number: int, program: Program) -> Path:
    path = folder / f"{number}.json"
    hand_over(path, to_program_json(program))
    return path


def main(ranks: int, turns: int) -> None:
    console = Console(width=120)
    topology = load(f"switch:{ranks},bandwidth=10GB/s,latency=0ns")
    found = contest(ranks, topology, SIZES, turns)
    fit = fit_costs("device", DEVICE, found.runs(SIZES[::2]), topology)
    predicted = _predicted(found, fit)
    console.print(_costs(fit))
    console.print(_errors(found, predicted))
    console.print(_choices(found, predicted))


def _predicted(found: Contest, fit: CostsFit) -> np.ndarray:
    protocols = fit.costs.of(DEVICE)
    rows = [
        [program_time_ps(program, fit.topology, size, protocols) for size in found.sizes] for program in found.programs
    ]
    return np.where(found.time_ps < NEVER, np.array(rows), NEVER)


def _costs(fit: CostsFit) -> Table:
    table = Table("protocol", "launch", "step", "thread block", title="what fits")
    for name, pace in fit.costs.paces.items():
        block = format_bandwidth(pace.bandwidth)
        table.add_row(name, format_time(pace.start_ps), format_time(pace.inside_ps), block)
    table.add_row("links", "", "", format_bandwidth(int(fit.topology.bandwidth.max())))
    return table


def _errors(found: Contest, predicted: np.ndarray) -> Table:
    """Predicted beside measured, of what was not fitted."""
    kept = list(range(len(found.sizes)))[1::2]
    table = Table("program", *(f"{format_bytes(found.sizes[at])}" for at in kept), title="predicted / measured, us")
    run = found.time_ps < NEVER
    off = np.abs(predicted / found.time_ps - 1)
    for at, name in enumerate(found.names):
        cells = [
            f"{predicted[at, size] / 1e6:.0f} / {found.time_ps[at, size] / 1e6:.0f}" if run[at, size] else ""
            for size in kept
        ]
        table.add_row(" ".join(name), *cells)
    held, fitted = off[:, 1::2][run[:, 1::2]], off[:, ::2][run[:, ::2]]
    table.caption = (
        f"errors of what was not fitted: median {np.median(held):.0%}, worst {held.max():.0%};"
        f" of what was: {np.median(fitted):.0%}, {fitted.max():.0%}"
    )
    return table


def _choices(found: Contest, predicted: np.ndarray) -> Table:
    table = Table("size", "predicted quickest", "quickest", "regret", "LL or Simple right", title="choices")
    regrets, right, asked = [], 0, 0
    for column, size in enumerate(found.sizes):
        times = found.time_ps[:, column]
        chosen, best = int(predicted[:, column].argmin()), int(times.argmin())
        regrets.append(times[chosen] / times[best])
        both = range(len(ALGORITHMS)) if (times < NEVER).all() else ()
        pairs = [(2 * at, 2 * at + 1) for at in both]
        alike = [
            (predicted[one, column] < predicted[other, column]) == (times[one] < times[other]) for one, other in pairs
        ]
        right, asked = right + sum(alike), asked + len(alike)
        name = format_bytes(size) + (" (fitted)" if column % 2 == 0 else "")
        names = (" ".join(found.names[at]) for at in (chosen, best))
        table.add_row(name, *names, f"{regrets[-1]:.2f}", f"{sum(alike)} of {len(alike)}")
    mean = float(np.exp(np.mean(np.log(regrets))))
    table.caption = f"regret: mean {mean:.2f}, worst {max(regrets):.2f}; LL or Simple right {right} of {asked} times"
    return table


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    main(arguments.ranks, arguments.turns)
