"""Which algorithm and protocol NCCL takes for each size, the time that it expects, and why."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.api.alike import measured_alike
from hocket.api.nccl.buffers import of_buffers, symmetric_lines, symmetric_row
from hocket.api.nccl.calibrated import Calibrated, calibrated, described
from hocket.api.nccl.naming import collectives_named, release_named, settings_named, sizes_between
from hocket.api.nccl.rccl import RcclChoices, of_rccl
from hocket.api.nccl.request import NcclChoiceRequest
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.base.collectives import kind_called
from hocket.base.errors import RequestError
from hocket.base.files import atomic_write, require_place, write_file
from hocket.base.text import printable_lines
from hocket.base.units import format_bytes
from hocket.nccl import ALGORITHMS, PATH_TYPES, PROTOCOLS, Choices, NcclModel, model_graphs
from hocket.nccl.fitted_file import calibration_of
from hocket.nccl.launches import launched_channels
from hocket.nccl.programs.spec import settings_on
from hocket.nccl.symmetric import SymmetricCall
from hocket.topology.formats.nccl.graph import graphs_text, read_nccl_graphs
from hocket.topology.formats.nccl.machine import Dialect
from hocket.topology.machines.hosts import hosts_of

__all__ = ["NcclChoices", "perform"]


def perform(request: NcclChoiceRequest, progress: Progress) -> NcclChoices | RcclChoices:
    """The choices for every collective and size; files where they are asked for."""
    names = collectives_named(request.collective)
    sizes = sizes_between(request.least, request.most)
    release = release_named(request.version)
    settings_named(request.settings, release)
    for output in (request.csv, request.graph_dump):
        if output is not None:
            require_place(output)
    if request.domain and request.nodes and request.nodes % request.domain:
        raise RequestError(f"--nvlink-domain {request.domain}: --nodes {request.nodes} is no multiple of it")
    hosts = hosts_of(request.topology, request.nodes, request.domain)
    if hosts.machine.dialect == Dialect.RCCL:
        return of_rccl(request, hosts, names, sizes)
    machine, settings = hosts.machine, settings_named(settings_on(hosts, request.settings), release)
    calibration = request.calibration or hosts.calibration
    graphs = read_nccl_graphs(request.graph) if request.graph else None
    model = NcclModel(machine, hosts.nodes, settings, domain=hosts.domain, graphs=graphs)
    fits = calibration_of(calibration, model) if calibration else None
    found = [model.choose(name, sizes, request.operations) for name in names]
    found, symmetric = of_buffers(request, model, found)
    before = None
    if request.settings or graphs:
        without = NcclModel(machine, hosts.nodes, settings_named(settings_on(hosts), release), domain=hosts.domain)
        before = [without.choose(name, sizes, request.operations) for name in names]
        before, _ = of_buffers(request, without, before)
    times = [calibrated(fits, model, choices) for choices in found] if fits else None
    notes = [f"note: {note}" for note in (*release.notes(), *machine.notes)]
    # How a group shares its channels depends on all of its calls.
    launched = [launched_channels(model, choices) for choices in found] if request.operations == 1 else None
    name = Path(machine.source).name
    result = NcclChoices(request, model, tuple(found), launched, symmetric, before, times, name, notes)
    result.write()
    return result


def _alike(model: NcclModel, choices: Choices) -> Iterator[str]:
    """What public tables say of each run of sizes with one choice (docs/transfer.md)."""
    sizes = choices.bytes.tolist()
    found = measured_alike(model, kind_called(choices.collective) or choices.collective, sizes)
    if found is None or not found.known:
        yield from ["  no nodes like these were measured"] * (found is not None)
        return
    for first, end in pairwise([*choices.points(), len(sizes)]):
        last = end - 1
        span = f"{format_bytes(sizes[first])} .. {format_bytes(sizes[last])}"
        line = f"  public tables {span:<18} {choices.name(first):<16}"
        off = float((found.most_us / found.least_us)[first:end].max()) ** 0.5
        yield f"{line} {found.time_us[first]:>9.2f} .. {found.time_us[last]:.2f} us, 90 % within x/ {off:.2f}"


@dataclass(frozen=True, eq=False, repr=False)
class NcclChoices(Result):
    """What NCCL chooses on a machine (`model`) for each collective, on how many channels it is `launched` (None: not
    known of groups) and what runs in `symmetric` windows; what it would `before` settings or given channels changed
    it; the `times` that a calibration tells."""

    request: NcclChoiceRequest
    model: NcclModel
    choices: tuple[Choices, ...]
    launched: list[NDArray[np.int32]] | None
    symmetric: list[list[SymmetricCall]] | None
    before: list[Choices] | None
    times: list[Calibrated | None] | None
    machine: str
    notes: list[str]

    def headline(self) -> str:
        model = self.model
        return f"{self.machine}: {model.nodes} node{'s' * (model.nodes > 1)}, {model.ranks} ranks"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        launched = {"launched": np.concatenate(self.launched)} if self.launched is not None else {}
        return {
            "choices": {
                "collective": np.concatenate([np.full(len(each.bytes), each.collective) for each in self.choices]),
                "bytes": np.concatenate([each.bytes for each in self.choices]),
                "algorithm": np.concatenate([np.array(ALGORITHMS)[each.algorithm] for each in self.choices]),
                "protocol": np.concatenate([np.array(PROTOCOLS)[each.protocol] for each in self.choices]),
                "time_us": np.concatenate([each.time_us for each in self.choices]),
                "channels": np.concatenate([each.channels for each in self.choices]),
                **launched,
            }
        }

    def write(self) -> None:
        """The files that the request asks for."""
        if self.request.csv is not None:
            with atomic_write(self.request.csv) as file:
                csv.writer(file, lineterminator="\n").writerows(self._rows())
        if self.request.graph_dump is not None:
            write_file(self.request.graph_dump, graphs_text(model_graphs(self.model)))

    def _lines(self) -> Iterator[str]:
        yield from self.notes
        yield from self._graphs()
        for at, choices in enumerate(self.choices):
            yield from self._points(at)
            if self.symmetric is not None:
                yield from symmetric_lines(self.symmetric[at])
            if self.times is not None:
                yield from described(choices, self.times[at])
            elif self.request.operations == 1 and not self.request.graph and self.request.buffers == "plain":
                yield from _alike(self.model, choices)
            if self.before is not None:
                yield from _changes(choices, self.before[at])
        for path in (self.request.csv, self.request.graph_dump):
            if path is not None:
                yield f"wrote {path}"

    def _graphs(self) -> Iterator[str]:
        model = self.model
        yield self.headline()
        if model.machines > model.nodes:
            yield f"  NCCL counts {model.machines} nodes: GPUs in parts talk faster over the network than inside"
        if model.machines < model.nodes:
            yield f"  NCCL counts {model.machines}: the GPUs of {model.nodes // model.machines} share NVSwitches"
        for algorithm, graph in model.graphs.items():
            if not graph["channels"]:
                continue
            over = f", {graph['inter']:g} GB/s over {PATH_TYPES[graph['type_inter']]} to the NICs"
            yield (
                f"  {algorithm:<4} {graph['channels']} channels: {graph['intra']:g} GB/s each over"
                f" {PATH_TYPES[graph['type_intra']]}{over * (model.machines > 1)}"
            )
        channels, of_nvls = model.channels
        yield f"  kernels run on up to {channels} channels" + f", of NVLS on {of_nvls}" * (of_nvls > 0)

    def _points(self, number: int) -> Iterator[str]:
        choices = self.choices[number]
        for first, end in pairwise([*choices.points(), len(choices.bytes)]):
            span = f"{format_bytes(int(choices.bytes[first]))} .. {format_bytes(int(choices.bytes[end - 1]))}"
            channels = f"{choices.channels[first]}..{choices.channels[end - 1]}"
            if self.launched is not None and any(self.launched[number][first:end] != choices.channels[first:end]):
                channels += f", launched {self.launched[number][first]}..{self.launched[number][end - 1]}"
            yield (
                f"{choices.collective:<13} {span:<20} {choices.name(first):<16}"
                f" {choices.time_us[first]:>9.2f} .. {choices.time_us[end - 1]:.2f} us, channels {channels}"
            )
            if self.request.why:
                yield from self._terms(choices, first)

    def _terms(self, choices: Choices, at: int) -> Iterator[str]:
        size = int(choices.bytes[at])
        yield f"  {'at ' + str(size) + ' B':<22} {'latency us':>10} {'GB/s':>9} {'time us':>12}"
        for term in self.model.terms(choices.collective, size, self.request.operations):
            name = f"{term.algorithm}/{term.protocol}"
            if term.out:
                yield f"  {name:<22} {'-':>10} {'-':>9} {'-':>12}  {term.out}"
                continue
            mark = "chosen" if name == choices.name(at) else f"slower by {term.time_us - choices.time_us[at]:.2f} us"
            yield f"  {name:<22} {term.latency_us:>10.2f} {term.bandwidth:>9.2f} {term.time_us:>12.2f}  {mark}"

    def _rows(self) -> Iterator[list[object]]:
        more = ["calibrated_us", "best_algo", "best_proto", "best_us"] if self.times is not None else []
        more = [*(["symmetric", "symmetric_us", "blocks"] if self.symmetric is not None else []), *more]
        yield ["coll", "bytes", "algo", "proto", "time_us", "nchannels", "launched", *more]
        for number, choices in enumerate(self.choices):
            times = self.times[number] if self.times is not None else None
            columns = (choices.bytes, choices.algorithm, choices.protocol, choices.time_us, choices.channels)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            for at, (size, algorithm, protocol, time, channels) in enumerate(rows):
                row = choices.collective, size, ALGORITHMS[algorithm], PROTOCOLS[protocol], f"{time:.2f}", channels
                launched = "" if self.launched is None else int(self.launched[number][at])
                own = symmetric_row(self.symmetric[number][at]) if self.symmetric is not None else ()
                yield [*row, launched, *own, *(_measured(times, at) if self.times is not None else ())]


def _changes(choices: Choices, before: Choices) -> Iterator[str]:
    """Where the settings make NCCL choose or expect something else than without them."""
    changed = [at for at in range(len(choices.bytes)) if choices.name(at) != before.name(at)]
    slower = float((choices.time_us / before.time_us).max())
    quicker = float((choices.time_us / before.time_us).min())
    times = f"its times are {quicker:.3g} to {slower:.3g} of those without"
    if not changed:
        yield f"  the settings change no choice of {choices.collective}; {times}"
        return
    yield f"  the settings change {len(changed)} of {len(choices.bytes)} choices; {times}"
    for at in changed:
        if at - 1 in changed and (choices.name(at), before.name(at)) == (choices.name(at - 1), before.name(at - 1)):
            continue
        yield f"    from {format_bytes(int(choices.bytes[at]))}: {before.name(at)} -> {choices.name(at)}"


def _measured(times: Calibrated | None, at: int) -> list[str]:
    """The columns that a calibration adds; empty where nothing was measured."""
    if times is None:
        return [""] * 4
    own, best = ("" if time != time else f"{time:.2f}" for time in (times.time_us[at], times.best_us[at]))
    return [own, *((ALGORITHMS[times.algorithm[at]], PROTOCOLS[times.protocol[at]], best) if best else ("", "", ""))]
