"""Pictures of one prediction: what ranks do, the critical path, links over time."""

from typing import Any

import numpy as np

from hocket.base.units import format_time
from hocket.report.figures import PALETTE, blank_figure
from hocket.simulator import Prediction
from hocket.simulator.analysis import Columns, CriticalPath

__all__ = ["critical_path_picture", "link_heat_map", "rank_bars"]

_PARTS = (
    ("computation", PALETTE[0]),
    ("computation and communication", PALETTE[2]),
    ("exposed communication", PALETTE[1]),
    ("idle", "#c9d1d9"),
)


def rank_bars(ranks: Columns, max_ranks: int = 48) -> Any:
    """A bar a rank, stacked to its finish; of more than `max_ranks` those with the most exposed time."""
    chosen = np.sort(np.argsort(-ranks["exposed_ps"], kind="stable")[:max_ranks])
    overlapped = ranks["overlapped_ps"]
    values = (
        ranks["compute_ps"] - overlapped,
        overlapped,
        ranks["communication_ps"] - overlapped,
        ranks["idle_ps"],
    )
    figure = blank_figure(130 + 18 * len(chosen), barmode="stack", bargap=0.25)
    figure.update_layout(legend={"traceorder": "normal"})
    names = [f"rank {rank}" for rank in ranks["rank"][chosen].tolist()]
    for (name, color), value in zip(_PARTS, values, strict=True):
        figure.add_bar(
            orientation="h",
            name=name,
            y=names,
            x=(value[chosen] / 1e9).tolist(),
            marker={"color": color},
            hovertext=[format_time(each) for each in value[chosen].tolist()],
            hoverinfo="name+y+text",
        )
    figure.update_xaxes(title="milliseconds", rangemode="tozero", showgrid=True)
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def critical_path_picture(path: CriticalPath, max_segments: int = 1500) -> Any:
    """A line a rank on the path with its segments; lines lead from rank to rank. Of more than `max_segments` the
    longest."""
    chosen = np.sort(np.argsort(-path.duration_ps, kind="stable")[:max_segments])
    ranks = sorted({*path.rank[chosen].tolist(), *path.from_rank[chosen].tolist()})
    row = {rank: at for at, rank in enumerate(ranks)}
    what = path.what
    figure = blank_figure(max(240, 130 + 26 * len(ranks)))
    kinds = list(path.parts())
    for kind in kinds:
        x: list[float | None] = []
        y: list[float | None] = []
        text: list[str] = []
        for at in [each for each in chosen.tolist() if what[each] == kind]:
            start, finish = int(path.start_ps[at]), int(path.finish_ps[at])
            first, last = int(path.from_rank[at]), int(path.rank[at])
            label = f"{kind}, rank {first}" + (f" to {last}" if first != last else "")
            label += f": {format_time(finish - start)} from {format_time(start)}"
            x += [start / 1e9, finish / 1e9, None]
            y += [row[first], row[last], None]
            text += [label, label, ""]
        color = PALETTE[0] if kind == "compute" else PALETTE[1 + kinds.index(kind) % (len(PALETTE) - 1)]
        figure.add_scatter(
            name=kind, x=x, y=y, mode="lines", line={"width": 9, "color": color}, hovertext=text, hoverinfo="text"
        )
    figure.update_xaxes(title="milliseconds", rangemode="tozero", showgrid=True)
    figure.update_yaxes(
        tickvals=list(range(len(ranks))),
        ticktext=[f"rank {rank}" for rank in ranks],
        range=[len(ranks) - 0.5, -0.5],
        automargin=True,
    )
    return figure


def link_heat_map(prediction: Prediction, max_links: int = 48) -> Any:
    """Share of each bin of time in which each link works; of more than `max_links` busy links the busiest. The
    prediction must have `link_use`."""
    use = prediction.link_use
    assert use is not None
    busiest = np.argsort(-prediction.link_busy_ps, kind="stable")[:max_links]
    links = np.sort(busiest[prediction.link_busy_ps[busiest] > 0])
    share = use.busy_ps[links] / use.bin_ps
    figure = blank_figure(140 + 18 * len(links))
    figure.add_heatmap(
        z=np.round(share, 4).tolist(),
        x=((np.arange(share.shape[1]) + 0.5) * use.bin_ps / 1e9).tolist(),
        y=[prediction.topology.link_name(link) for link in links.tolist()],
        zmin=0,
        zmax=1,
        colorscale=[[0, "#f4f6f8"], [0.5, "#e8a15f"], [1, "#b3261e"]],
        colorbar={"title": {"text": "busy", "side": "right"}, "tickformat": ".0%", "thickness": 12},
        hovertemplate="%{y}<br>%{x:.4g} ms: %{z:.1%} busy<extra></extra>",
    )
    figure.update_xaxes(title="milliseconds")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure
