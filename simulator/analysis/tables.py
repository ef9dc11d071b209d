"""Everything a prediction says as tables, in memory and on disk."""

import csv
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.base.extras import install_command
from hocket.base.files import atomic_path, atomic_write, make_folder, together
from hocket.base.text import cell
from hocket.simulator.analysis.collectives import collective_table, group_table, sort_table
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.critical_path import critical_path
from hocket.simulator.analysis.json_form import write_prediction
from hocket.simulator.analysis.links import link_table, link_use_table
from hocket.simulator.analysis.packets import latency_table, queue_table, queue_use_table
from hocket.simulator.analysis.ranks import rank_table
from hocket.simulator.analysis.steps import step_table
from hocket.simulator.analysis.waits import caused_waits
from hocket.simulator.models import Model
from hocket.simulator.prediction import Prediction

__all__ = ["require_parquet", "tables", "write_csv", "write_parquet", "write_tables"]


def tables(prediction: Prediction) -> dict[str, Columns]:
    """`collectives`, `sorts` of them, `groups`, `ranks`, `caused_waits`, `steps`, `links`; `link_use` where it was
    recorded, `critical_path` but for model `bound`; `queues` and `latencies` of model `packet`, `queue_use` where it
    was recorded."""
    found = {
        "collectives": collective_table(prediction),
        "sorts": sort_table(prediction),
        "groups": group_table(prediction),
        "ranks": rank_table(prediction),
        "caused_waits": caused_waits(prediction),
        "steps": step_table(prediction),
        "links": link_table(prediction),
    }
    if prediction.link_use is not None:
        found["link_use"] = link_use_table(prediction)
    if prediction.packets is not None:
        found |= {"queues": queue_table(prediction), "latencies": latency_table(prediction)}
        if prediction.link_use is not None:
            found["queue_use"] = queue_use_table(prediction)
    if prediction.model != Model.BOUND:
        found["critical_path"] = critical_path(prediction).table()
    return found


def write_tables(prediction: Prediction, folder: Path | str, *, parquet: bool = False) -> None:
    """Writes `prediction.json` and a file a table into the folder: CSV, and with `parquet` Parquet beside it.

    Raises HocketError when Parquet is wanted without pyarrow.
    """
    if parquet:
        require_parquet()
    writers: list[tuple[str, Callable[[Path, Columns], None]]] = [("csv", write_csv)]
    if parquet:
        writers.append(("parquet", write_parquet))
    with together():
        folder = make_folder(folder)
        write_prediction(prediction, folder / "prediction.json")
        for name, table in tables(prediction).items():
            for suffix, write in writers:
                write(folder / f"{name}.{suffix}", table)


def write_csv(path: Path | str, table: Columns) -> None:
    """Writes a table as CSV with a line of column names; no cell of text is a formula (`hocket.base.text.cell`)."""
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(cell, table))
        rows = zip(*(column.tolist() for column in table.values()), strict=True)
        writer.writerows(map(cell, row) for row in rows)


def require_parquet() -> None:
    """Raises HocketError without pyarrow (extra `parquet`): before any work whose result could not be written."""
    if find_spec("pyarrow") is None:
        raise HocketError(f"Parquet needs pyarrow: {install_command('parquet')}, or use CSV")


def write_parquet(path: Path | str, table: Columns) -> None:
    """Writes a table as Parquet. Raises HocketError without pyarrow (extra `parquet`)."""
    require_parquet()
    import pyarrow
    from pyarrow import parquet

    with atomic_path(path) as temporary:
        parquet.write_table(pyarrow.table({name: pyarrow.array(column) for name, column in table.items()}), temporary)
