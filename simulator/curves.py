"""One collective over sizes: nccl-tests' numbers, the floor, the knee, and where one curve crosses another."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.simulator.analysis import AlphaBeta, Columns, alpha_beta, collective_table, crossovers, knee_bytes
from hocket.simulator.prediction import Prediction

__all__ = [
    "SimulatedCurve",
    "comparison_sentences",
    "curve_of_predictions",
    "curves_json",
    "curves_table",
    "fit_sentence",
]


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedCurve:
    """A topology and an algorithm. `columns`, a row per size, ascending: `size_bytes`, `time_ps`, `bound_ps` (int64),
    `algbw`, `busbw` (bytes/s), `ratio`, `regime` (latency or bandwidth) and `used_algorithm`. `floor_ps` is the time
    without any bytes; `knee_bytes` the size at which the time is twice that (None: not between the sizes); `fit`
    Hockney's alpha and beta (None: one size). `assumed` of how its sizes were simulated, beside the machine; `routing`
    says which paths messages took, where they had a choice."""

    topology: str
    algorithm: str
    columns: Columns
    floor_ps: int
    knee_bytes: float | None
    fit: AlphaBeta | None
    assumed: tuple[str, ...] = ()
    routing: str = ""

    def __repr__(self) -> str:
        sizes = len(self.columns["size_bytes"])
        return f"<SimulatedCurve of {self.algorithm} on {self.topology}: {sizes} sizes>"


def curve_of_predictions(
    topology: str,
    algorithm: str,
    sizes: Sequence[int],
    predicted: Callable[[int, bool], Prediction],
    *,
    least_bytes: int = 0,
) -> SimulatedCurve:
    """The curve of what `predicted(size, latencies)` says of each size. Its floor is what it says of no bytes at all,
    or, of what cannot be asked that, of the least that it can be asked, `least_bytes`, with messages without any bytes
    (`latencies`): of larger sizes there are more messages, which without bytes take longer, too."""
    ascending = sorted(set(sizes))
    found = [predicted(size, False) for size in ascending]
    least = predicted(least_bytes, least_bytes > 0)
    floor = least.collectives[0].latency_ps if least_bytes else least.time_ps
    assert floor is not None  # it was asked for
    time = np.array([prediction.time_ps for prediction in found], np.int64)
    size = np.array(ascending, np.int64)
    columns = {
        "size_bytes": size,
        "time_ps": time,
        "bound_ps": np.array([prediction.bound_ps for prediction in found], np.int64),
        "busbw": np.array([_busbw(*pair) for pair in zip(found, ascending, strict=True)]),
        "ratio": np.array([prediction.ratio for prediction in found]),
        "used_algorithm": np.array([_algorithm(prediction) for prediction in found]),
        "algbw": size / np.maximum(time, 1) * 1e12,
        "regime": np.where(time < 2 * floor, "latency", "bandwidth"),
    }
    return SimulatedCurve(
        topology,
        algorithm,
        columns,
        floor,
        knee_bytes(ascending, time.tolist(), floor),
        alpha_beta(ascending, time.tolist()) if len(ascending) > 1 else None,
        tuple(dict.fromkeys(sentence for prediction in found for sentence in prediction.assumed[1:])),
        found[0].routing_words,
    )


def _busbw(prediction: Prediction, size: int) -> float:
    """Of its collective; of messages alone what each of these bytes takes, which is their algbw."""
    if prediction.collectives:
        return float(collective_table(prediction)["busbw"][0])
    return size * 1e12 / max(prediction.time_ps, 1)


def _algorithm(prediction: Prediction) -> str:
    return prediction.collectives[0].algorithm if prediction.collectives else "messages"


def curves_table(found: Sequence[SimulatedCurve]) -> Columns:
    """All curves as one table, a row a size: `topology`, `algorithm`, `routing` and the columns of `SimulatedCurve`."""
    lengths = [len(curve.columns["size_bytes"]) for curve in found]
    table: Columns = {
        "topology": np.repeat([curve.topology for curve in found], lengths),
        "algorithm": np.repeat([curve.algorithm for curve in found], lengths),
        "routing": np.repeat([curve.routing.removeprefix("routing ") for curve in found], lengths),
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
                "routing": curve.routing,
                "floor_ps": curve.floor_ps,
                "knee_bytes": curve.knee_bytes,
                "fit": curve.fit
                and {"alpha_ps": curve.fit.alpha_ps, "bandwidth": curve.fit.bandwidth, "worst": curve.fit.worst},
                "rows": {name: column.tolist() for name, column in curve.columns.items()},
            }
            for curve in found
        ],
    }


def fit_sentence(curve: SimulatedCurve) -> str:
    """Alpha and beta; empty where there is no fit."""
    if curve.fit is None:
        return ""
    alpha, bandwidth = format_time(curve.fit.alpha_ps), format_bandwidth(curve.fit.bandwidth)
    return f"alpha + beta * size: {alpha} + size / {bandwidth}, off by at most {curve.fit.worst:.1%}"


def comparison_sentences(curves: Sequence[SimulatedCurve]) -> Iterator[str]:
    """Where each two of the curves cross; of a single size, at which none can, the order of all."""
    if len(curves) < 2:
        return
    sizes = curves[0].columns["size_bytes"]
    if len(sizes) > 1:
        yield from (_crossover_sentence(*pair) for pair in combinations(curves, 2))
        return
    ordered = sorted(curves, key=lambda curve: int(curve.columns["time_ps"][0]))
    times = (f"{each.algorithm} on {each.topology} {format_time(int(each.columns['time_ps'][0]))}" for each in ordered)
    yield f"from the fastest at {format_bytes(int(sizes[0]))}: {', '.join(times)}"


def _crossover_sentence(first: SimulatedCurve, second: SimulatedCurve) -> str:
    """Which of two curves over the same sizes is faster, and from where on no longer."""
    sizes, ones, others = first.columns["size_bytes"], first.columns["time_ps"], second.columns["time_ps"]
    names = [f"{curve.algorithm} on {curve.topology}" for curve in (first, second)]
    differ = (ones != others).nonzero()[0]
    if not len(differ):
        return f"{names[0]} and {names[1]} take the same time at every size"
    faster, slower = names if ones[differ[0]] < others[differ[0]] else names[::-1]
    places = crossovers(sizes.tolist(), ones.tolist(), others.tolist())
    if not places:
        return f"no crossover: {faster} is faster than {slower} or as fast at every size"
    where = ", ".join(format_bytes(round(place)) for place in places)
    return f"crossover at {where}: below it {faster} is faster than {slower}"
