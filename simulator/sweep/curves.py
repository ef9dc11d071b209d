"""One collective over sizes: nccl-tests' numbers, the floor, the knee, and where one curve crosses another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hocket.base.errors import SimulationError
from hocket.simulator.analysis import AlphaBeta, Columns, alpha_beta, knee_bytes
from hocket.simulator.sweep.execution import sweep
from hocket.simulator.sweep.point import Point

__all__ = ["SimulatedCurve", "curve_of", "curves", "curves_json", "curves_table"]


@dataclass(frozen=True, eq=False)
class SimulatedCurve:
    """A topology and an algorithm. `columns`, a row a size, ascending: `size_bytes`, `time_ps`, `bound_ps` (int64),
    `algbw`, `busbw` (bytes/s), `ratio`, `regime` (latency or bandwidth) and `used_algorithm`. `floor_ps` is the time
    without any bytes; `knee_bytes` the size at which the time is twice that (None: not between the sizes); `fit`
    Hockney's alpha and beta (None: one size)."""

    topology: str
    algorithm: str
    columns: Columns
    floor_ps: int
    knee_bytes: float | None
    fit: AlphaBeta | None


def curves(
    collective: str,
    sizes: Sequence[int],
    topologies: Sequence[str],
    algorithms: Sequence[str] = ("auto",),
    **options: Any,
) -> list[SimulatedCurve]:
    """A curve for each topology and algorithm; `options` are those of `Point`. Raises SimulationError for what cannot
    be simulated."""
    ascending = sorted(set(sizes))
    found = []
    for topology in topologies:
        for algorithm in algorithms:
            points = [Point(topology, collective, size, algorithm, **options) for size in [0, *ascending]]
            table = sweep(points)
            failed = table["error"] != ""
            if failed.any():
                raise SimulationError(f"{topology}: {table['error'][failed][0]}")
            found.append(curve_of(topology, algorithm, table))
    return found


def curve_of(topology: str, algorithm: str, table: Columns) -> SimulatedCurve:
    """The curve of rows by ascending size, the first without any bytes: `size_bytes`, `time_ps`, `bound_ps`, `busbw`,
    `ratio`, `used_algorithm`."""
    floor = int(table["time_ps"][0])
    names = ("size_bytes", "time_ps", "bound_ps", "busbw", "ratio", "used_algorithm")
    columns = {name: table[name][1:] for name in names}
    size, time = columns["size_bytes"], columns["time_ps"]
    columns["algbw"] = size / np.maximum(time, 1) * 1e12
    columns["regime"] = np.where(time < 2 * floor, "latency", "bandwidth")
    return SimulatedCurve(
        topology,
        algorithm,
        columns,
        floor,
        knee_bytes(size.tolist(), time.tolist(), floor),
        alpha_beta(size.tolist(), time.tolist()) if len(size) > 1 else None,
    )


def curves_table(found: Sequence[SimulatedCurve]) -> Columns:
    """All curves as one table, a row a size: `topology`, `algorithm` and the columns of `SimulatedCurve`."""
    lengths = [len(curve.columns["size_bytes"]) for curve in found]
    table: Columns = {
        "topology": np.repeat([curve.topology for curve in found], lengths),
        "algorithm": np.repeat([curve.algorithm for curve in found], lengths),
    }
    return table | {name: np.concatenate([curve.columns[name] for curve in found]) for name in found[0].columns}


def curves_json(collective: str, found: Sequence[SimulatedCurve]) -> dict[str, Any]:
    """Plain values for `json.dump`: docs/results.md has the keys."""
    return {
        "format": "hocket.curves",
        "version": 1,
        "collective": collective,
        "curves": [
            {
                "topology": curve.topology,
                "algorithm": curve.algorithm,
                "floor_ps": curve.floor_ps,
                "knee_bytes": curve.knee_bytes,
                "fit": curve.fit
                and {"alpha_ps": curve.fit.alpha_ps, "bandwidth": curve.fit.bandwidth, "worst": curve.fit.worst},
                "rows": {name: column.tolist() for name, column in curve.columns.items()},
            }
            for curve in found
        ],
    }
