"""Counts what traces hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.api.trace.request import TraceInfo
from hocket.base.files import write_json
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes
from hocket.chakra.losses import Loss, Lost, loss_lines
from hocket.chakra.summary import TraceSummary, summarize

__all__ = ["TraceContents", "perform"]

_HEADS = ("operation", "group", "size", "bytes", "nodes", "ranks", "total", "measured us")


def perform(request: TraceInfo, progress: Progress) -> TraceContents:
    contents = TraceContents(request, summarize(request.files.open()))
    if request.json:
        write_json(request.json, {"request": request.to_plain(), **asdict(contents.counts)})
    return contents


@dataclass(frozen=True, eq=False, repr=False)
class TraceContents(Result):
    """What traces hold, counted."""

    request: TraceInfo
    counts: TraceSummary

    @property
    def warnings(self) -> tuple[str, ...]:  # type: ignore[override]
        losses = {Loss(Lost(row.what), row.kind, row.reason): row.count for row in self.counts.losses}
        return tuple(f"  warning: {line}" for line in loss_lines(losses))

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        rows = [asdict(row) for row in self.counts.communication]
        return {"communication": {name: np.array([row[name] for row in rows]) for name in rows[0]}} if rows else {}

    def _lines(self) -> Iterator[str]:
        counts = self.counts
        yield f"{counts.num_ranks} ranks, {counts.num_nodes} nodes, {counts.num_dependencies} dependencies"
        yield ", ".join(f"{count} {kind}" for kind, count in counts.nodes_per_type.items())
        for name, ranks in counts.groups.items():
            yield f"group {name}: ranks {', '.join(map(str, ranks))}"
        rows = [
            (
                *(row.kind, row.group, format_bytes(row.num_bytes) if row.num_bytes >= 0 else "absent", row.num_bytes),
                *(row.num_nodes, row.num_ranks, format_bytes(row.total_bytes), row.duration_us),
            )
            for row in counts.communication
        ]
        if rows:
            yield from text_table(_HEADS, rows, align="<<", gap=3, ruled=True)
