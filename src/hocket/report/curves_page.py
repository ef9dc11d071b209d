"""The page of collectives over sizes: times, bandwidths and knees."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.figures import PALETTE, blank_figure
from hocket.report.page import Block, Figure, Section, Table, Text, render
from hocket.simulator.curves import SimulatedCurve, crossover_sentence, fit_sentence

__all__ = ["curves_page", "size_curves"]


def curves_page(collective: str, curves: Sequence[SimulatedCurve]) -> str:
    """The page as HTML text."""
    sections = [
        Section(
            "Time",
            [
                Figure(
                    size_curves(curves, "time_ps", 1e6, "microseconds"),
                    "Both axes are logarithmic; dashed: the bound; a ring marks the knee, where the time is twice that"
                    " without any bytes.",
                )
            ],
        ),
        Section(
            "Bus bandwidth", [Figure(size_curves(curves, "busbw", 1e9, "GB/s"), "busbw as nccl-tests defines it.")]
        ),
        *(Section(_name(curve), _rows(curve)) for curve in curves),
    ]
    if len(curves) > 1:
        sentences = [Text(f"{crossover_sentence(*pair)}.") for pair in combinations(curves, 2)]
        sections.insert(2, Section("Crossovers", sentences))
    return render(f"{collective} over sizes", ", ".join(dict.fromkeys(curve.topology for curve in curves)), sections)


def size_curves(curves: Sequence[SimulatedCurve], column: str, unit: float, title: str) -> Any:
    """A line a curve over sizes, both axes logarithmic; with their bounds and knees where the column is a time."""
    figure = blank_figure(460)
    ticks = sorted({int(size) for curve in curves for size in curve.columns["size_bytes"]})
    for number, curve in enumerate(curves):
        color = PALETTE[number % len(PALETTE)]
        size = curve.columns["size_bytes"].tolist()
        figure.add_scatter(
            x=size,
            y=(curve.columns[column] / unit).tolist(),
            name=_name(curve),
            mode="lines+markers",
            line={"color": color},
        )
        if column != "time_ps":
            continue
        figure.add_scatter(
            x=size,
            y=(curve.columns["bound_ps"] / unit).tolist(),
            mode="lines",
            line={"color": color, "dash": "dash", "width": 1},
            showlegend=False,
            hoverinfo="skip",
        )
        if curve.knee_bytes is not None:
            figure.add_scatter(
                x=[curve.knee_bytes],
                y=[2 * curve.floor_ps / unit],
                mode="markers",
                marker={"symbol": "circle-open", "size": 15, "color": color, "line": {"width": 3}},
                showlegend=False,
                hovertext=f"knee of {_name(curve)}: {format_bytes(round(curve.knee_bytes))}",
                hoverinfo="text",
            )
    shown = ticks[:: max(1, len(ticks) // 10)]
    figure.update_xaxes(title="size", type="log", tickvals=shown, ticktext=[format_bytes(size) for size in shown])
    figure.update_yaxes(title=title, type="log", showgrid=True, dtick=1)
    return figure


def _rows(curve: SimulatedCurve) -> list[Block]:
    columns = curve.columns
    rows = [
        [
            format_bytes(int(columns["size_bytes"][at])),
            format_time(int(columns["time_ps"][at])),
            format_bandwidth(float(columns["algbw"][at])),
            format_bandwidth(float(columns["busbw"][at])),
            format_time(int(columns["bound_ps"][at])),
            f"{columns['ratio'][at]:.3f}",
            str(columns["regime"][at]),
            str(columns["used_algorithm"][at]),
        ]
        for at in range(len(columns["size_bytes"]))
    ]
    knee = "outside these sizes" if curve.knee_bytes is None else format_bytes(round(curve.knee_bytes))
    return [
        Text(f"Without any bytes: {format_time(curve.floor_ps)}; the knee: {knee}."),
        *([Text(f"{fit_sentence(curve)}.")] if curve.fit else []),
        Table(["size", "time", "algbw", "busbw", "bound", "ratio", "regime", "algorithm"], rows),
    ]


def _name(curve: SimulatedCurve) -> str:
    return f"{curve.algorithm} on {curve.topology}"
