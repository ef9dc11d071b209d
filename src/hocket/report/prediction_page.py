"""The page of one prediction: what a job does with its time and its links."""

from collections.abc import Callable, Iterator

from hocket.base.units import format_bandwidth, format_bytes, format_bytes_apart, format_time
from hocket.report.page import Block, Cards, Figure, Section, Table, Text, render
from hocket.report.prediction_figures import critical_path_picture, link_heat_map, rank_bars
from hocket.simulator import Model, Prediction
from hocket.simulator.analysis import (
    Columns,
    caused_waits,
    collective_table,
    critical_path,
    group_table,
    rank_table,
    sort_table,
    step_table,
)

__all__ = ["prediction_page"]

_ROWS = 25
_LINKS = 10
Formats = dict[str, Callable[..., str]]


def prediction_page(prediction: Prediction) -> str:
    """The page as HTML text."""
    sections = [Section("In numbers", [Cards(list(_cards(prediction)))])]
    steps = step_table(prediction)
    if len(steps["step"]):
        formats: Formats = {"step": str, "start_ps": format_time, "finish_ps": format_time, "time_ps": format_time}
        sections.append(Section("Steps", [_table(steps, formats)]))
    sections.append(Section("Ranks", list(_ranks(prediction))))
    if prediction.model != Model.BOUND:
        sections.append(Section("Critical path", list(_critical_path(prediction))))
    if prediction.collectives:
        sections.append(Section("Collectives", list(_collectives(prediction))))
    if prediction.link_messages.any():
        sections.append(Section("Links", list(_links(prediction))))
    remarks = [*prediction.notes, *prediction.warnings]
    if remarks:
        sections.append(Section("Notes", [Text(remark) for remark in remarks]))
    topology = prediction.topology
    subtitle = f"{topology.num_ranks} ranks, {topology.num_links} links; model {prediction.model}"
    subtitle += f", {prediction.routing_words}" * bool(prediction.routing_words)
    return render(f"Prediction on {topology.name}", subtitle, sections)


def _cards(prediction: Prediction) -> Iterator[tuple[str, str, str]]:
    last = int(prediction.finish_ps.argmax())
    exposed = int(prediction.exposed_ps[last])
    yield "Time", format_time(prediction.time_ps), f"{prediction.ratio:.3f} times the bound"
    yield "Bound", format_time(prediction.bound_ps), "no schedule can be faster"
    share = exposed / max(prediction.time_ps, 1)
    yield "Exposed communication", format_time(exposed), f"{share:.1%} of the time of rank {last}, the last to finish"
    if prediction.link_messages.any():
        link = int(prediction.link_busy_ps.argmax())
        name = prediction.topology.link_name(link)
        yield "Busiest link", f"{prediction.link_utilisation[link]:.1%}", f"{name}, of the whole time"


def _ranks(prediction: Prediction) -> Iterator[Block]:
    ranks = rank_table(prediction)
    yield Figure(
        rank_bars(ranks),
        "What each rank does until it is done; of many ranks, those with the most exposed time. Idle: neither computing"
        " nor taking part in communication.",
    )
    late = caused_waits(prediction)
    if len(late["rank"]):
        yield Text("Ranks that others waited for, in collectives and at receives:")
        formats: Formats = {"rank": str, "caused_wait_ps": format_time, "waits": str, "ranks_kept_waiting": str}
        yield _table(late, formats)


def _critical_path(prediction: Prediction) -> Iterator[Block]:
    path = critical_path(prediction)
    if not len(path.node):
        return
    rows = [[what, format_time(time), f"{time / prediction.time_ps:.1%}"] for what, time in path.parts().items()]
    yield Table(["part", "time", "share"], rows)
    yield Figure(
        critical_path_picture(path),
        f"The chain of {len(path.node)} segments that made the job take as long as it did: a slanted line leads through"
        " a collective or message from one rank to another. Nothing off this chain shortens the job.",
    )


def _collectives(prediction: Prediction) -> Iterator[Block]:
    times: Formats = {
        "mean_wait_ps": format_time,
        "mean_time_ps": format_time,
        "mean_bound_ps": format_time,
        "ratio": "{:.3f}".format,
        "busbw": format_bandwidth,
    }
    first: Formats = {"count": str, "kind": str, "ranks": str, "size_bytes": format_bytes}
    yield Text(
        "Wait: from the first member's start to the last one's; time: from there to the end; ratio: time over bound;"
        " busbw as in nccl-tests."
    )
    sorts = sort_table(prediction)
    apart = format_bytes_apart(sorts["size_bytes"].tolist())
    yield _table(sorts, first | {"size_bytes": apart.__getitem__} | {"algorithm": str} | times)
    groups = group_table(prediction)
    if len(groups["group"]) > 1:
        yield Text("By process group, with the mean size:")
        yield _table(groups, {"group": lambda name: name or "all ranks"} | first | times)
    table = collective_table(prediction)
    latency_bound = int((table["regime"] == "latency").sum())
    if (table["regime"] != "").all():
        yield Text(
            f"{latency_bound} of {len(table['regime'])} collectives are ruled by latency: they take less than twice"
            " what they would without any bytes."
        )


def _links(prediction: Prediction) -> Iterator[Block]:
    if prediction.link_use is not None:
        yield Figure(
            link_heat_map(prediction), "How busy each link is over time; of many links, those that work the longest."
        )
    rows = [
        [
            prediction.topology.link_name(link),
            f"{prediction.link_utilisation[link]:.1%}",
            format_bytes(int(prediction.link_bytes[link])),
            str(int(prediction.link_messages[link])),
        ]
        for link in (-prediction.link_busy_ps).argsort(kind="stable")[:_LINKS].tolist()
    ]
    yield Table(["link", "busy", "bytes", "messages"], rows)


def _table(table: Columns, formats: Formats) -> Table:
    """The first rows, the columns that `formats` names as it says."""
    columns = [[formats[name](value) for value in table[name][:_ROWS].tolist()] for name in formats]
    headings = [
        name.removeprefix("mean_").removesuffix("_ps").removesuffix("_bytes").replace("_", " ") for name in formats
    ]
    return Table(headings, list(zip(*columns, strict=True)))
