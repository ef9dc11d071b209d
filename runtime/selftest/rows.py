"""What the ranks left, joined: each call's time of the slowest rank, and its wrong values on all of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket.runtime.run.buffers import input_output_elements
from hocket.runtime.run.job import Result, Row, RunTask
from hocket.runtime.run.table import format_table

__all__ = ["JoinedTask", "RankLine", "joined", "rank_file", "ranks_told", "rows_file", "tables"]

#: `task` (its number), `size_bytes`, `in_place`; `time_ps` and `wrong`, or the `error` of a call that failed.
RankLine = dict[str, Any]


@dataclass
class JoinedTask:
    """What all ranks did of a task; `errors`, a line each, of calls that failed."""

    task: RunTask
    rows: list[Row] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        return sum(row.wrong for row in self.rows)

    @property
    def name(self) -> str:
        """`all_reduce of float32, sum`."""
        op = f", {self.task.op}" if self.task.kind.reduces else ""
        return f"{self.task.kind} of {self.task.data_type}{op}"


def rows_file(folder: Path, rank: int) -> Path:
    return folder / f"rows.{rank}.jsonl"


def rank_file(folder: Path, rank: int) -> Path:
    return folder / f"rank.{rank}.json"


def ranks_told(folder: Path, ranks: int) -> list[dict[str, Any]]:
    """What each rank said it is, as far as they came."""
    files = (rank_file(folder, rank) for rank in range(ranks))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def joined(folder: Path, tasks: Sequence[RunTask]) -> list[JoinedTask]:
    """The calls that every rank came through, task by task."""
    told = [_told(rows_file(folder, rank)) for rank in range(tasks[0].num_ranks)]
    found = []
    for number, task in enumerate(tasks):
        of_task = JoinedTask(task)
        for size in task.sizes:
            results = {}
            for in_place in (False, True):
                lines = [of_rank[number, size, in_place] for of_rank in told if (number, size, in_place) in of_rank]
                if len(lines) < len(told):
                    continue
                if errors := sorted({line["error"] for line in lines if "error" in line}):
                    of_task.errors.append(f"{of_task.name}, {size} B: {errors[0]}")
                    continue
                results[in_place] = Result(max(line["time_ps"] for line in lines), sum(line["wrong"] for line in lines))
            if results:
                counts = input_output_elements(task.kind, task.num_ranks, size // task.elements.size_bytes)
                of_task.rows.append(Row(size, min(counts), results.get(False), results.get(True), None))
        found.append(of_task)
    return found


def _told(file: Path) -> Mapping[tuple[int, int, bool], RankLine]:
    """A rank's lines, but for one that it did not come to write to its end."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    lines = (json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return {(line["task"], line["size_bytes"], line["in_place"]): line for line in lines}


def tables(done: Sequence[JoinedTask], by: str, described: Sequence[Mapping[str, Any]], library: int) -> str:
    """nccl-tests' table of each task that has rows; `by`: what ran; `described`: the ranks; `library`: the code of
    NCCL's version, 0: another library."""
    lines = [*_devices(described)] if library else []
    for each in done:
        if each.rows:
            task = each.task
            lines += [f"# hocket selftest, nccl-library={library}"] if library else []
            title = f"# hocket selftest, {by}: {task.kind} on {task.num_ranks} {task.transport} ranks"
            lines += [title, "#", format_table(task, each.rows)]
    return "\n".join(lines) + "\n"


def _devices(described: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """As nccl-tests tells GPUs, without the host's name."""
    for rank, told in enumerate(described):
        yield f"#  Rank {rank:>2} Group  0 Pid      0 on      node device {rank:>2} [0x00] {told['device']}"
