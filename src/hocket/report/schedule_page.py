"""The page of a synthesized schedule: what its links do, how its chunks spread, and what other algorithms need."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.figures import curves
from hocket.report.link_sorts import link_heat
from hocket.report.node_names import NodeNames
from hocket.report.page import Advice, Block, Cards, Figure, Page, Section, Table, Text
from hocket.report.schedule_facts import GroupsFacts, PictureFacts, ScheduleFacts, WindowsFacts
from hocket.report.schedule_figures import compared_times, spread_picture

__all__ = ["groups_content", "schedule_content", "windows_content"]

_NEAR = 1.05  # times the lower bound
_LINKS = 50


def schedule_content(one: ScheduleFacts) -> Page:
    """What is on the page of a schedule."""
    numbers = msgspec.structs.asdict(one)
    sections = [Section("Summary", [Cards(list(_cards(numbers))), *_advice(numbers)])]
    sections += _pictures(one.picture, one.time_ps)
    if one.native_ps:
        sections.append(Section("Other algorithms", [_others(one)]))
    size = f" of {format_bytes(one.size_bytes)}" if one.size_bytes else ""
    title = f"{one.collective}{size} on {one.topology}"
    chunks = f"chunks per rank: {one.chunks_per_rank}"
    return Page(title, f"{one.ranks} ranks, {chunks}; engine {one.engine}", sections)


def groups_content(found: GroupsFacts) -> Page:
    """What is on the page of collectives at once: each group's, then all on the links that they share."""
    table = Table(
        ["group", "ranks", "time", "bound alone, any chunks", "ratio", "busbw", "transfers"],
        [
            [
                str(number),
                each.group,
                format_time(each.time_ps),
                format_time(each.bound_any_chunks_ps),
                f"{each.ratio:.4f}",
                format_bandwidth(each.busbw_bytes_per_s),
                str(each.transfers),
            ]
            for number, each in enumerate(found.groups)
        ],
    )
    cards = [card for card in _cards(msgspec.structs.asdict(found)) if card[0] != "busbw"]  # of nobody's buffer
    sections = [Section("All at once", [Cards(cards), table]), *_pictures(found.picture, found.time_ps)]
    kinds = " and ".join(dict.fromkeys(each.collective for each in found.groups))
    title = f"{kinds} of {len(found.groups)} groups on {found.topology}"
    return Page(title, f"{found.ranks} ranks; engine {found.engine}", sections)


def windows_content(found: WindowsFacts) -> Page:
    """What is on the page of schedules for a range of sizes."""
    rows = [
        (number, msgspec.structs.asdict(one)) for number, window in enumerate(found.windows) for one in window.sizes
    ]
    sizes = [numbers["size_bytes"] for _, numbers in rows]
    busbw: dict[str, list[float]] = {
        f"schedule {number}": [numbers["busbw_bytes_per_s"] / 1e9 if number == at else np.nan for at, numbers in rows]
        for number in range(len(found.windows))
    }
    ratio = {"time / bound": [numbers["ratio"] for _, numbers in rows], "bound": [1.0] * len(rows)}
    table = Table(
        ["size", "schedule", "chunks per rank", "time", "bound of any chunks", "ratio", "algbw", "busbw", "engine"],
        [
            [
                format_bytes(numbers["size_bytes"]),
                str(number),
                str(numbers["chunks_per_rank"]),
                format_time(numbers["time_ps"]),
                format_time(numbers["bound_any_chunks_ps"]),
                f"{numbers['ratio']:.4f}",
                format_bandwidth(numbers["algbw_bytes_per_s"]),
                format_bandwidth(numbers["busbw_bytes_per_s"]),
                numbers["engine"],
            ]
            for number, numbers in rows
        ],
    )
    caption = "busbw as nccl-tests defines it, of the schedule that is the quickest at each size."
    sections = [
        Section("Summary", [Cards([*_window_cards([numbers for _, numbers in rows], len(found.windows))])]),
        Section("Bus bandwidth", [Figure(curves(sizes, busbw, "GB/s"), caption)]),
        Section("Above the bound", [Figure(curves(sizes, ratio, "ratio", "bound"), "No schedule can be below 1.")]),
        Section("Sizes", [table]),
    ]
    first = found.windows[0].sizes[0]
    return Page(f"{first.collective} on {first.topology}", f"{first.ranks} ranks", sections)


def _window_cards(sizes: Sequence[dict[str, Any]], schedules: int) -> Iterator[tuple[str, str, str]]:
    """Of schedules for a range of sizes: how many, and how far from their bounds."""
    worst = max(sizes, key=lambda numbers: float(numbers["ratio"]))
    largest = sizes[-1]
    yield "Schedules", str(schedules), f"for {len(sizes)} sizes"
    yield "busbw", format_bandwidth(largest["busbw_bytes_per_s"]), f"at {format_bytes(largest['size_bytes'])}"
    hint = f"times the lower bound of any chunks, at {format_bytes(worst['size_bytes'])}"
    yield "Farthest from the bound", f"{worst['ratio']:.3f}", hint


def _cards(numbers: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    yield "Time", format_time(numbers["time_ps"]), f"{numbers['ratio']:.4f} times the bound of any chunks"
    yield "Bound", format_time(numbers["bound_ps"]), numbers["bound_reason"]
    yield "Bound of any chunks", format_time(numbers["bound_any_chunks_ps"]), numbers["bound_any_chunks_reason"]
    yield "busbw", format_bandwidth(numbers["busbw_bytes_per_s"]), "as nccl-tests defines it"
    yield "Links", f"{numbers['link_utilization_mean']:.0%}", f"held; the busiest {numbers['link_utilization_max']:.0%}"
    yield "Transfers", str(numbers["transfers"]), "verified: values, order, bandwidth of links"
    yield "Search", f"{numbers['synthesis_seconds']:.3g} s", f"seed {numbers['seed']}"


def _advice(numbers: dict[str, Any]) -> Iterator[Advice]:
    """What to do with the schedule, by how far it is from what is possible."""
    ratio, chunks = numbers["ratio"], numbers["chunks_per_rank"]
    if ratio <= _NEAR:
        remedy = "Take it: translate it for your runtime (hocket translate), or simulate a job with it (--algorithm)."
        why = f"No schedule of any number of chunks beats {format_time(numbers['bound_any_chunks_ps'])}."
        yield Advice(f"{ratio:.3f} times the lower bound: little is left to gain", why, remedy)
        return
    by_chunks = numbers["time_ps"] / max(numbers["bound_ps"], 1)
    if by_chunks <= _NEAR:
        why = f"With {chunks} chunks per rank nothing beats {format_time(numbers['bound_ps'])}."
        remedy = f"Synthesize with more chunks: --chunks {2 * chunks}."
    else:
        why = f"Links are held for {numbers['link_utilization_mean']:.0%} of the time, the busiest for"
        why += f" {numbers['link_utilization_max']:.0%}: {numbers['bound_reason']}."
        remedy = "Try another engine or another seed, and compare it with the other algorithms below."
    yield Advice(f"{ratio:.2f} times the lower bound", why, remedy)


def _pictures(picture: PictureFacts | None, time_ps: int) -> list[Section]:
    """How the chunks spread, and the links; of a schedule that is too large for it that it is."""
    if picture is None:
        text = Text("Not drawn: too many transfers for the JSON; the page of --report has them.")
        return [Section("Links", [text])]
    names, share = NodeNames(picture.network()), picture.shares()
    spread = Figure(
        spread_picture(names, time_ps, share, picture.arrived()),
        "Play, or move the slider. A rank fills up as what it receives arrives; a link is hot while it is held for most"
        " of the frame. Of many ranks those of a node are in one box, whose frame is the links inside.",
    )
    return [Section("How the chunks spread", [spread]), Section("Links", [*_links(names, time_ps, share)])]


def _links(names: NodeNames, time_ps: int, share: Any) -> Iterator[Block]:
    use = share.mean(axis=1)
    chart, words = link_heat(names, share, time_ps / share.shape[1], "when each link is held")
    yield Figure(chart, f"The time-expanded network: when links are held. {words}")
    busiest = np.argsort(-use, kind="stable")[:_LINKS]
    rows = [[names.link(link), f"{use[link]:.1%}"] for link in busiest.tolist() if use[link] > 0]
    yield Table(["busiest links", "held"], rows)
    if idle := int((use == 0).sum()):
        yield Text(f"{idle} of {len(use)} links are not used.")


def _others(one: ScheduleFacts) -> Figure:
    chosen = f"this: {one.engine}"
    return Figure(
        compared_times({chosen: one.time_ps, **one.native_ps}, chosen, one.bound_ps),
        "The native algorithms with the same chunks, timed on the same links.",
    )
