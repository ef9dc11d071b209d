"""Pictures of one schedule: links over time, and how its chunks spread."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_time
from hocket.report.figures import PALETTE, blank_figure
from hocket.report.layout import place_nodes
from hocket.schedule import Schedule
from hocket.topology import Topology, node_name

__all__ = ["arrivals", "compared_times", "link_occupancy", "occupancy_picture", "spread_picture"]

_IDLE, _BUSY = "#dfe4e9", "#c8321e"


def link_occupancy(schedule: Schedule, bins: int) -> NDArray[np.float64]:
    """Share of each of `bins` equal parts of the schedule's time in which each link is held: links x bins."""
    lengths = np.diff(schedule.route_offset)
    slowest = np.minimum.reduceat(schedule.topology.bandwidth[schedule.route_links], schedule.route_offset[:-1])
    size = schedule.collective.chunk_bytes[schedule.chunk].astype(np.float64)
    hold = schedule.finish_ps - schedule.start_ps
    if not schedule.blocking:
        hold = np.minimum(hold, np.ceil(size * 1e12 / slowest[schedule.route]).astype(np.int64))
    transfer = np.repeat(np.arange(schedule.num_transfers), lengths[schedule.route])
    first = np.cumsum(lengths[schedule.route]) - lengths[schedule.route]
    hop = np.arange(len(transfer)) - first[transfer]
    link = schedule.route_links[schedule.route_offset[schedule.route[transfer]] + hop]
    edges = np.linspace(0, max(1, schedule.time_ps), bins + 1)
    share = np.zeros((schedule.topology.num_links, bins))
    order = np.lexsort((schedule.start_ps[transfer], link))
    borders = np.searchsorted(link[order], np.arange(schedule.topology.num_links + 1))
    for each in range(schedule.topology.num_links):
        held = transfer[order[borders[each] : borders[each + 1]]]
        if len(held):
            # A link carries one transfer at a time: until an edge, all that have started but for the rest of the last.
            start, total = schedule.start_ps[held], np.concatenate([[0], np.cumsum(hold[held])])
            begun = np.searchsorted(start, edges, side="right")
            last = np.maximum(begun - 1, 0)
            rest = np.where(begun > 0, np.maximum(0, start[last] + hold[held][last] - edges), 0)
            share[each] = np.diff(total[begun] - rest) / np.diff(edges)
    return share


def occupancy_picture(schedule: Schedule, share: NDArray[np.float64], max_links: int = 60) -> Any:
    """The time-expanded network: a row a link, dark while held. Of more than `max_links` used links the busiest."""
    use = share.mean(axis=1)
    busiest = np.argsort(-use, kind="stable")[:max_links]
    links = np.sort(busiest[use[busiest] > 0])
    edge = schedule.time_ps / share.shape[1] / 1e6
    figure = blank_figure(140 + 16 * len(links))
    figure.add_heatmap(
        z=np.round(share[links], 3).tolist(),
        x=((np.arange(share.shape[1]) + 0.5) * edge).tolist(),
        y=[schedule.topology.link_name(link) for link in links.tolist()],
        zmin=0,
        zmax=1,
        colorscale=[[0, "#f4f6f8"], [0.5, "#e8a15f"], [1, "#b3261e"]],
        colorbar={"title": {"text": "held", "side": "right"}, "tickformat": ".0%", "thickness": 12},
        hovertemplate="%{y}<br>%{x:.4g} us: held %{z:.0%} of the time<extra></extra>",
    )
    figure.update_xaxes(title="microseconds")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def arrivals(schedule: Schedule, times_ps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of its deliveries that each rank has by each time: times x ranks of the topology; 1 where none is due,
    0 outside the group."""
    ranks = schedule.topology.num_ranks
    dst = schedule.route_dst[schedule.route]
    order = np.lexsort((schedule.finish_ps, dst))
    borders = np.searchsorted(dst[order], np.arange(ranks + 1))
    share = np.zeros((len(times_ps), ranks))
    share[:, schedule.ranks] = 1
    for rank in range(ranks):
        finish = schedule.finish_ps[order[borders[rank] : borders[rank + 1]]]
        if len(finish):
            share[:, rank] = np.searchsorted(finish, times_ps, side="right") / len(finish)
    return share


def spread_picture(schedule: Schedule, share: NDArray[np.float64], max_links: int = 1500) -> Any:
    """An animation: ranks fill up as their deliveries come, links light up while they are held (`share` as from
    `link_occupancy`: a frame a bin). Above `max_links` links only the ranks are drawn."""
    topology = schedule.topology
    bins = share.shape[1]
    x, y = (np.array(place) for place in place_nodes(topology))
    times = np.arange(1, bins + 1) * (schedule.time_ps / bins)
    filled = arrivals(schedule, times)
    drawn = topology.num_links <= max_links
    figure = blank_figure(520, showlegend=False)

    def lines(busy: NDArray[np.bool_]) -> tuple[list[float | None], list[float | None]]:
        src, dst = topology.src[busy], topology.dst[busy]
        ends_x, ends_y = (
            [end for pair in zip(place[src].tolist(), place[dst].tolist(), strict=True) for end in (*pair, None)]
            for place in (x, y)
        )
        return ends_x, ends_y

    def state(at: int) -> list[dict[str, Any]]:
        marker = {"color": np.round(filled[at], 3).tolist()}
        text = [f"rank {rank}: {part:.0%} of its deliveries" for rank, part in enumerate(filled[at].tolist())]
        ranks = {"marker": marker, "hovertext": text}
        if not drawn:
            return [ranks]
        busy_x, busy_y = lines(share[:, at] > 0.5)
        return [{"x": busy_x, "y": busy_y}, ranks]

    if drawn:
        idle_x, idle_y = lines(np.ones(topology.num_links, np.bool_))
        figure.add_scatter(x=idle_x, y=idle_y, mode="lines", line={"color": _IDLE, "width": 2}, hoverinfo="skip")
        figure.add_scatter(mode="lines", line={"color": _BUSY, "width": 2.5}, hoverinfo="skip", **state(0)[0])
    _draw_nodes(figure, topology, x, y, state(0)[-1])
    traces = [1, 2] if drawn else [0]
    figure.frames = [
        {"name": str(at), "data": [{"type": "scatter", **part} for part in state(at)], "traces": traces}
        for at in range(bins)
    ]
    _draw_controls(figure, [format_time(float(time)) for time in times])
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure


def _draw_nodes(figure: Any, topology: Topology, x: NDArray[Any], y: NDArray[Any], filled: dict[str, Any]) -> None:
    """Ranks, as `filled` says at first, and switches."""
    ranks = topology.num_ranks
    figure.add_scatter(
        x=x[:ranks].tolist(),
        y=y[:ranks].tolist(),
        mode="markers+text" if ranks <= 64 else "markers",
        text=[str(rank) for rank in range(ranks)] if ranks <= 64 else None,
        textfont={"size": 10},
        hovertext=filled["hovertext"],
        hoverinfo="text",
        marker={
            **filled["marker"],
            "size": 26 if ranks <= 32 else 16 if ranks <= 256 else 8,
            "cmin": 0,
            "cmax": 1,
            "colorscale": [[0, "#ffffff"], [1, "#6f9bd8"]],
            "line": {"color": PALETTE[0], "width": 1.5},
            "colorbar": {"title": {"text": "delivered", "side": "right"}, "tickformat": ".0%", "thickness": 12},
        },
    )
    switches = slice(ranks, topology.num_nodes)
    figure.add_scatter(
        x=x[switches].tolist(),
        y=y[switches].tolist(),
        mode="markers",
        marker={"symbol": "square", "size": 10, "color": "#3d4753"},
        hovertext=[node_name(node, ranks) for node in range(ranks, topology.num_nodes)],
        hoverinfo="text",
    )


def _draw_controls(figure: Any, times: Sequence[str]) -> None:
    """Buttons that play the frames and stop, and a slider with a step a frame."""
    play = {"frame": {"duration": 150, "redraw": False}, "transition": {"duration": 0}, "fromcurrent": True}
    stop = {"frame": {"duration": 0, "redraw": False}, "transition": {"duration": 0}, "mode": "immediate"}
    buttons = [
        {"label": "play", "method": "animate", "args": [None, play]},
        {"label": "pause", "method": "animate", "args": [[None], stop]},
    ]
    steps = [{"label": time, "method": "animate", "args": [[str(at)], stop]} for at, time in enumerate(times)]
    place = {"x": 0, "y": -0.06, "xanchor": "left", "yanchor": "top"}
    figure.update_layout(
        updatemenus=[{"type": "buttons", "direction": "left", **place, "buttons": buttons}],
        sliders=[{"x": 0.2, "len": 0.8, "y": -0.02, "currentvalue": {"prefix": "until "}, "steps": steps}],
        margin={"l": 10, "r": 10, "t": 10, "b": 90},
    )


def compared_times(times: dict[str, int], chosen: str, bound_ps: int) -> Any:
    """A bar an algorithm, quickest first, that of `chosen` dark, and a line at the bound."""
    names = sorted(times, key=lambda name: times[name])
    figure = blank_figure(120 + 30 * len(names), showlegend=False)
    figure.add_bar(
        orientation="h",
        y=names,
        x=[times[name] / 1e6 for name in names],
        marker={"color": [PALETTE[0] if name == chosen else "#b9c4d0" for name in names]},
        text=[f"{format_time(times[name])}, {times[name] / max(1, bound_ps):.3f} times the bound" for name in names],
        textposition="auto",
        hoverinfo="y+text",
    )
    label = {"text": "bound", "yref": "paper", "y": 0, "yanchor": "bottom"}
    figure.add_vline(x=bound_ps / 1e6, line={"color": "#111", "dash": "dash"}, annotation=label)
    figure.update_xaxes(title="microseconds", rangemode="tozero", showgrid=True)
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure
