"""Pictures of one prediction: how ranks divide their time, and the critical path."""

import numpy as np

from hocket.base.units import format_time
from hocket.report.charts import Bar, BarPart, Chart, Span, TimeRow, bar_chart, span_chart, time_axis
from hocket.report.figures import PARTS
from hocket.report.rank_groups import alike
from hocket.simulator import Prediction
from hocket.simulator.analysis import Columns, CriticalPath

__all__ = ["critical_path_picture", "rank_bars"]

_COMMUNICATION = ("c1", "c2", "c3", "c4", "c5", "c6", "c7")


def rank_bars(prediction: Prediction, ranks: Columns, most_rows: int = 32) -> Chart:
    """A bar a rank, stacked to its finish; ranks that divide their time alike, to a thousandth, are one."""
    overlapped, waiting = ranks["overlapped_ps"], ranks["exposed_wait_ps"]
    parts = np.stack(
        [
            ranks["compute_ps"] - overlapped,
            overlapped,
            ranks["communication_ps"] - overlapped - waiting,
            waiting,
            ranks["idle_ps"],
        ]
    )
    rounded = np.rint(parts * 1000 / max(prediction.time_ps, 1)).astype(np.int64)
    bars = []
    for group in alike(rounded, most_rows):
        mean = parts[:, group.ranks].mean(axis=1).tolist()
        said = [f"{group.name}: {name} {format_time(time)}" for name, time in zip(PARTS, mean, strict=True)]
        bars.append(Bar(group.name, [BarPart(*each) for each in zip(PARTS, mean, said, strict=True)]))
    return bar_chart(bars, time_axis(prediction.time_ps), PARTS, "how ranks divide their time")


def critical_path_picture(path: CriticalPath, max_segments: int = 1500) -> Chart:
    """A line a rank on the path with its segments; lines lead from rank to rank. Of more than `max_segments` the
    longest."""
    chosen = np.sort(np.argsort(-path.duration_ps, kind="stable")[:max_segments])
    ranks = sorted({*path.rank[chosen].tolist(), *path.from_rank[chosen].tolist()})
    row = {rank: at for at, rank in enumerate(ranks)}
    spans: list[list[Span]] = [[] for _ in ranks]
    what = path.what
    for at in chosen.tolist():
        start, finish = int(path.start_ps[at]), int(path.finish_ps[at])
        first, last = int(path.from_rank[at]), int(path.rank[at])
        said = f"{what[at]}, rank {first}" + (f" to {last}" if first != last else "")
        said += f": {format_time(finish - start)} from {format_time(start)}"
        spans[row[first]].append(Span(what[at], start, finish, said, row[last]))
    others = iter(_COMMUNICATION * 9)
    colors = {kind: "c0" if kind == "compute" else next(others) for kind in path.parts()}
    rows = [TimeRow(f"rank {rank}", each) for rank, each in zip(ranks, spans, strict=True)]
    return span_chart(rows, int(path.finish_ps.max(initial=1)), colors, "the critical path", 22)
