"""The choices that NCCL logged, and how they compare with the model's."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from hocket.api.nccl.naming import collectives_named
from hocket.api.nccl.request import NcclLogReading
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import FormatError, RequestError
from hocket.base.units import format_bytes
from hocket.nccl import NcclLog, NcclModel, read_nccl_log
from hocket.nccl.log_by_size import LoggedSize, by_size, differing_entries, logged_ranks, logged_settings
from hocket.nccl.programs.spec import model_of_hosts
from hocket.nccl.releases import NEWEST, Release, release_of
from hocket.topology.machines.hosts import hosts_of

__all__ = ["perform"]


def perform(request: NcclLogReading, progress: Progress) -> Report:
    """What was chosen, size by size; beside the model's choice where the machine is told."""
    names = collectives_named([request.collective]) if request.collective else [None]
    if len(names) != 1:
        raise RequestError("--collective: one")
    found = read_nccl_log(Path(request.path))
    lines: list[str] = []
    release = _release(found, lines) if request.topology else NEWEST
    settings, assignments = logged_settings(found, release)
    model = None
    if request.topology:
        model = model_of_hosts(hosts_of(request.topology, request.nodes), settings)
    ranks = logged_ranks(found, model)
    sizes = by_size(found, ranks, model, names[0])
    where = f", {ranks} ranks" if ranks else ""
    version = found.version or "of unknown version"
    lines.append(f"{Path(request.path).name}: NCCL {version}{where}, {len(found.choices)} collectives")
    if found.apart:
        lines.append(f"  beside {found.apart} of symmetric kernels or copy engines, which no algorithm does")
    if assignments:
        lines.append(f"  with {' '.join(assignments)}")
    if ranks is None and any(each.of_block for each in found.choices):
        lines.append("  note: how many ranks is not told: sizes of AllGather and ReduceScatter are of one rank's block")
    lines += _sizes(sizes)
    if model is not None:
        lines.append(f"{sum(each.agrees for each in sizes)} of {len(sizes)} sizes as modelled")
        lines += _table(found, model)
    return Report(request, lines)


def _release(found: NcclLog, lines: list[str]) -> Release:
    """Of the log's version, where it is modelled; else that which is, and it is said."""
    try:
        release = release_of(found.version) if found.version else NEWEST
    except FormatError as error:
        lines.append(f"note: {error}; compared with {NEWEST.name}")
        return NEWEST
    lines += [f"note: {note}" for note in release.notes()]
    return release


def _sizes(sizes: list[LoggedSize]) -> Iterator[str]:
    for (name, chosen, modelled), grouped in groupby(
        sizes, key=lambda each: (each.collective, each.chosen, each.modelled)
    ):
        run = list(grouped)
        span = f"{format_bytes(run[0].size_bytes)} .. {format_bytes(run[-1].size_bytes)}"
        channels = [number for each in run if each.channels for number in each.channels]
        on = f"channels {min(channels)}..{max(channels)}" if channels else ""
        line = f"{name:<13} {span:<22} {' '.join(chosen):<16} {sum(each.calls for each in run):>6} calls  {on:<16}"
        yield f"{line} {_against(run, modelled)}".rstrip()


def _against(run: list[LoggedSize], modelled: str | None) -> str:
    if modelled is None:
        return ""
    if run[0].agrees:
        return "as modelled"
    known = [each.slower for each in run if each.slower is not None]
    if not known:
        return f"modelled: {modelled}; this is out there"
    return f"modelled: {modelled}; this takes up to {100 * (max(known) - 1):.1f}% more there"


def _table(found: NcclLog, model: NcclModel) -> Iterator[str]:
    if len(found.tables) != 1:
        yield f"{len(found.tables) or 'no'} tables of latency and bandwidth in the log: not compared"
        return
    (entries,) = found.tables
    differing = differing_entries(entries, model)
    for entry, latency, bandwidth in differing:
        name = f"{entry.algorithm}/{entry.protocol}"
        ours = f"{latency:.1f} us, {bandwidth:.1f} GB/s" if bandwidth else "out"
        theirs = f"{entry.latency_us:.1f} us, {entry.bandwidth:.1f} GB/s" if entry.bandwidth else "out"
        yield f"  {entry.collective:<13} {name:<20} logged {theirs}; modelled {ours}"
    yield f"{len(differing)} of {len(entries)} latencies and bandwidths that NCCL printed differ from the model's"
