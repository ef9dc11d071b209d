"""What a sweep of synthetic traffic came to."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from hocket.api.provenance import write_page
from hocket.api.result import Result
from hocket.api.topology.files import notes_of
from hocket.api.traffic.request import SyntheticTraffic
from hocket.base.files import atomic_write, together, write_json
from hocket.base.late_imports import late_imports
from hocket.base.text import cell, printable_lines
from hocket.base.units import format_bytes, format_time
from hocket.simulator.offered_traffic import STAGES, TrafficPoint
from hocket.simulator.packet_channels import packet_notes
from hocket.simulator.packets import Latencies
from hocket.simulator.traffic_patterns import PATTERNS
from hocket.simulator.traffic_sweep import CARRIED, ClassUse, Saturation, TrafficSweep, class_uses

with late_imports(__name__):
    from hocket.report.traffic_facts import traffic_facts
    from hocket.report.traffic_page import traffic_content

__all__ = ["TrafficResult"]

_PERCENTILES = (50.0, 99.0, 99.9)
_GB = 1e9


class TrafficResult(Result):
    """A point for each load or window: `sweep.points`; where it saturates: `saturation`."""

    def __init__(self, request: SyntheticTraffic, sweep: TrafficSweep) -> None:
        self.request: SyntheticTraffic = request
        self.sweep = sweep
        self._written: list[str] = []

    @property
    def saturation(self) -> Saturation | None:
        """Between which loads it saturates; None of a closed loop."""
        return self.sweep.saturation

    def headline(self) -> str:
        return f"{self.request.pattern} on {self.sweep.topology.name}: saturation {saturation_words(self.sweep)}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        points = self.sweep.points
        uses = [(point, use) for point in points for use in class_uses(self.sweep.topology, point)]
        return {
            "points": {
                _place(self.sweep): np.array([_at(point) for point in points]),
                "throughput": np.array([point.throughput for point in points]),
                "intra_bandwidth": np.array([point.near_bandwidth for point in points]),
                "inter_bandwidth": np.array([point.far_bandwidth for point in points]),
                **_latency_columns("intra", [point.near for point in points]),
                **_latency_columns("inter", [point.far for point in points]),
                **{
                    f"{name.replace(' ', '_').replace('-', '_')}_ps": np.array(
                        [point.parts[at].mean_ps for point in points]
                    )
                    for at, name in enumerate(STAGES)
                },
                "dropped_packets": np.array([point.dropped for point in points], np.int64),
            },
            "classes": {
                _place(self.sweep): np.array([_at(point) for point, _ in uses]),
                **{name: np.array([getattr(use, name) for _, use in uses]) for name in ClassUse.__slots__},
            },
        }

    def write(self) -> None:
        """The files that the request asks for."""
        request = self.request
        with together():
            if request.json is not None:
                write_json(request.json, self.as_json())
                self._written.append(f"wrote {request.json}")
            if request.csv is not None:
                columns = self.columns()["points"]
                with atomic_write(request.csv) as file:
                    writer = csv.writer(file, lineterminator="\n")
                    writer.writerow(columns)
                    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
                    writer.writerows([cell(value) for value in row] for row in rows)
                self._written.append(f"wrote {request.csv}")
            if request.report is not None:
                write_page(request.report, traffic_content(traffic_facts(self.sweep)).html(), self)
                self._written.append(f"wrote {request.report}")

    def as_json(self) -> dict[str, Any]:
        sweep = self.sweep
        return {
            "format": "hocket.traffic",
            "version": 1,
            "request": self.request.to_plain(),
            "headline": self.headline(),
            "fingerprint": sweep.topology.fingerprint,
            "message_wire_bytes": sweep.traffic.wire_bytes,
            "notes": self._notes(),
            **msgspec.to_builtins(traffic_facts(sweep)),
        }

    def _notes(self) -> list[str]:
        traffic = self.sweep.traffic
        of_packets = packet_notes(self.sweep.points[0].packets, traffic.fidelity, traffic.topology)
        return [*traffic.topology.notes, *of_packets]

    def _lines(self) -> Iterator[str]:
        sweep, setup = self.sweep, self.sweep.traffic.setup
        words = PATTERNS[setup.pattern.partition(":")[0]].summary
        yield f"{'pattern':<12} {setup.pattern}: {words}"
        yield f"{'topology':<12} {sweep.topology.name}, routing {sweep.traffic.routing.name}"
        counted = f"counted from {format_time(setup.from_ps)} on"
        size = f"{format_bytes(setup.message_bytes)} ({sweep.traffic.wire_bytes} bytes on a sender's link)"
        yield (f"{'messages':<12} {size}, for {format_time(setup.duration_ps)}, {counted}, seed {setup.seed}")
        yield from notes_of(tuple(self._notes()))
        yield from table_lines(sweep)
        yield from _stage_lines(sweep)
        yield from _queue_lines(sweep)
        yield f"{'saturation':<12} {saturation_words(sweep)}{_advice(sweep)}"
        yield from self._written


def saturation_words(sweep: TrafficSweep) -> str:
    """Where a sweep saturates, in words."""
    found = sweep.saturation
    if found is None:
        best = max(sweep.points, key=lambda point: point.throughput)
        return f"at most {best.throughput:.1%} of what senders can send, with {best.window} messages of each under way"
    most = f"at most {found.throughput:.1%} is carried"
    if found.from_load is None:
        return f"none up to {found.above:.0%} of the load; {most}"
    between = f"between {found.above:.0%} and" if found.above else "at or below"
    return f"{between} {found.from_load:.0%} of the load, where less than {CARRIED:.0%} of it arrives; {most}"


def _advice(sweep: TrafficSweep) -> str:
    """Where every load saturated: the loads to try, from well before what is carried to it; empty otherwise."""
    found = sweep.saturation
    if found is None or found.from_load is None or found.above:
        return ""
    most = max(2, round(100 * found.throughput))
    return f"; try lower loads, such as --load {max(1, most // 4)}%..{most}%"


def table_lines(sweep: TrafficSweep) -> Iterator[str]:
    """A line a point: what is carried, and how late it is."""
    heads = [_place(sweep), "carried", "intra GB/s", "inter GB/s", "mean", *(f"p{each:g}" for each in _PERCENTILES)]
    yield " ".join(f"{head:>11}" for head in [*heads, "max"])
    for point in sweep.points:
        both = _both(point)
        at = str(point.window) if point.load is None else f"{point.load:.1%}"
        carried = [f"{point.throughput:.1%}", f"{point.near_bandwidth / _GB:.1f}", f"{point.far_bandwidth / _GB:.1f}"]
        times = [point.mean_ps, *(both.percentile_ps(each) for each in _PERCENTILES), both.most_ps]
        yield " ".join(f"{word:>11}" for word in [at, *carried, *(format_time(round(time)) for time in times)])


def _both(point: TrafficPoint) -> Latencies:
    """The latencies of all messages."""
    times = np.concatenate([point.near.time_ps, point.far.time_ps])
    counts = np.concatenate([point.near.count, point.far.count])
    order = np.argsort(times, kind="stable")
    return Latencies(times[order], counts[order], point.mean_ps, max(point.near.most_ps, point.far.most_ps))


def _stage_lines(sweep: TrafficSweep) -> Iterator[str]:
    shown = [point for point in sweep.points if point.far.total]
    if not shown:
        return
    yield "where the time of messages between nodes goes, on average"
    words = [_stage_word(name) for name in STAGES]
    yield " ".join(f"{head:>13}" for head in [_place(sweep), *words])
    for point in shown:
        at = str(point.window) if point.load is None else f"{point.load:.1%}"
        parts = [format_time(round(part.mean_ps)) for part in point.parts]
        yield " ".join(f"{word:>13}" for word in [at, *parts])


def _stage_word(name: str) -> str:
    short = name.replace("intra-node network", "intra").replace("inter-node network", "inter")
    return short.replace("accelerator", "acc").replace("destination", "dest")


def _queue_lines(sweep: TrafficSweep) -> Iterator[str]:
    """Links and queues at the last point."""
    point = sweep.points[-1]
    at = f"window {point.window}" if point.load is None else f"load {point.load:.1%}"
    yield f"links at {at}: how busy, and what waits for one"
    yield f"{'class':>15} {'links':>6} {'busy':>7} {'busiest':>8} {'waiting':>10} {'max':>10}"
    for use in class_uses(sweep.topology, point):
        busy = f"{use.busy_mean:>7.1%} {use.busy_most:>8.1%}"
        waiting = f"{format_bytes(round(use.waiting_mean)):>10} {format_bytes(use.waiting_most):>10}"
        yield f"{use.name:>15} {use.links:>6} {busy} {waiting}"


def _place(sweep: TrafficSweep) -> str:
    return "load" if sweep.is_open else "window"


def _at(point: TrafficPoint) -> float:
    return float(point.window or 0) if point.load is None else point.load


def _latency_columns(name: str, found: Sequence[Latencies]) -> dict[str, Any]:
    columns = {f"{name}_messages": np.array([each.total for each in found], np.int64)}
    columns[f"{name}_mean_ps"] = np.array([each.mean_ps for each in found])
    for percent in _PERCENTILES:
        key = f"{name}_p{percent:g}_ps".replace(".", "_")
        columns[key] = np.array([each.percentile_ps(percent) for each in found], np.int64)
    columns[f"{name}_most_ps"] = np.array([each.most_ps for each in found], np.int64)
    return columns
