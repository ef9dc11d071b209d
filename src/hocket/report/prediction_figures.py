"""Pictures of one prediction: how ranks divide their time, and the critical path."""

from itertools import cycle

import numpy as np

from hocket.base.units import format_time
from hocket.report.charts import Bar, BarPart, Chart, Span, TimeRow, bar_chart, span_chart, time_axis
from hocket.report.figures import KERNELS, PARTS
from hocket.simulator.analysis import Columns, PredictionFacts, alike, path_parts, rank_parts_ps

__all__ = ["critical_path_picture", "rank_bars"]

_COMMUNICATION = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")


def rank_bars(facts: PredictionFacts, most_rows: int = 32) -> Chart:
    """A bar a rank, stacked to its finish; ranks that divide their time alike, to a thousandth, are one."""
    parts = rank_parts_ps(facts.ranks)
    rounded = np.rint(parts * 1000 / max(facts.time_ps, 1)).astype(np.int64)
    has_kernels, bars = bool(parts[[*PARTS].index(KERNELS)].any()), []
    for group in alike(rounded, most_rows):
        mean = parts[:, group.ranks].mean(axis=1).tolist()
        said = [
            BarPart(name, time, f"{group.name}: {name} {format_time(time)}")
            for name, time in zip(PARTS, mean, strict=True)
            if name != KERNELS or has_kernels
        ]
        bars.append(Bar(group.name, said))
    return bar_chart(bars, time_axis(facts.time_ps), PARTS, "how ranks divide their time")


def critical_path_picture(path: Columns, max_segments: int = 1500) -> Chart:
    """A line a rank on the path (`CriticalPath.segments`) with its segments; lines lead from rank to rank. Of more than
    `max_segments` the longest."""
    duration = path["finish_ps"] - path["start_ps"]
    chosen = np.sort(np.argsort(-duration, kind="stable")[:max_segments])
    table = {name: path[name][chosen].tolist() for name in ("what", "start_ps", "finish_ps", "from_rank", "rank")}
    ranks = sorted({*table["rank"], *table["from_rank"]})
    row = {rank: at for at, rank in enumerate(ranks)}
    spans: list[list[Span]] = [[] for _ in ranks]
    for what, start, finish, first, last in zip(*table.values(), strict=True):
        said = f"{what}, rank {first}" + (f" to {last}" if first != last else "")
        said += f": {format_time(finish - start)} from {format_time(start)}"
        spans[row[first]].append(Span(what, start, finish, said, row[last]))
    others = cycle(_COMMUNICATION)
    colors = {kind: "c0" if kind == "compute" else next(others) for kind in path_parts(path)}
    rows = [TimeRow(f"rank {rank}", each) for rank, each in zip(ranks, spans, strict=True)]
    return span_chart(rows, int(path["finish_ps"].max(initial=1)), colors, "the critical path", 22)
