"""The page of one prediction: what a job does with its time and its links."""

from collections.abc import Callable, Iterator

import numpy as np

from hocket.base.units import format_bandwidth, format_bytes, format_bytes_apart, format_time
from hocket.report.link_sorts import link_heat
from hocket.report.network import network_picture
from hocket.report.node_names import NodeNames
from hocket.report.page import Block, Cards, Details, Figure, Section, Table, Text, render
from hocket.report.prediction_advice import prediction_advice
from hocket.report.prediction_figures import critical_path_picture, rank_bars
from hocket.report.rank_groups import ranks_called
from hocket.report.rank_timeline import rank_timeline
from hocket.simulator import Model, Prediction
from hocket.simulator.analysis import (
    Columns,
    CriticalPath,
    caused_waits,
    collective_table,
    critical_path,
    group_table,
    rank_table,
    sort_table,
    step_table,
)

__all__ = ["prediction_page"]

_ROWS = 500
_LINKS = 100
_FRAMES = 64
Formats = dict[str, Callable[..., str]]


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
        sections.append(Section("Timeline", list(rank_timeline(prediction))))
    steps = step_table(prediction)
    if len(steps["step"]):
        formats: Formats = {"step": str, "start_ps": format_time, "finish_ps": format_time, "time_ps": format_time}
        sections.append(Section("Steps", [_table(steps, formats)]))
    if prediction.collectives:
        sections.append(Section("Collectives", list(_collectives(prediction, sorts))))
    sections.append(Section("Ranks", list(_ranks(prediction, ranks))))
    if path is not None:
        sections.append(Section("Critical path", list(_critical_path(prediction, path))))
    sections.append(Section("Topology and links", list(_links(prediction, names))))
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


def _collectives(prediction: Prediction, sorts: Columns) -> Iterator[Block]:
    times: Formats = {
        "mean_wait_ps": format_time,
        "mean_time_ps": format_time,
        "mean_bound_ps": format_time,
        "ratio": "{:.3f}".format,
        "algbw": format_bandwidth,
        "busbw": format_bandwidth,
    }
    first: Formats = {"count": str, "kind": str, "ranks": str, "size_bytes": format_bytes}
    apart = format_bytes_apart(sorts["size_bytes"].tolist())
    total: Formats = {"total_time_ps": format_time}
    yield _table(
        sorts, first | {"size_bytes": apart.__getitem__} | {"algorithm": str} | total | times, "collectives by sort"
    )
    yield Text(
        "Wait: from the first member's start to the last one's; time: from there to the end; ratio: time over lower"
        " bound; algbw and busbw as in nccl-tests."
    )
    table = collective_table(prediction)
    latency_bound = int((table["regime"] == "latency").sum())
    if (table["regime"] != "").all():
        yield Text(
            f"{latency_bound} of {len(table['regime'])} collectives are ruled by latency: they take less than twice"
            " what they would without any bytes."
        )
    groups = group_table(prediction)
    if len(groups["group"]) > 1:
        by_group = _table(groups, {"group": lambda name: name or "all ranks"} | first | times, "by process group")
        yield Details("By process group, with the mean size", [by_group])


def _links(prediction: Prediction, names: NodeNames) -> Iterator[Block]:
    use = prediction.link_use
    if not prediction.link_messages.any():
        yield Figure(network_picture(names, None), "The links are not used: what they carry is not simulated.")
        return
    share, times = prediction.link_utilisation[:, None], []
    if use is not None:
        frames = _frames(use.busy_ps)
        share = np.concatenate([share, frames / (use.bin_ps * -(-use.busy_ps.shape[1] // _FRAMES))], axis=1)
        step = use.bin_ps * -(-use.busy_ps.shape[1] // _FRAMES)
        times = ["whole time", *(f"{format_time(at * step)} on" for at in range(frames.shape[1]))]
    yield Figure(
        network_picture(names, share, times=times),
        "Lines are as thick as the bandwidth of their links, and coloured by how busy they are: over the whole time, or"
        " from the time on that the slider says. A frame around several ranks is the links inside.",
    )
    if use is not None:
        chart, words = link_heat(names, use.busy_ps / use.bin_ps, use.bin_ps, "how busy links are over time")
        yield Figure(chart, f"How busy links are over time. {words}")
    rows = [
        [
            names.link(link),
            f"{prediction.link_utilisation[link]:.1%}",
            format_bytes(int(prediction.link_bytes[link])),
            str(int(prediction.link_messages[link])),
        ]
        for link in (-prediction.link_busy_ps).argsort(kind="stable")[:_LINKS].tolist()
        if prediction.link_messages[link]
    ]
    yield Table(["link", "busy", "bytes", "messages"], rows, about="the busiest links")


def _frames(busy_ps: np.ndarray) -> np.ndarray:
    """Bins of links added up to at most `_FRAMES` of them."""
    step = -(-busy_ps.shape[1] // _FRAMES)
    return np.add.reduceat(busy_ps, np.arange(0, busy_ps.shape[1], step), axis=1)


def _table(table: Columns, formats: Formats, about: str = "") -> Table:
    """The first rows, the columns that `formats` names as it says."""
    columns = [[formats[name](value) for value in table[name][:_ROWS].tolist()] for name in formats]
    headings = [
        name.removeprefix("mean_").removesuffix("_ps").removesuffix("_bytes").replace("_", " ") for name in formats
    ]
    return Table(headings, list(zip(*columns, strict=True)), about=about)
