"""The pictures of a report, each a plotly figure made from Hocket's own data models."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.layout import place_nodes
from hocket.schedule import Schedule
from hocket.topology import Topology, node_name

__all__ = ["PALETTE", "blank_figure", "curves", "link_timeline", "stacked_times", "topology_picture"]

PALETTE = ["#2458a6", "#d1662b", "#3c8d5a", "#8457a8", "#b8901f", "#b03a5b", "#4aa3b5", "#6b7684"]
_GREY = "#9aa5b1"


def blank_figure(height: int, **layout: Any) -> Any:
    """A figure in the house style, `height` pixels high."""
    from plotly import graph_objects

    figure = graph_objects.Figure()
    figure.update_layout(
        template="simple_white",
        height=height,
        margin={"l": 70, "r": 20, "t": 20, "b": 50},
        font={"family": "system-ui, DejaVu Sans, sans-serif", "size": 13},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        colorway=PALETTE,
        **layout,
    )
    return figure


def stacked_times(rows: Sequence[tuple[str, Mapping[str, float]]], marks: Sequence[float], mark_name: str) -> Any:
    """Horizontal bars, one a row, stacked by part (picoseconds), with a mark on each (for example its bound)."""
    names = [name for name, _ in rows]
    figure = blank_figure(110 + 56 * len(rows), barmode="stack")
    parts = list(dict.fromkeys(part for _, times in rows for part in times))
    for part in parts:
        values = [times.get(part, 0.0) for _, times in rows]
        figure.add_bar(
            orientation="h",
            name=part,
            y=names,
            x=[value / 1e9 for value in values],
            hovertext=[format_time(value) for value in values],
            hoverinfo="name+y+text",
        )
    figure.add_scatter(
        name=mark_name,
        y=names,
        x=[mark / 1e9 for mark in marks],
        mode="markers",
        marker={"symbol": "line-ns", "size": 30, "line": {"width": 3, "color": "#111"}},
        hovertext=[format_time(mark) for mark in marks],
        hoverinfo="name+text",
    )
    figure.update_xaxes(title="milliseconds", rangemode="tozero", showgrid=True)
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def curves(sizes: Sequence[int], series: Mapping[str, Sequence[float]], y_title: str, bound: str | None = None) -> Any:
    """Lines over message size (log axis); the series named `bound` is dashed."""
    figure = blank_figure(380)
    for name, values in series.items():
        dashed = name == bound
        figure.add_scatter(
            x=[format_bytes(size) for size in sizes],
            y=list(values),
            name=name,
            mode="lines" if dashed else "lines+markers",
            line={"dash": "dash", "color": "#111"} if dashed else {},
        )
    figure.update_xaxes(title="size", type="category")
    figure.update_yaxes(title=y_title, rangemode="tozero", showgrid=True)
    return figure


def link_timeline(schedule: Schedule, max_transfers: int = 4000) -> Any:
    """What each link does over time: a bar a transfer on each physical link it holds, by operation.

    Above `max_transfers` bars only the busiest links are drawn; the caption of the caller should say so.
    """
    topology = schedule.topology
    offset, links = schedule.route_offset, schedule.route_links
    lengths = np.diff(offset)[schedule.route]
    transfer = np.repeat(np.arange(schedule.num_transfers), lengths)
    link = np.concatenate([links[offset[route] : offset[route + 1]] for route in schedule.route] or [links[:0]])
    uses = np.bincount(link, minlength=topology.num_links)
    busiest = np.argsort(-uses, kind="stable")
    fitting = int(np.searchsorted(np.cumsum(uses[busiest]), max_transfers, side="right"))
    kept = sorted(int(each) for each in busiest[: max(fitting, 1)] if uses[each])
    names = {each: topology.link_name(each) for each in kept}
    figure = blank_figure(max(220, 90 + 22 * len(kept)), barmode="overlay")
    for reduce, name, color in ((True, "reduce", PALETTE[1]), (False, "copy", PALETTE[0])):
        chosen = np.isin(link, kept) & (schedule.reduce[transfer] == reduce)
        which = transfer[chosen]
        if not len(which):
            continue
        start, finish = schedule.start_ps[which], schedule.finish_ps[which]
        figure.add_bar(
            orientation="h",
            name=name,
            y=[names[int(each)] for each in link[chosen]],
            base=start / 1e6,
            x=(finish - start) / 1e6,
            marker={"color": color, "line": {"width": 0.5, "color": "#fff"}},
            hovertext=[
                f"chunk {chunk}: {format_time(a)} to {format_time(b)}"
                for chunk, a, b in zip(schedule.chunk[which], start, finish, strict=True)
            ],
            hoverinfo="name+y+text",
        )
    figure.update_xaxes(title="microseconds")
    figure.update_yaxes(
        categoryorder="array", categoryarray=[names[each] for each in reversed(kept)], automargin=True, showgrid=True
    )
    return figure


def topology_picture(topology: Topology, utilisation: Sequence[float] | None = None) -> Any:
    """Nodes and links; each pair of opposite links is one line, as thick as its bandwidth, red as it is busy (0..1)."""
    x, y = place_nodes(topology)
    figure = blank_figure(430, showlegend=False)
    pairs: dict[tuple[int, int], list[int]] = {}
    for link, (src, dst) in enumerate(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)):
        pairs.setdefault((min(src, dst), max(src, dst)), []).append(link)
    widest = max(topology.bandwidth.tolist(), default=1)
    for (a, b), ids in pairs.items():
        busy = max(utilisation[link] for link in ids) if utilisation is not None else 0.0
        color = _GREY if utilisation is None else _heat(busy)
        text = "<br>".join(
            f"{topology.link_name(link)}: {format_bandwidth(int(topology.bandwidth[link]))}, "
            f"{format_time(int(topology.latency_ps[link]))}"
            + (f", busy {utilisation[link]:.0%}" if utilisation is not None else "")
            for link in ids
        )
        figure.add_scatter(
            x=[x[a], (x[a] + x[b]) / 2, x[b]],
            y=[y[a], (y[a] + y[b]) / 2, y[b]],
            mode="lines",
            line={"width": 1.5 + 5 * float(topology.bandwidth[ids[0]]) / widest, "color": color},
            hovertext=text,
            hoverinfo="text",
        )
    ranks = topology.num_ranks
    for name, nodes, symbol, size in (
        ("rank", range(ranks), "circle", 26),
        ("switch", range(ranks, topology.num_nodes), "square", 18),
    ):
        figure.add_scatter(
            x=[x[node] for node in nodes],
            y=[y[node] for node in nodes],
            mode="markers+text",
            text=[str(node) if name == "rank" else "" for node in nodes],
            textfont={"color": "#fff", "size": 11},
            marker={"symbol": symbol, "size": size, "color": PALETTE[0] if name == "rank" else "#3d4753"},
            hovertext=[node_name(node, ranks) for node in nodes],
            hoverinfo="text",
        )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(margin={"l": 10, "r": 10, "t": 10, "b": 10})
    return figure


def _heat(share: float) -> str:
    """Grey when idle to red when busy all the time."""
    low, high = (0xC3, 0xCB, 0xD3), (0xC8, 0x32, 0x1E)
    mixed = (round(a + (b - a) * min(max(share, 0.0), 1.0)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
