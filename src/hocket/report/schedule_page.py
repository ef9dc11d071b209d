"""The page of a synthesized schedule: what its links do, how its chunks spread, and what other algorithms need."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report.figures import curves
from hocket.report.link_sorts import link_heat
from hocket.report.node_names import NodeNames
from hocket.report.page import Advice, Block, Cards, Figure, Section, Table, Text, render
from hocket.report.schedule_figures import compared_times, spread_picture
from hocket.schedule import Schedule, link_use_over_time, retime
from hocket.schedule.algorithms import build_all
from hocket.synthesizer import ScheduleWindow, Synthesized, Together, summarize
from hocket.topology.naming import spans

__all__ = ["groups_page", "schedule_page", "windows_page"]

_BINS = 60
_NEAR = 1.05  # times the lower bound
_LINKS = 50
# Larger schedules are not compared: it would take long and show little.
_COMPARED_DELIVERIES = 200_000


def schedule_page(one: Synthesized) -> str:
    """The page as HTML text."""
    schedule, numbers = one.schedule.expand(), summarize(one)
    share, names = link_use_over_time(schedule, _BINS), NodeNames(schedule.topology)
    sections = [Section("Summary", [Cards(list(_cards(numbers))), *_advice(numbers)])]
    sections.append(Section("How the chunks spread", [_spread(names, schedule, share)]))
    sections.append(Section("Links", list(_links(names, schedule, share))))
    if schedule.collective.num_deliveries <= _COMPARED_DELIVERIES:
        sections.append(Section("Other algorithms", list(_others(one))))
    collective = schedule.collective
    size = f" of {format_bytes(collective.size_bytes)}" if collective.size_bytes else ""
    title = f"{collective.name}{size} on {schedule.topology.name}"
    chunks = f"chunks per rank: {collective.chunks_per_rank}"
    subtitle = f"{collective.num_ranks} ranks, {chunks}; engine {schedule.generator}"
    return render(title, subtitle, sections)


def groups_page(found: Together) -> str:
    """The page of collectives at once, as HTML text: each group's, then all on the links that they share."""
    schedule, parts = found.whole.schedule.expand(), [summarize(part) for part in found.parts]
    share, names = link_use_over_time(schedule, _BINS), NodeNames(schedule.topology)
    table = Table(
        ["group", "ranks", "time", "bound alone, any chunks", "ratio", "busbw", "transfers"],
        [
            [
                str(number),
                spans(part.schedule.expand().ranks.tolist()),
                format_time(numbers["time_ps"]),
                format_time(numbers["bound_any_chunks_ps"]),
                f"{numbers['ratio']:.4f}",
                format_bandwidth(numbers["busbw_bytes_per_s"]),
                str(numbers["transfers"]),
            ]
            for number, (part, numbers) in enumerate(zip(found.parts, parts, strict=True))
        ],
    )
    whole = summarize(found.whole)
    cards = [card for card in _cards(whole) if card[0] != "busbw"]  # of nobody's buffer
    sections = [
        Section("All at once", [Cards(cards), table]),
        Section("How the chunks spread", [_spread(names, schedule, share)]),
        Section("Links", list(_links(names, schedule, share))),
    ]
    kinds = " and ".join(dict.fromkeys(numbers["collective"] for numbers in parts))
    title = f"{kinds} of {len(parts)} groups on {schedule.topology.name}"
    return render(title, f"{whole['ranks']} ranks; engine {schedule.generator}", sections)


def windows_page(found: Sequence[ScheduleWindow]) -> str:
    """The page of schedules for a range of sizes, as HTML text."""
    rows = [(number, summarize(one)) for number, window in enumerate(found) for one in window.at]
    sizes = [numbers["size_bytes"] for _, numbers in rows]
    busbw: dict[str, list[float]] = {
        f"schedule {number}": [numbers["busbw_bytes_per_s"] / 1e9 if number == at else np.nan for at, numbers in rows]
        for number in range(len(found))
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
        Section("Summary", [Cards([*_window_cards([numbers for _, numbers in rows], len(found))])]),
        Section("Bus bandwidth", [Figure(curves(sizes, busbw, "GB/s"), caption)]),
        Section("Above the bound", [Figure(curves(sizes, ratio, "ratio", "bound"), "No schedule can be below 1.")]),
        Section("Sizes", [table]),
    ]
    collective, topology = found[0].at[0].schedule.collective, found[0].at[0].schedule.topology
    return render(f"{collective.kind} on {topology.name}", f"{collective.num_ranks} ranks", sections)


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


def _spread(names: NodeNames, schedule: Schedule, share: Any) -> Block:
    return Figure(
        spread_picture(names, schedule, share),
        "Play, or move the slider. A rank fills up as what it receives arrives; a link is hot while it is held for most"
        " of the frame. Of many ranks those of a node are in one box, whose frame is the links inside.",
    )


def _links(names: NodeNames, schedule: Schedule, share: Any) -> Iterator[Block]:
    topology, use = schedule.topology, share.mean(axis=1)
    chart, words = link_heat(names, share, schedule.time_ps / share.shape[1], "when each link is held")
    yield Figure(chart, f"The time-expanded network: when links are held. {words}")
    busiest = np.argsort(-use, kind="stable")[:_LINKS]
    rows = [[names.link(link), f"{use[link]:.1%}"] for link in busiest.tolist() if use[link] > 0]
    yield Table(["busiest links", "held"], rows)
    idle = int((use == 0).sum())
    if idle:
        yield Text(f"{idle} of {topology.num_links} links are not used.")


def _others(one: Synthesized) -> Iterator[Block]:
    schedule, bound = one.schedule.expand(), one.schedule.bound
    assert bound is not None  # Synthesized.of sets one
    chosen = f"this: {schedule.generator}"
    times = {chosen: schedule.time_ps}
    for native in build_all(schedule.collective, schedule.topology, schedule.group):
        with suppress(ScheduleError):  # some exchange partial sums in a way that busy links reorder
            times[native.generator] = retime(native, schedule.blocking).time_ps
    yield Figure(
        compared_times(times, chosen, bound.time_ps),
        "The native algorithms with the same chunks, timed on the same links.",
    )
