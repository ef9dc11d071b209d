"""The page of synthetic traffic over loads: throughput, latencies and their parts, links and queues."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.charts import (
    Axis,
    Bar,
    BarPart,
    Chart,
    HeatRow,
    Series,
    bar_chart,
    heat_map,
    time_axis,
    xy_chart,
)
from hocket.report.figures import SERIES
from hocket.report.page import Block, Cards, Figure, Page, Section, Table
from hocket.report.traffic_facts import LatencyFacts, PointFacts, TrafficFacts
from hocket.simulator.traffic_sweep import ClassUse

__all__ = ["traffic_content"]

_MICROSECOND = 1e6
_Value = Callable[[PointFacts], float]


def traffic_content(sweep: TrafficFacts) -> Page:
    """What is on the page."""
    sections = [
        Section("Summary", [Cards([*_cards(sweep)])]),
        Section("Throughput", [*_throughput(sweep)]),
        Section("Latency", [*_latency(sweep)]),
    ]
    if any(point.latency.inter.messages for point in sweep.points):
        sections.append(Section("Where the time between nodes goes", [*_stages(sweep)]))
    sections += [Section("Links and queues", [*_links(sweep)]), Section("Every point", [_points(sweep)])]
    return Page(f"Traffic {sweep.setup.pattern}", sweep.topology, sections)


def _at(point: PointFacts) -> float:
    return float(point.window or 0) if point.load is None else 100 * point.load


def _name(point: PointFacts) -> str:
    return f"window {point.window}" if point.load is None else f"load {point.load:.1%}"


def _across(sweep: TrafficFacts) -> Axis:
    return Axis("load, %" if sweep.is_open else "messages of a rank under way", from_zero=True)


def _cards(sweep: TrafficFacts) -> Iterator[tuple[str, str, str]]:
    found, setup = sweep.saturation, sweep.setup
    best = max(sweep.points, key=lambda point: point.throughput)
    if found is not None:
        said = "none" if found.from_load is None else f"{found.above:.0%} to {found.from_load:.0%}"
        yield "Saturation", said, "of the load: from there on less than 95 % of it arrives"
    yield "Most carried", f"{best.throughput:.1%}", f"at {_name(best)}, of {format_bandwidth(sweep.senders_bandwidth)}"
    first = sweep.points[0]
    yield "Latency", format_time(round(first.mean_ps)), f"on average at {_name(first)}"
    yield "Messages", format_bytes(setup.message_bytes), f"for {format_time(setup.duration_ps)}, seed {setup.seed}"
    yield "Routing", sweep.routing, f"{sweep.ranks} ranks"


def _series(sweep: TrafficFacts, name: str, value: _Value, color: str, unit: str, dashed: bool = False) -> Series:
    values = [value(point) for point in sweep.points]
    tips = [f"{name}, {_name(point)}: {y:.4g} {unit}" for point, y in zip(sweep.points, values, strict=True)]
    return Series(name, [_at(point) for point in sweep.points], values, color, dashed=dashed, tips=tips)


def _throughput(sweep: TrafficFacts) -> Iterator[Block]:
    lines = [_series(sweep, "carried", lambda point: 100 * point.throughput, SERIES[0], "%")]
    if sweep.is_open:
        places = [0.0, *(_at(point) for point in sweep.points)]
        lines.append(Series("offered", places, places, "ink", dots=False, dashed=True, thin=True))
    chart = xy_chart(
        lines, _across(sweep), Axis("% of what senders can send", from_zero=True), "throughput", height=380
    )
    yield Figure(chart, "In bytes on the senders' links, headers included. Where both lines part it saturates.")
    sorts: list[tuple[str, _Value]] = [
        ("within nodes", lambda point: point.intra_bandwidth / 1e9),
        ("between nodes", lambda point: point.inter_bandwidth / 1e9),
    ]
    lines = [_series(sweep, name, of, SERIES[at], "GB/s") for at, (name, of) in enumerate(sorts)]
    yield Figure(
        xy_chart(lines, _across(sweep), Axis("GB/s", from_zero=True), "payload", height=380), "Payload of all ranks."
    )


def _latency(sweep: TrafficFacts) -> Iterator[Block]:
    lines = []
    for sort, pick, color in (("within nodes", "intra", SERIES[0]), ("between nodes", "inter", SERIES[1])):
        if not any(getattr(point.latency, pick).messages for point in sweep.points):
            continue
        for words, percentile in (("median", "p50_ps"), ("99 %", "p99_ps")):

            def time(point: PointFacts, pick: str = pick, percentile: str = percentile) -> float:
                latencies: LatencyFacts = getattr(point.latency, pick)
                return getattr(latencies, percentile) / _MICROSECOND if latencies.messages else float("nan")

            lines.append(_series(sweep, f"{sort}, {words}", time, color, "us", dashed=percentile == "p99_ps"))
    yield Figure(
        xy_chart(lines, _across(sweep), Axis("microseconds", log=True), "latency", height=420),
        "From when a message is ready to its last byte at its receiver, of messages that came in the counted time."
        " Above saturation what waits at senders grows as long as it lasts.",
    )


def _stages(sweep: TrafficFacts) -> Iterator[Block]:
    colors = {name: SERIES[at % len(SERIES)] for at, name in enumerate(sweep.points[0].stages)}
    shown = [point for point in sweep.points if point.latency.inter.messages]
    bars = [
        Bar(
            _name(point),
            [
                BarPart(name, part.mean_ps, f"{_name(point)}: {name} {format_time(round(part.mean_ps))}")
                for name, part in point.stages.items()
            ],
        )
        for point in shown
    ]
    longest = max(sum(part.mean_ps for part in point.stages.values()) for point in shown)
    yield Figure(
        bar_chart(bars, time_axis(longest), colors, "parts of the latency between nodes"),
        "Means of the seven parts of a message's way to another node; they add up to its latency.",
    )


def _links(sweep: TrafficFacts) -> Iterator[Block]:
    uses = [point.classes for point in sweep.points]
    names = [use.name for use in uses[0]]

    def lines(value: Callable[[ClassUse], float], unit: str) -> list[Series]:
        at = [_at(point) for point in sweep.points]
        found = []
        for number, name in enumerate(names):
            values = [value(each[number]) for each in uses]
            tips = [f"{name}: {y:.4g} {unit}" for y in values]
            found.append(Series(name, at, values, SERIES[number % len(SERIES)], tips=tips))
        return found

    busy = lines(lambda use: 100 * use.busy_mean, "%")
    yield Figure(
        xy_chart(busy, _across(sweep), Axis("% busy", from_zero=True), "how busy links are", height=340),
        "Mean over the links of a class.",
    )
    waiting = lines(lambda use: use.waiting_mean / 1024, "KiB")
    yield Figure(
        xy_chart(waiting, _across(sweep), Axis("KiB", from_zero=True), "what waits for a link", height=340),
        "What waits at a switch for a link of the class: mean over links and time.",
    )
    last = sweep.points[-1]
    yield Figure(_over_time(last), f"How busy the links of each class are over time at {_name(last)}, mean over links.")


def _over_time(point: PointFacts) -> Chart:
    rows = []
    for name, busy in point.utilisation.classes.items():
        share = np.clip(np.array(busy), 0.0, 1.0)
        rows.append(HeatRow(name, share, f"{name}: {float(share.mean()):.1%} on average"))
    return heat_map(rows, point.utilisation.bin_ps, "how busy links are over time")


def _points(sweep: TrafficFacts) -> Table:
    heads = ["load" if sweep.is_open else "window", "carried", "within nodes", "between nodes"]
    heads += ["mean latency", "99 % within", "99 % between", "dropped packets"]
    rows: list[list[str]] = []
    keys: list[Sequence[float]] = []
    for point in sweep.points:
        times = [point.mean_ps, point.latency.intra.p99_ps, point.latency.inter.p99_ps]
        rows.append(
            [
                _name(point).partition(" ")[2],
                f"{point.throughput:.1%}",
                format_bandwidth(point.intra_bandwidth),
                format_bandwidth(point.inter_bandwidth),
                *(format_time(round(time)) for time in times),
                f"{point.dropped_packets:,}",
            ]
        )
        rates = [point.throughput, point.intra_bandwidth, point.inter_bandwidth]
        keys.append([_at(point), *rates, *times, point.dropped_packets])
    return Table(heads, rows, [list(row) for row in keys])
