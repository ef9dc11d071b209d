"""The page of a calibration: predicted against measured, the errors, the levels, what disagrees."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.collectives import bus_factor
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.calibration import CurveFit
from hocket.calibration.simulated import algorithm_of
from hocket.report.calibration_facts import (
    AdaptedCurve,
    AdaptedFacts,
    CalibrationFacts,
    CurveFacts,
    EstimateFacts,
    HeldOutFacts,
    LevelFacts,
)
from hocket.report.charts import Axis, Chart, Series, xy_chart
from hocket.report.figures import SERIES, size_axis
from hocket.report.page import Block, Cards, Figure, Page, Section, Table, Text

__all__ = ["calibration_content"]

_MOST_CARDS = 6
Column = NDArray[np.float64]


def calibration_content(found: CalibrationFacts) -> Page:
    """What is on the page."""
    fits = [each.fit() for each in found.curves]
    sections = [Section("Summary", [Cards([*_cards(found, fits)])])]
    sections += [Section(fit.curve.name, _curve(fit, of)) for fit, of in zip(fits, found.curves, strict=True)]
    sections.append(Section("Levels", [_levels(found.levels)]))
    if found.adapted is not None:
        sections.append(Section("With public tables", [*_adapted(found.adapted)]))
    if found.held_out:
        sections.append(Section("Held out", [_held(found.held_out)]))
    if found.topology is not None:
        disagreements = [Text(str(each)) for each in found.disagreements]
        sections.append(Section("Disagreements", disagreements or [Text("None.")]))
    if found.notes:
        sections.append(Section("Notes", [Text(note) for note in found.notes]))
    return Page("Calibration", found.topology or "measurements alone", sections)


def _cards(found: CalibrationFacts, fits: Sequence[CurveFit]) -> Iterator[tuple[str, str, str]]:
    """Of each of the first curves how well it is fitted, and what is odd."""
    for fit in fits[:_MOST_CARDS]:
        middle, outliers = float(np.median(np.abs(fit.error))), len(fit.outliers)
        words = f"median error of {len(fit.error)} rows, {outliers} outlier{'s' * (outliers != 1)}"
        yield fit.curve.name, f"{middle:.1%}", words
    if found.disagreements:
        yield "Disagreements", str(len(found.disagreements)), "listed below"
    held = len(found.held_out)
    yield "Held out", str(held) if held else "none", "curves predicted without some of their rows"


def _curve(fit: CurveFit, of: CurveFacts) -> list[Block]:
    curve = fit.curve
    simulated = None if of.simulated_us is None else np.array(of.simulated_us, np.float64)
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


def _times(fit: CurveFit, simulated: Column | None) -> Chart:
    curve, fine = fit.curve, _fine(fit)
    thin = [
        Series(name, fine.tolist(), times.tolist(), color, dots=False, thin=True)
        for name, times, color in zip(fit.pieces.names, fit.pieces.of_each(fine), SERIES[2:], strict=False)
    ]
    shown = curve.time_us if simulated is None else np.concatenate([curve.time_us, simulated])
    lines = _lines(fit, curve.time_us, fit.pieces.time_us(fine), simulated, "us")
    within = (float(shown.min()) / 1.25, float(shown.max()) * 1.25)  # protocols leave it where they are slow
    up = Axis("microseconds", log=True)
    return xy_chart([*thin, *lines], _sizes(fit), up, "times over size", height=440, y_range=within)


def _rates(fit: CurveFit, simulated: Column | None) -> Chart:
    curve, fine = fit.curve, _fine(fit)
    factor = bus_factor(curve.kind, curve.ranks) / 1e3
    measured = curve.size_bytes / curve.time_us * factor
    told = None if simulated is None else curve.sizes / simulated * factor
    lines = _lines(fit, measured, fine / fit.pieces.time_us(fine) * factor, told, "GB/s")
    return xy_chart(lines, _sizes(fit), Axis("busbw, GB/s", from_zero=True), "busbw over size", height=380)


def _errors(fit: CurveFit) -> Chart:
    far = np.zeros(len(fit.error), np.bool_)
    far[fit.outliers] = True
    series = []
    for chosen, name, symbol, color in ((~far, "rows", "dot", "c0"), (far, "outliers", "cross", "c5")):
        if chosen.any():
            errors = (100 * fit.error[chosen]).tolist()
            places = [place for place, shown in zip(fit.curve.place, chosen, strict=True) if shown]
            said = [f"{place}: {error:+.1f} %" for place, error in zip(places, errors, strict=True)]
            sizes = fit.curve.size_bytes[chosen].tolist()
            series.append(Series(name, sizes, errors, color, line=False, symbol=symbol, tips=said))
    return xy_chart(series, _sizes(fit), Axis("error, %", from_zero=True), "errors over size", height=280)


def _lines(fit: CurveFit, measured: Column, fitted: Column, simulated: Column | None, unit: str) -> list[Series]:
    curve, series = fit.curve, []
    if simulated is not None:
        sizes = curve.sizes.tolist()
        series.append(Series("uncalibrated", sizes, simulated.tolist(), "c1", dots=False, dashed=True))
    series.append(Series("calibrated", _fine(fit).tolist(), fitted.tolist(), "c0", dots=False))
    values = measured.tolist()
    said = [f"{place}: {value:.4g} {unit}" for place, value in zip(curve.place, values, strict=True)]
    size = [7.0] * len(values)
    series.append(Series("measured", curve.size_bytes.tolist(), values, "ink", line=False, sizes=size, tips=said))
    return series


def _fine(fit: CurveFit) -> Column:
    """Sizes close to each other, for lines."""
    return np.geomspace(fit.curve.sizes[0], fit.curve.sizes[-1], 200)


def _sizes(fit: CurveFit) -> Axis:
    return size_axis(fit.curve.sizes.tolist())


def _levels(levels: Sequence[LevelFacts]) -> Table:
    rows = [
        [
            each.level,
            each.kind,
            each.protocol,
            f"{each.latency_us.value:.4g} us" if each.latency_us else "not told",
            _spread(each.latency_us) if each.latency_us else "",
            ("at least " if each.at_least else "") + format_bandwidth(each.bandwidth.value),
            _spread(each.bandwidth),
        ]
        for each in levels
    ]
    heads = [
        "level",
        "collective",
        "protocol",
        "per step",
        "within a factor",
        "per rank and direction",
        "within a factor",
    ]
    return Table(heads, rows)


def _adapted(adapted: AdaptedFacts) -> Iterator[Block]:
    """A table of all curves: what each size takes, and within what."""
    yield Text(f"By these rows and public tables of other nodes, {adapted.situation}; 90 % intervals.")
    rows = [
        [
            f"{curve.kind} on {curve.ranks} ranks of {curve.nodes} node{'s' * (curve.nodes != 1)}",
            "measured" if curve.measured else "not measured",
            format_bytes(size),
            *(format_time(float(f"{us * 1e6:.4g}")) for us in times),
        ]
        for curve in adapted.curves
        for size, *times in _sizes_of(curve)
    ]
    yield Table(["curve", "its rows", "size", "time", "at least", "at most"], rows)


def _sizes_of(curve: AdaptedCurve) -> Iterator[tuple[int, float, float, float]]:
    return zip(curve.size_bytes, curve.time_us, curve.least_us, curve.most_us, strict=True)


def _held(held: Sequence[HeldOutFacts]) -> Table:
    rows = [[each.curve, str(each.errors)] for each in held]
    return Table(["curve", "errors of what was predicted without it"], rows)


def _spread(estimate: EstimateFacts) -> str:
    return "not told" if estimate.spread is None else _within(estimate.spread)


def _within(spread: float) -> str:
    return f"{spread:.2f}" if spread < 1e3 else "not told"
