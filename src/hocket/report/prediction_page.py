"""The page of one prediction: what a job does with its time and its links."""

from collections.abc import Iterator

from hocket.base.units import format_time
from hocket.report.collective_blocks import collective_blocks
from hocket.report.link_blocks import link_blocks
from hocket.report.node_names import NodeNames
from hocket.report.page import Block, Cards, Figure, Section, Table, Text, render
from hocket.report.prediction_advice import prediction_advice
from hocket.report.prediction_figures import critical_path_picture, rank_bars
from hocket.report.rank_groups import ranks_called
from hocket.report.rank_timeline import rank_timeline
from hocket.report.tables import Formats, table_of
from hocket.simulator import Model, Prediction
from hocket.simulator.analysis import (
    Columns,
    CriticalPath,
    caused_waits,
    critical_path,
    rank_table,
    sort_table,
    step_table,
)

__all__ = ["prediction_page"]

_ROWS = 500
_EVERY_EVENT = "Every event, to zoom into: hocket simulate --timeline FILE.json.gz, opened at ui.perfetto.dev."


def prediction_page(prediction: Prediction) -> str:
    """The page as HTML text."""
    names = NodeNames(prediction.topology)
    ranks, sorts = rank_table(prediction), sort_table(prediction)
    path = None if prediction.model == Model.BOUND else critical_path(prediction)  # of which it knows none
    summary: list[Block] = [Cards(list(_cards(prediction, names)))]
    if path is not None:
        summary += prediction_advice(prediction, names, path, ranks, sorts)
    sections = [Section("Summary", summary)]
    if path is not None and prediction.time_ps > 0:
        timeline = [*rank_timeline(prediction), Text(_EVERY_EVENT)]
        sections.append(Section("Timeline", timeline))
    steps = step_table(prediction)
    if len(steps["step"]):
        formats: Formats = {"step": str, "start_ps": format_time, "finish_ps": format_time, "time_ps": format_time}
        sections.append(Section("Steps", [table_of(steps, formats)]))
    if prediction.collectives:
        sections.append(Section("Collectives", list(collective_blocks(prediction, sorts))))
    sections.append(Section("Ranks", list(_ranks(prediction, ranks))))
    if path is not None:
        sections.append(Section("Critical path", list(_critical_path(prediction, path))))
    sections.append(Section("Topology and links", list(link_blocks(prediction, names))))
    remarks = [*prediction.assumed, *prediction.notes, *prediction.warnings]
    if remarks:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in remarks]))
    topology = prediction.topology
    subtitle = f"{topology.num_ranks} ranks, {topology.num_links} links; model {prediction.model}"
    subtitle += f", {prediction.routing_words}" * bool(prediction.routing_words)
    return render(f"Prediction on {topology.name}", subtitle, sections)


def _cards(prediction: Prediction, names: NodeNames) -> Iterator[tuple[str, str, str]]:
    last = int(prediction.finish_ps.argmax())
    exposed = int(prediction.exposed_ps[last])
    yield "Time", format_time(prediction.time_ps), f"{prediction.ratio:.3f} times the lower bound"
    yield "Lower bound", format_time(prediction.bound_ps), "no schedule can be faster"
    share = exposed / max(prediction.time_ps, 1)
    yield "Exposed communication", format_time(exposed), f"{share:.1%} of the time of rank {last}, the last to finish"
    if prediction.link_messages.any():
        link = int(prediction.link_busy_ps.argmax())
        yield "Busiest link", f"{prediction.link_utilisation[link]:.1%}", f"{names.link(link)}, of the whole time"


def _ranks(prediction: Prediction, ranks: Columns) -> Iterator[Block]:
    yield Figure(
        rank_bars(prediction, ranks),
        "What each rank does until it is done; ranks that do alike, or that follow each other where they are many, are"
        " one bar. Waiting: for other ranks. Idle: neither computing nor taking part in communication.",
    )
    late = caused_waits(prediction)
    if len(late["rank"]):
        yield Text("Ranks that others waited for, in collectives and at receives, those that did so alike in one row:")
        yield _late(late)


def _late(late: Columns) -> Table:
    """A row for all ranks with equal numbers."""
    together: dict[tuple[int, ...], list[int]] = {}
    columns = (late[name].tolist() for name in ("rank", "caused_wait_ps", "waits", "ranks_kept_waiting"))
    for rank, *numbers in zip(*columns, strict=True):
        together.setdefault(tuple(numbers), []).append(rank)
    rows = [
        [ranks_called(sorted(ranks)), str(len(ranks)), format_time(wait), str(waits), str(kept)]
        for (wait, waits, kept), ranks in list(together.items())[:_ROWS]
    ]
    heads = ["ranks", "number", "waits caused by each", "how often", "ranks kept waiting"]
    return Table(heads, rows, about="ranks that others waited for")


def _critical_path(prediction: Prediction, path: CriticalPath) -> Iterator[Block]:
    if not len(path.node):
        return
    rows = [[what, format_time(time), f"{time / prediction.time_ps:.1%}"] for what, time in path.parts().items()]
    yield Table(["part", "time", "share"], rows, about="parts of the critical path")
    yield Figure(
        critical_path_picture(path),
        f"The chain of {len(path.node)} segments that made the job take as long as it did: a slanted line leads through"
        " a collective or message from one rank to another. Nothing off this chain shortens the job.",
    )
