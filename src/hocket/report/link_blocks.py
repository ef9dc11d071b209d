"""The links of a prediction: on the topology, over time, and the busiest of them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_bytes, format_time
from hocket.report.blocks import Block, Figure, Table
from hocket.report.link_sorts import link_heat
from hocket.report.network import network_picture
from hocket.report.node_names import NodeNames
from hocket.simulator.analysis import PredictionFacts

__all__ = ["link_blocks"]

_LINKS = 100
_FRAMES = 64


def link_blocks(facts: PredictionFacts, names: NodeNames) -> Iterator[Block]:
    """The topology with the heat of its links, with a slider where their use over time is known; then both as rows."""
    use = facts.link_use
    if not facts.link_messages.any():
        yield Figure(network_picture(names, None), "The links are not used: what they carry is not simulated.")
        return
    share, times = facts.link_utilisation[:, None], []
    if use is not None:
        frames = _frames(use.busy_ps)
        share = np.concatenate([share, frames / (use.bin_ps * -(-use.busy_ps.shape[1] // _FRAMES))], axis=1)
        step = use.bin_ps * -(-use.busy_ps.shape[1] // _FRAMES)
        times = ["whole time", *(f"{format_time(at * step)} on" for at in range(frames.shape[1]))]
    yield Figure(
        network_picture(names, share, times=times),
        "Lines are as thick as the bandwidth of their links, and coloured by how busy they are: over the whole time, or"
        " from the time on that the slider says. A frame around several ranks is the links inside.",
    )
    if use is not None:
        chart, words = link_heat(names, use.busy_ps / use.bin_ps, use.bin_ps, "how busy links are over time")
        yield Figure(chart, f"How busy links are over time. {words}")
    rows = [
        [
            names.link(link),
            f"{facts.link_utilisation[link]:.1%}",
            format_bytes(int(facts.link_bytes[link])),
            str(int(facts.link_messages[link])),
        ]
        for link in (-facts.link_busy_ps).argsort(kind="stable")[:_LINKS].tolist()
        if facts.link_messages[link]
    ]
    yield Table(["link", "busy", "bytes", "messages"], rows, about="the busiest links")


def _frames(busy_ps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Bins of links added up to at most `_FRAMES` of them."""
    step = -(-busy_ps.shape[1] // _FRAMES)
    return np.add.reduceat(busy_ps, np.arange(0, busy_ps.shape[1], step), axis=1)
