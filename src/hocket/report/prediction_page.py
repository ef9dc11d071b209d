"""The page of one prediction: what a job does with its time and its links."""

from collections.abc import Iterator

from hocket.base.units import format_time
from hocket.report.collective_blocks import collective_blocks
from hocket.report.link_blocks import link_blocks
from hocket.report.node_names import NodeNames
from hocket.report.page import Block, Cards, Figure, Page, Section, Table, Text
from hocket.report.prediction_advice import prediction_advice
from hocket.report.prediction_figures import critical_path_picture, rank_bars
from hocket.report.rank_timeline import timeline_blocks
from hocket.report.tables import Formats, table_of
from hocket.simulator.analysis import Columns, PredictionFacts, path_parts, ranks_called

__all__ = ["prediction_content", "prediction_page"]

_ROWS = 500
_EVERY_EVENT = "Every event, to zoom into: hocket simulate --timeline FILE.json.gz, opened at ui.perfetto.dev."


def prediction_page(facts: PredictionFacts) -> str:
    """The page as HTML text."""
    return prediction_content(facts).html()


def prediction_content(facts: PredictionFacts) -> Page:
    """What is on the page."""
    names, path = NodeNames(facts.topology), facts.path
    summary: list[Block] = [Cards(list(_cards(facts, names)))]
    if path is not None:
        summary += prediction_advice(facts, names, path)
    sections = [Section("Summary", summary)]
    if timeline := [*timeline_blocks(facts)]:
        sections.append(Section("Timeline", [*timeline, Text(_EVERY_EVENT)]))
    if len(facts.steps["step"]):
        formats: Formats = {"step": str, "start_ps": format_time, "finish_ps": format_time, "time_ps": format_time}
        sections.append(Section("Steps", [table_of(facts.steps, formats)]))
    if facts.collectives:
        sections.append(Section("Collectives", list(collective_blocks(facts))))
    sections.append(Section("Ranks", list(_ranks(facts))))
    if path is not None:
        sections.append(Section("Critical path", list(_critical_path(facts, path))))
    sections.append(Section("Topology and links", list(link_blocks(facts, names))))
    if facts.remarks:
        sections.append(Section("Assumed, and notes", [Text(remark) for remark in facts.remarks]))
    topology = facts.topology
    subtitle = f"{topology.num_ranks} ranks, {topology.num_links} links; model {facts.model}"
    subtitle += f", {facts.routing_words}" * bool(facts.routing_words)
    return Page(f"Prediction on {topology.name}", subtitle, sections)


def _cards(facts: PredictionFacts, names: NodeNames) -> Iterator[tuple[str, str, str]]:
    last = int(facts.ranks["finish_ps"].argmax())
    exposed = int(facts.ranks["exposed_ps"][last])
    yield "Time", format_time(facts.time_ps), f"{facts.ratio:.3f} times the lower bound"
    yield "Lower bound", format_time(facts.bound_ps), "no schedule can be faster"
    share = exposed / max(facts.time_ps, 1)
    yield "Exposed communication", format_time(exposed), f"{share:.1%} of the time of rank {last}, the last to finish"
    if facts.link_messages.any():
        link = int(facts.link_busy_ps.argmax())
        yield "Busiest link", f"{facts.link_utilisation[link]:.1%}", f"{names.link(link)}, of the whole time"


def _ranks(facts: PredictionFacts) -> Iterator[Block]:
    yield Figure(
        rank_bars(facts),
        "What each rank does until it is done; ranks that do alike, or that follow each other where they are many, are"
        " one bar. Waiting: for other ranks. Launch and steps of kernels: what a program's kernels take beside the"
        " links. Idle: none of these.",
    )
    if len(facts.caused_waits["rank"]):
        yield Text("Ranks that others waited for, in collectives and at receives, those that did so alike in one row:")
        yield _late(facts.caused_waits)


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


def _critical_path(facts: PredictionFacts, path: Columns) -> Iterator[Block]:
    if not len(path["what"]):
        return
    whole = max(facts.time_ps, 1)
    rows = [[what, format_time(time), f"{time / whole:.1%}"] for what, time in path_parts(path).items()]
    yield Table(["part", "time", "share"], rows, about="parts of the critical path")
    count = len(path["what"])
    yield Figure(
        critical_path_picture(path),
        f"The chain of {count} segment{'s' * (count != 1)} that made the job take as long as it did: a slanted line"
        " leads through a collective or message from one rank to another. Nothing off this chain shortens the job.",
    )
