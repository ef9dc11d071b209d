"""What ranks do over time: a row per rank, or a group of ranks that do alike."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from hocket.base.units import format_time
from hocket.report.blocks import Block, Details, Figure
from hocket.report.charts import Chart, Span, TimeRow, span_chart
from hocket.report.figures import PARTS
from hocket.simulator.analysis import PredictionFacts, RankPart, RanksAlike, rank_parts_ps

__all__ = ["timeline_blocks"]

_NAMES = dict(zip(RankPart, PARTS, strict=True))


def timeline_blocks(facts: PredictionFacts) -> Iterator[Block]:
    """The timeline of a prediction that takes some time, and behind a line every rank's where it has groups."""
    rows, ranks = facts.timeline.rows, len(facts.ranks["rank"])
    if not rows:
        return
    together = " A row is a group of ranks that do alike, or that follow each other." if len(rows) < ranks else ""
    yield Figure(
        _chart(facts, rows, 20),
        f"Time from left to right; each of {len(rows[0][1])} parts of it has the colour of what takes most of"
        f" it.{together} Waiting: in a collective or receive, before the last rank has arrived. Idle: none of these.",
    )
    if facts.timeline.ranks:
        each = [(RanksAlike(np.array([rank])), letters) for rank, letters in enumerate(facts.timeline.ranks)]
        yield Details("Every rank", [Figure(_chart(facts, each, 5), "A row per rank, from 0 on.")])


def _chart(facts: PredictionFacts, rows: Sequence[tuple[RanksAlike, str]], row_height: float) -> Chart:
    time_ps, parts = facts.time_ps, rank_parts_ps(facts.ranks)
    parts[-1] += time_ps - facts.ranks["finish_ps"]  # after its end a rank is idle, too
    drawn = []
    for group, letters in rows:
        spans, at, bin_ps = [], 0, time_ps / len(letters)
        for letter, run in groupby(letters):
            first, at = at, at + len([*run])
            spans.append(Span(_NAMES[RankPart(letter)], first * bin_ps, at * bin_ps))
        mean = parts[:, group.ranks].mean(axis=1).tolist()
        said = [
            f"{name} {format_time(time)} ({time / time_ps:.0%})"
            for name, time in zip(PARTS, mean, strict=True)
            if time >= time_ps / 2000
        ]
        drawn.append(TimeRow(group.name, spans, "\n".join([group.name, *said])))
    return span_chart(drawn, time_ps, PARTS, "what ranks do over time", row_height)
