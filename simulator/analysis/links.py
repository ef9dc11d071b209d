"""What each link carried, in all and over time."""

import numpy as np

from hocket.base.errors import SimulationError
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.prediction import Prediction

__all__ = ["link_table", "link_use_table"]


def link_table(prediction: Prediction) -> Columns:
    """A row a link: `link`, `src`, `dst`, `class`, `bandwidth` (bytes/s), `latency_ps`, `busy_ps`, `bytes`, `messages`
    and `utilisation` (busy over the whole time)."""
    topology = prediction.topology
    return {
        "link": np.arange(topology.num_links),
        "src": topology.src,
        "dst": topology.dst,
        "class": np.array(topology.classes, np.str_)[topology.link_class],
        "bandwidth": topology.bandwidth,
        "latency_ps": topology.latency_ps,
        "busy_ps": prediction.link_busy_ps,
        "bytes": prediction.link_bytes,
        "messages": prediction.link_messages,
        "utilisation": prediction.link_utilisation,
    }


def link_use_table(prediction: Prediction) -> Columns:
    """A row for each link and bin of time in which the link works, link after link: `link`, `start_ps`, `finish_ps`,
    `busy_ps`, `utilisation` (busy over the bin). Raises SimulationError unless the prediction was made with
    `link_bins`."""
    use = prediction.link_use
    if use is None:
        raise SimulationError("the prediction did not record how links are used over time: simulate with link_bins=256")
    link, at = use.busy_ps.nonzero()
    busy, start = use.busy_ps[link, at], at * use.bin_ps
    finish = np.minimum(start + use.bin_ps, max(prediction.time_ps, 1))
    return {
        "link": link,
        "start_ps": start,
        "finish_ps": finish,
        "busy_ps": busy,
        "utilisation": busy / np.maximum(finish - start, 1),
    }
