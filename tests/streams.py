"""Streams of the collector, written by hand and read line by line."""

import json
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import structs

from hocket.chakra.job_folders import find_job
from hocket.recording.calls import CallColumns
from hocket.recording.folder import stream_path
from hocket.recording.recording import Recording
from hocket.recording.waits import NONE

Record = dict[str, Any]


def job(folder: Path) -> Path:
    """The folder of the last job that was collected into a folder of jobs."""
    return find_job(folder).path


# Behind each letter of a line of numbers.
FIELDS = {
    "c": ("id", "shape", "seq", "t", "thread"),
    "d": ("id", "t"),
    "w": ("id", "t0", "duration", "thread"),
    "a": ("id", "t0", "duration", "thread", "peer"),
    "b": ("id", "batch"),
    "s": ("id", "shape"),
    "x": ("id",),
    "r": ("id", "t"),
    "e": ("id", "t", "end"),
    "v": ("id", "t", "on"),
    "g": ("id", "t", "end"),
}
END = {"k": "end", "t": 0, "ok": True}


def meta(rank: int, world: int = 2, **values: Any) -> Record:
    fixed = {"job": "j", "boot": "b", "torch": "2", "script": "s", "epoch_ns": 0, "perf_ns": 0, "step": 0}
    return {"k": "meta", "format": 3, "rank": rank, "world": world, "hook": "native"} | fixed | values


def group(ranks: list[int], identifier: int = 0, name: str = "0", order: int = 0) -> Record:
    fixed = {"description": "", "rank": 0, "backend": "gloo"}
    return {"k": "group", "id": identifier, "name": name, "ranks": ranks, "order": order} | fixed


def call(identifier: int, t: int, seq: int | None = None, thread: int = 1, **shape: Any) -> list[Record | str]:
    """A call and, under the same number, its shape."""
    fixed = {"op": "allreduce_", "group": 0, "in": 8, "out": 8, "dtype": "float32"}
    sequence = identifier if seq is None else seq
    return [
        {"k": "shape", "id": identifier} | fixed | shape,
        f"c {identifier} {identifier} {sequence} {t} {thread}",
    ]


def captured(graph: int, count: int, **shape: Any) -> Record:
    """So many calls of one shape that a graph does at each replay."""
    described = call(0, 0, **shape)[0]
    return {"k": "graph", "id": graph, "shapes": [described], "calls": [[0, -1]] * count}


def done(identifier: int, t: int) -> str:
    return f"d {identifier} {t}"


def wait(identifier: int, t0: int, t1: int) -> str:
    return f"w {identifier} {t0} {t1 - t0} 1"


def lines(*records: Record | str | list[Record | str]) -> str:
    """The text of a stream."""
    flat = [part for record in records for part in (record if isinstance(record, list) else [record])]
    texts = [part if isinstance(part, str) else json.dumps(part, separators=(",", ":")) for part in flat]
    return "".join(text + "\n" for text in texts)


def write(folder: Path, rank: int, *records: Record | str | list[Record | str], tail: str = "") -> Path:
    path = stream_path(folder, rank)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(lines(*records) + tail)
    return path


def read(path: Path) -> list[Record]:
    """Every line as a record; a call has "step" and all of its shape, its kind being its letter."""
    shapes: dict[int, Record] = {}
    step, records = 0, []
    for line in path.read_text().rstrip("\0").splitlines():
        if line.startswith("{"):
            record = json.loads(line)
        else:
            letter, *numbers = line.split()
            record = {"k": letter} | dict(zip(FIELDS[letter], map(int, numbers), strict=True))
        if record["k"] == "shape":
            shapes[record["id"]] = {key: value for key, value in record.items() if key not in ("k", "id")}
        elif record["k"] == "step":
            step = record["n"] + 1
        elif record["k"] == "c":
            record |= {"step": step} | shapes[record["shape"]]
        records.append(record)
    return records


def calls(path: Path) -> list[Record]:
    """The calls in a stream, without those that were refused."""
    records = read(path)
    refused = {record["id"] for record in records if record["k"] == "x"}
    return [record for record in records if record["k"] == "c" and record["id"] not in refused]


def issued(recording: Recording) -> list[Any]:
    """The calls of a recording as objects, with what their shapes and columns tell; None where there is none."""
    columns = {field.name: getattr(recording.columns, field.name).tolist() for field in fields(CallColumns)}
    shapes = [recording.shapes[number] for number in columns.pop("shape")]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [
        SimpleNamespace(
            **structs.asdict(shape) | {key: None if value == NONE else value for key, value in row.items()},
            num_bytes=shape.num_bytes,
        )
        for shape, row in zip(shapes, rows, strict=True)
    ]
