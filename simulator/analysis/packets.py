"""Latencies and queues of a prediction of model packet."""

from typing import Any

import numpy as np

from hocket.base.errors import SimulationError
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.packets import PacketTraffic
from hocket.simulator.prediction import Prediction

__all__ = ["LATENCY_PERCENTS", "latency_table", "packets_json", "queue_table", "queue_use_table"]

LATENCY_PERCENTS = (50, 90, 99, 99.9)
_PICOSECONDS_PER_NANOSECOND = 1000
_OF_LINKS = (
    "packets",
    "waiting_most_bytes",
    "waiting_mean_bytes",
    "buffer_most_bytes",
    "buffer_mean_bytes",
    "pauses",
    "paused_ps",
    "marked",
    "dropped",
)


def _traffic(prediction: Prediction) -> PacketTraffic:
    if prediction.packets is None:
        raise SimulationError(f"model {prediction.model} has no packets: simulate with model packet")
    return prediction.packets


def latency_table(prediction: Prediction) -> Columns:
    """A row for `messages` and one for `packets` (`what`): `count`, `mean_ps`, percentiles (`p50_ps`, ..., to 0.4 %)
    and `most_ps`. Raises SimulationError unless the model is packet."""
    traffic = _traffic(prediction)
    rows = (traffic.message_latency, traffic.packet_latency)
    percentiles = {
        f"p{percent:g}_ps": np.array([row.percentile_ps(percent) for row in rows]) for percent in LATENCY_PERCENTS
    }
    return {
        "what": np.array(["messages", "packets"]),
        "count": np.array([row.total for row in rows]),
        "mean_ps": np.array([row.mean_ps for row in rows]),
        **percentiles,
        "most_ps": np.array([row.most_ps for row in rows]),
    }


def queue_table(prediction: Prediction) -> Columns:
    """A row for each link that carried packets: `link`, `src`, `dst`, and what PacketTraffic says of it. Raises
    SimulationError unless the model is packet."""
    traffic, topology = _traffic(prediction), prediction.topology
    used = traffic.packets.nonzero()[0]
    table: Columns = {"link": used, "src": topology.src[used], "dst": topology.dst[used]}
    return table | {name: getattr(traffic, name)[used] for name in _OF_LINKS}


def queue_use_table(prediction: Prediction) -> Columns:
    """A row for each link and bin of time in which something waits for it at its switch, link after link: `link`,
    `start_ps`, `finish_ps`, `waiting_mean_bytes` in the bin. Raises SimulationError unless the model is packet and the
    prediction was made with `link_bins`."""
    traffic = _traffic(prediction)
    if prediction.link_use is None:
        raise SimulationError("the prediction did not record queues over time: simulate with link_bins=256")
    link, at = traffic.bin_waiting.nonzero()
    start = at * traffic.bin_ps
    finish = np.minimum(start + traffic.bin_ps, max(prediction.time_ps, 1))
    waited = traffic.bin_waiting[link, at] * float(_PICOSECONDS_PER_NANOSECOND)
    return {
        "link": link,
        "start_ps": start,
        "finish_ps": finish,
        "waiting_mean_bytes": waited / np.maximum(finish - start, 1),
    }


def packets_json(prediction: Prediction) -> dict[str, Any]:
    """Plain values for `json.dump`: both tables, and what is counted for all links together."""
    traffic = _traffic(prediction)
    plain = {
        name: {column: values.tolist() for column, values in table.items()}
        for name, table in (("latencies", latency_table(prediction)), ("queues", queue_table(prediction)))
    }
    return {
        **plain,
        "notifications": traffic.notifications,
        "sent_again_bytes": traffic.sent_again_bytes,
        "channels": traffic.channels,
    }
