"""The page of collectives over sizes: times, bandwidths and knees."""

from collections.abc import Iterator, Sequence

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.charts import Axis, Chart, Series, xy_chart
from hocket.report.figures import SERIES, size_axis
from hocket.report.page import Block, Cards, Code, Figure, Page, Section, Table, Text
from hocket.simulator.curves import SimulatedCurve, comparison_sentences, fit_sentence

__all__ = ["curves_content", "curves_page", "size_curves"]

_MOST_CARDS = 6


def curves_page(
    collective: str, curves: Sequence[SimulatedCurve], assumed: Sequence[str] = (), measured: Sequence[str] = ()
) -> str:
    """The page as HTML text."""
    return curves_content(collective, curves, assumed, measured).html()


def curves_content(
    collective: str, curves: Sequence[SimulatedCurve], assumed: Sequence[str] = (), measured: Sequence[str] = ()
) -> Page:
    """What is on the page: also what is `assumed`, in sentences, and what nodes like these took, in lines."""
    sections = [
        Section("Summary", [Cards([*_cards(curves)])]),
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
        sentences = [Text(f"{sentence}.") for sentence in comparison_sentences(curves)]
        sections.insert(3, Section("Comparison", sentences))
    if measured:
        sections.append(Section("Beside these times", [Code("\n".join(measured))]))
    if assumed:
        sections.append(Section("Assumed, and notes", [Text(sentence) for sentence in assumed]))
    return Page(f"{collective} over sizes", ", ".join(dict.fromkeys(curve.topology for curve in curves)), sections)


def _cards(curves: Sequence[SimulatedCurve]) -> Iterator[tuple[str, str, str]]:
    """Of each of the first curves where its knee is, and what it reaches at the largest size."""
    for curve in curves[:_MOST_CARDS]:
        size, busbw, ratio = (curve.columns[name][-1] for name in ("size_bytes", "busbw", "ratio"))
        knee = (
            "knee outside these sizes" if curve.knee_bytes is None else f"knee {format_bytes(round(curve.knee_bytes))}"
        )
        hint = f"busbw at {format_bytes(int(size))}, {ratio:.2f} times the lower bound; {knee}"
        yield _name(curve), format_bandwidth(float(busbw)), hint


def size_curves(curves: Sequence[SimulatedCurve], column: str, unit: float, title: str) -> Chart:
    """A line a curve over sizes, both axes logarithmic; with their bounds and knees where the column is a time."""
    series = []
    for number, curve in enumerate(curves):
        color, name = SERIES[number % len(SERIES)], _name(curve)
        sizes, values = curve.columns["size_bytes"].tolist(), (curve.columns[column] / unit).tolist()
        said = [f"{name}, {format_bytes(size)}: {value:.4g} {title}" for size, value in zip(sizes, values, strict=True)]
        series.append(Series(name, sizes, values, color, tips=said))
        if column != "time_ps":
            continue
        bounds = (curve.columns["bound_ps"] / unit).tolist()
        series.append(Series("", sizes, bounds, color, dots=False, dashed=True, thin=True))
        if curve.knee_bytes is not None:
            knee = [f"knee of {name}: {format_bytes(round(curve.knee_bytes))}"]
            place = ([curve.knee_bytes], [2 * curve.floor_ps / unit])
            series.append(Series("", *place, color, line=False, symbol="ring", sizes=[18], tips=knee))
    sizes = [size for curve in curves for size in curve.columns["size_bytes"].tolist()]
    return xy_chart(series, size_axis(sizes), Axis(title, log=True), f"{title} over size", height=460)


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
