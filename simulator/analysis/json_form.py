"""The JSON form of a prediction: docs/results.md has its keys."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.files import write_json
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.facts import SimulatedFacts
from hocket.simulator.analysis.packets import packets_json
from hocket.simulator.analysis.rank_timeline import RankTimeline
from hocket.simulator.prediction import Prediction

__all__ = ["FORMAT", "VERSION", "prediction_json", "write_prediction"]

FORMAT = "hocket.prediction"
VERSION = 2  # 1 had no ranks, steps, groups and critical_path, and its collectives' ratio counted their waits
_PICOSECONDS_PER_NANOSECOND = 1000
_COLLECTIVE = (
    "kind",
    "group",
    "size_bytes",
    "algorithm",
    "start_ps",
    "ready_ps",
    "finish_ps",
    "bound_ps",
    "ratio",
    "latency_ps",
)


def prediction_json(prediction: Prediction, facts: SimulatedFacts | None = None) -> dict[str, Any]:
    """Plain values for `json.dump`: times in integer picoseconds unless the name says `_ns`. `facts` are its own, where
    they are at hand."""
    topology, facts = prediction.topology, facts or SimulatedFacts(prediction)
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": prediction.model,
        "switching": prediction.switching,
        "queueing": prediction.queueing,
        "routing": prediction.routing,
        "topology": {
            "name": topology.name,
            "is_spec": facts.is_spec,
            "ranks": topology.num_ranks,
            "switches": topology.num_nodes - topology.num_ranks,
            "node_of_rank": topology.machine.tolist(),
            "in_network": [*topology.in_network],
            "dimensions": [asdict(dimension) for dimension in topology.dimensions],
            "fingerprint": topology.fingerprint,
        },
        "time_ps": prediction.time_ps,
        "bound_ps": prediction.bound_ps,
        "ratio": prediction.ratio,
        "below_bound": prediction.below_bound,
        "finish_ns": _per_rank_ns(prediction.finish_ps),
        "compute_ns": _per_rank_ns(prediction.compute_ps),
        "exposed_ns": _per_rank_ns(prediction.exposed_ps),
        "slowed_ns": _per_rank_ns(prediction.slowed_ps),
        "ranks": _plain(facts.ranks),
        "timeline": _timeline(facts.timeline),
        "caused_waits": _plain(facts.caused_waits),
        "steps": _plain(facts.steps),
        "sorts": _plain(facts.sorts),
        "groups": _plain(facts.groups),
        "critical_path": _critical_path(facts),
        "collectives": [
            {name: getattr(collective, name) for name in _COLLECTIVE} for collective in prediction.collectives
        ],
        "links": {
            "src": topology.src.tolist(),
            "dst": topology.dst.tolist(),
            "class": [topology.classes[at] for at in topology.link_class.tolist()],
            "bandwidth": topology.bandwidth.tolist(),
            "latency_ps": topology.latency_ps.tolist(),
            "busy_ps": prediction.link_busy_ps.tolist(),
            "bytes": prediction.link_bytes.tolist(),
            "messages": prediction.link_messages.tolist(),
            "utilisation": prediction.link_utilisation.tolist(),
        },
        **({} if prediction.packets is None else {"packets": packets_json(prediction)}),
        "events": prediction.events,
        "folded": prediction.folded,
        "assumed": [*prediction.assumed],
        "notes": [*prediction.notes, *prediction.warnings],
    }


def write_prediction(prediction: Prediction, path: Path | str) -> None:
    """Writes the JSON form, which `read_prediction` and people read."""
    write_json(path, prediction_json(prediction))


def _critical_path(facts: SimulatedFacts) -> dict[str, Any] | None:
    path = facts.critical_path
    return None if path is None else {"parts_ps": path.parts(), "segments": _plain(path.table())}


def _timeline(timeline: RankTimeline) -> dict[str, Any]:
    rows = [{"ranks": group.ranks.tolist(), "parts": letters} for group, letters in timeline.rows]
    return {"rows": rows, "ranks": [*timeline.ranks]}


def _plain(table: Columns) -> dict[str, list[Any]]:
    return {name: column.tolist() for name, column in table.items()}


def _per_rank_ns(times_ps: NDArray[np.int64]) -> dict[str, int]:
    """Whole nanoseconds, rounded half up, by rank."""
    rounded = (times_ps + _PICOSECONDS_PER_NANOSECOND // 2) // _PICOSECONDS_PER_NANOSECOND
    return {str(rank): time for rank, time in enumerate(rounded.tolist())}
