"""What kernels take, fitted to runs of programs: of runs whose costs are known, and of too few."""

import numpy as np
import pytest

from hocket.base.errors import FormatError
from hocket.calibration import MeasuredProgram, fit_costs, program_time_ps
from hocket.schedule import DEVICE, Collective, Costs, Kind, Pace
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, lower

SIZES = [1 << power for power in range(10, 21, 2)]
TRUE = Costs(
    "device",
    {
        "Simple": Pace(20_000_000, 4_000_000, 4_000_000, 3_000_000_000, buffers=1),
        "LL": Pace(15_000_000, 1_000_000, 1_000_000, 1_000_000_000, buffers=1, covered=4096),
    },
)


def runs(bandwidth: str, sizes: list[int]) -> list[MeasuredProgram]:
    """Of a ring and of a direct all_reduce by kernels whose costs are `TRUE`."""
    machine = load(f"switch:4,bandwidth={bandwidth},latency=0ns")
    found = []
    for algorithm in ("ring", "direct"):
        schedule = build(algorithm, Collective(Kind.ALL_REDUCE, 4, SIZES[-1], 4), machine)
        for protocol in TRUE.paces:
            program = lower(schedule, "device", Lowering(protocol=protocol))
            for size in sizes:
                time_ps = program_time_ps(program, machine, size, TRUE.of(DEVICE))
                found.append(MeasuredProgram(program, size, time_ps))
    return found


def test_the_fit_predicts_what_it_has_not_seen() -> None:
    topology = load("switch:4,bandwidth=10GB/s,latency=0ns")
    fit = fit_costs("device", DEVICE, runs("2GB/s", SIZES), topology)
    assert np.median(np.abs(fit.error)) < 0.05
    between = runs("2GB/s", [48 << 10])
    predicted = [program_time_ps(run.program, fit.topology, run.size_bytes, fit.costs.of(DEVICE)) for run in between]
    assert np.allclose(predicted, [run.time_ps for run in between], rtol=0.2)


def test_too_few_runs_and_several_machines_are_refused() -> None:
    few = runs("2GB/s", SIZES[:2])
    with pytest.raises(FormatError, match="6 of each protocol"):
        fit_costs("device", DEVICE, few, load("switch:4,bandwidth=10GB/s,latency=0ns"))
    with pytest.raises(FormatError, match="one machine"):
        fit_costs("device", DEVICE, runs("2GB/s", SIZES), load("dgx-h100:nodes=2,gpus=2"))
