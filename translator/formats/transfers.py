"""A timed schedule as a plain table: for spreadsheets, notebooks and programs that know nothing of Hocket."""

import json
from pathlib import Path

import numpy as np

from hocket.base.errors import RequestError
from hocket.base.files import atomic_write
from hocket.schedule import Schedule
from hocket.simulator.analysis import Columns, write_csv
from hocket.translator.formats.format import ScheduleFormat

__all__ = ["FORMATS", "transfer_table", "write_transfers"]


def transfer_table(schedule: Schedule) -> Columns:
    """A row a transfer, in the schedule's order: `chunk`; `src`, `dst`, ranks of the collective; `bytes`; `reduce`,
    whether the destination adds it up (1) or stores it (0); `own`, whether it carries the source's own contribution
    alone, whatever the source has added to it (1); `start_ps`, `finish_ps`; `links`, those of the topology
    that it goes over, separated by spaces."""
    routes = [
        " ".join(map(str, schedule.route_links[first:last].tolist()))
        for first, last in zip(schedule.route_offset[:-1].tolist(), schedule.route_offset[1:].tolist(), strict=True)
    ]
    return {
        "chunk": schedule.chunk,
        "src": schedule.src,
        "dst": schedule.dst,
        "bytes": schedule.collective.chunk_bytes[schedule.chunk],
        "reduce": schedule.reduce.astype(np.int8),
        "own": schedule.is_own.astype(np.int8),
        "start_ps": schedule.start_ps,
        "finish_ps": schedule.finish_ps,
        "links": np.array(routes, np.str_)[schedule.route],
    }


def write_transfers(schedule: Schedule, path: Path | str) -> None:
    """Writes the table as CSV, or where the name ends in .json as JSON: `collective`, `ranks`, `size_bytes`, `chunks`,
    `topology`, `time_ps` and `transfers`, a list a column."""
    table = transfer_table(schedule)
    if Path(path).suffix != ".json":
        write_csv(path, table)
        return
    collective = schedule.collective
    content = {
        "format": "hocket.transfers",
        "version": 1,
        "collective": collective.kind,
        "ranks": collective.num_ranks,
        "size_bytes": collective.size_bytes,
        "chunks": collective.num_chunks,
        "topology": schedule.topology.name,
        "time_ps": schedule.time_ps,
        "transfers": {name: column.tolist() for name, column in table.items()},
    }
    with atomic_write(path) as file:
        json.dump(content, file)
        file.write("\n")


def _write(schedule: Schedule, path: Path) -> list[str]:
    if path.suffix not in (".csv", ".json"):
        raise RequestError(f"--output {path}: a table is a .csv or a .json")
    write_transfers(schedule, path)
    return [f"{path}: {schedule.num_transfers} transfers"]


FORMATS = (
    ScheduleFormat(
        name="table",
        summary="a table of transfers, .csv or .json",
        source="docs/schedule.md",
        example="hocket translate ar.schedule --to table -o ar.csv",
        write=_write,
    ),
)
