"""The page of a calibration: predicted against measured, the errors, the levels, what disagrees."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hocket.base.collectives import MESSAGE, bus_factor
from hocket.base.units import format_bandwidth, format_bytes
from hocket.calibration import Calibration, CurveFit, Disagreement, HeldOut
from hocket.calibration.simulated import algorithm_of, is_leading, simulated_us
from hocket.report.figures import PALETTE, blank_figure
from hocket.report.page import Block, Figure, Section, Table, Text, render
from hocket.topology import Topology

__all__ = ["calibration_page"]


def calibration_page(
    calibration: Calibration, topology: Topology | None, held: Sequence[HeldOut], found: Sequence[Disagreement]
) -> str:
    """The page as HTML text; with a topology also what the simulator says of it as it was given."""
    sections = [Section(fit.curve.name, _curve(fit, topology)) for fit in calibration.fits]
    sections.append(Section("Levels", [_levels(calibration)]))
    if held:
        sections.append(Section("Held out", [_held(held)]))
    if topology is not None:
        sections.append(Section("Disagreements", [Text(str(each)) for each in found] or [Text("None.")]))
    return render("Calibration", topology.name if topology else "measurements alone", sections)


def _curve(fit: CurveFit, topology: Topology | None) -> list[Block]:
    curve = fit.curve
    simulated = None
    if topology is not None and curve.kind != MESSAGE and is_leading(curve, topology):
        simulated = simulated_us(curve, topology, curve.sizes.tolist())
    caption = "Both axes are logarithmic. Points: measured; line: the quickest protocol; thin: each protocol."
    if simulated is not None:
        caption += f" Dashed: {algorithm_of(curve.kind, curve.nodes)} simulated on the topology as it was given."
    rows = [
        [
            name,
            f"{fit.pieces.latency_us[at]:.4g} us",
            _within(float(fit.latency_spread[at])),
            format_bandwidth(float(fit.pieces.bandwidth[at])),
            _within(float(fit.bandwidth_spread[at])),
        ]
        for at, name in enumerate(fit.pieces.names)
    ]
    return [
        Figure(_times(fit, simulated), caption),
        Figure(_rates(fit, simulated), "Bus bandwidth, as nccl-tests defines it; legend as above."),
        Figure(_errors(fit), "Predicted / measured - 1 of each row; crosses are outliers, which weigh little."),
        Table(["protocol", "latency", "within a factor", "algbw of large sizes", "within a factor"], rows),
    ]


def _times(fit: CurveFit, simulated: np.ndarray[Any, Any] | None) -> Any:
    curve, figure = fit.curve, blank_figure(440)
    fine = _fine(fit)
    for name, times, color in zip(fit.pieces.names, fit.pieces.of_each(fine), PALETTE[2:], strict=False):
        thin = {"width": 1, "color": color}
        figure.add_scatter(x=fine.tolist(), y=times.tolist(), name=name, mode="lines", line=thin)
    _lines(figure, fit, curve.time_us, fit.pieces.time_us(fine), simulated)
    shown = curve.time_us if simulated is None else np.concatenate([curve.time_us, simulated])
    ends = np.log10([float(shown.min()) / 1.5, float(shown.max()) * 1.5])  # protocols leave it where they are slow
    figure.update_yaxes(title="microseconds", type="log", showgrid=True, dtick=1, range=ends.tolist())
    return figure


def _rates(fit: CurveFit, simulated: np.ndarray[Any, Any] | None) -> Any:
    curve, figure, fine = fit.curve, blank_figure(380), _fine(fit)
    factor = bus_factor(curve.kind, curve.ranks) / 1e3
    measured = curve.size_bytes / curve.time_us * factor
    told = None if simulated is None else curve.sizes / simulated * factor
    _lines(figure, fit, measured, fine / fit.pieces.time_us(fine) * factor, told)
    figure.update_yaxes(title="busbw, GB/s", rangemode="tozero", showgrid=True)
    return figure


def _errors(fit: CurveFit) -> Any:
    figure = blank_figure(280)
    far = np.zeros(len(fit.error), np.bool_)
    far[fit.outliers] = True
    for chosen, name, symbol, color in ((~far, "rows", "circle", PALETTE[0]), (far, "outliers", "x", PALETTE[5])):
        if chosen.any():
            figure.add_scatter(
                x=fit.curve.size_bytes[chosen].tolist(),
                y=(100 * fit.error[chosen]).tolist(),
                name=name,
                mode="markers",
                marker={"symbol": symbol, "color": color},
                hovertext=[place for place, shown in zip(fit.curve.place, chosen, strict=True) if shown],
            )
    _sizes(figure, fit)
    figure.update_yaxes(title="error, %", showgrid=True, zeroline=True)
    return figure


def _lines(
    figure: Any, fit: CurveFit, measured: np.ndarray[Any, Any], fitted: np.ndarray[Any, Any], simulated: Any
) -> None:
    curve = fit.curve
    if simulated is not None:
        dashed = {"dash": "dash", "color": PALETTE[1]}
        figure.add_scatter(x=curve.sizes.tolist(), y=simulated.tolist(), name="uncalibrated", mode="lines", line=dashed)
    figure.add_scatter(
        x=_fine(fit).tolist(),
        y=fitted.tolist(),
        name="calibrated",
        mode="lines",
        line={"color": PALETTE[0], "width": 2},
    )
    figure.add_scatter(
        x=curve.size_bytes.tolist(),
        y=measured.tolist(),
        name="measured",
        mode="markers",
        marker={"color": "#111", "size": 6},
        hovertext=list(curve.place),
    )
    _sizes(figure, fit)


def _fine(fit: CurveFit) -> np.ndarray[Any, Any]:
    """Sizes close to each other, for lines."""
    return np.geomspace(fit.curve.sizes[0], fit.curve.sizes[-1], 200)


def _sizes(figure: Any, fit: CurveFit) -> None:
    sizes = fit.curve.sizes.tolist()
    shown = sizes[:: max(1, len(sizes) // 9)]
    figure.update_xaxes(title="size", type="log", tickvals=shown, ticktext=[format_bytes(size) for size in shown])


def _levels(calibration: Calibration) -> Table:
    rows = [
        [
            each.level,
            each.kind,
            each.protocol,
            f"{each.latency_us.value:.4g} us" if each.latency_us else "not told",
            _within(each.latency_us.spread) if each.latency_us else "",
            ("at least " if each.at_least else "") + format_bandwidth(each.bandwidth.value),
            _within(each.bandwidth.spread),
        ]
        for each in calibration.levels
    ]
    heads = ["level", "collective", "protocol", "a step", "within a factor", "a rank, each way", "within a factor"]
    return Table(heads, rows)


def _held(held: Sequence[HeldOut]) -> Table:
    return Table(
        ["curve", "errors of what was predicted without it"], [[each.curve.name, str(each.errors)] for each in held]
    )


def _within(spread: float) -> str:
    return f"{spread:.2f}" if spread < 1e3 else "not told"
