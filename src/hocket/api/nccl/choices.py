"""Tables of what NCCL or RCCL chooses for each size, the time that it expects, and why."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.api.alike import measured_alike
from hocket.api.nccl.buffers import symmetric_lines, symmetric_row
from hocket.api.nccl.calibrated import Calibrated, described
from hocket.api.nccl.request import NcclChoiceRequest
from hocket.api.result import Result
from hocket.base.collectives import kind_called
from hocket.base.files import atomic_write, write_file
from hocket.base.text import printable_lines
from hocket.base.units import format_bytes
from hocket.nccl import PATH_TYPES, PROTOCOLS, Choices, NcclModel, model_graphs
from hocket.nccl.libraries import LIBRARIES
from hocket.nccl.names import EVERY_ALGORITHM
from hocket.nccl.rccl import RcclModel
from hocket.nccl.symmetric import SymmetricCall
from hocket.topology.formats.nccl.graph import graphs_text

__all__ = ["NcclChoices"]


@dataclass(frozen=True, eq=False, repr=False)
class NcclChoices(Result):
    """What NCCL, or RCCL, chooses on a machine (`model`) for each collective, on how many channels it is `launched`
    (None: not known, as of groups) and what runs in `symmetric` windows; what it would `before` settings or given
    channels changed it; the `times` that a calibration tells. Times are nan where the model has none (Direct)."""

    request: NcclChoiceRequest
    model: NcclModel | RcclModel
    choices: tuple[Choices, ...]
    machine: str
    notes: list[str]
    launched: list[NDArray[np.int32]] | None = None
    symmetric: list[list[SymmetricCall]] | None = None
    before: list[Choices] | None = None
    times: list[Calibrated | None] | None = None

    def headline(self) -> str:
        model = self.model
        library = f", {LIBRARIES['rccl'].title}" if isinstance(model, RcclModel) else ""
        return f"{self.machine}: {model.nodes} node{'s' * (model.nodes > 1)}, {model.ranks} ranks{library}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        launched = {"launched": np.concatenate(self.launched)} if self.launched is not None else {}
        return {
            "choices": {
                "collective": np.concatenate([np.full(len(each.bytes), each.collective) for each in self.choices]),
                "bytes": np.concatenate([each.bytes for each in self.choices]),
                "algorithm": np.concatenate([np.array(EVERY_ALGORITHM)[each.algorithm] for each in self.choices]),
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
        if self.request.graph_dump is not None and isinstance(self.model, NcclModel):
            write_file(self.request.graph_dump, graphs_text(model_graphs(self.model)))

    def _lines(self) -> Iterator[str]:
        yield from self.notes
        yield self.headline()
        yield from _channels_of_rccl(self.model) if isinstance(self.model, RcclModel) else _graphs(self.model)
        for at, choices in enumerate(self.choices):
            yield from self._points(at)
            if self.symmetric is not None:
                yield from symmetric_lines(self.symmetric[at])
            if self.times is not None:
                yield from described(choices, self.times[at])
            elif self._is_plain() and isinstance(self.model, NcclModel):
                yield from _alike(self.model, choices)
            if self.before is not None:
                yield from _changes(choices, self.before[at])
        for path in (self.request.csv, self.request.graph_dump):
            if path is not None:
                yield f"wrote {path}"

    def _is_plain(self) -> bool:
        """Whether public tables measured such calls."""
        request = self.request
        return request.operations == 1 and not request.graph and request.buffers == "plain"

    def _points(self, number: int) -> Iterator[str]:
        choices = self.choices[number]
        for first, end in pairwise([*choices.points(), len(choices.bytes)]):
            span = f"{format_bytes(int(choices.bytes[first]))} .. {format_bytes(int(choices.bytes[end - 1]))}"
            channels = f"{choices.channels[first]}..{choices.channels[end - 1]}"
            if self.launched is not None and any(self.launched[number][first:end] != choices.channels[first:end]):
                channels += f", launched {self.launched[number][first]}..{self.launched[number][end - 1]}"
            took = choices.time_us[first], choices.time_us[end - 1]
            times = "its model has no time of it" if np.isnan(took).any() else f"{took[0]:>9.2f} .. {took[1]:.2f} us"
            yield f"{choices.collective:<13} {span:<20} {choices.name(first):<16} {times}, channels {channels}"
            if self.request.why:
                yield from self._terms(choices, first)

    def _terms(self, choices: Choices, at: int) -> Iterator[str]:
        size, taken = int(choices.bytes[at]), choices.name(at)
        quickest, rule = self._override(choices.collective, size) or ("", "")
        yield f"  {'at ' + str(size) + ' B':<22} {'latency us':>10} {'GB/s':>9} {'time us':>12}"
        for term in self.model.terms(choices.collective, size, self.request.operations):
            name = f"{term.algorithm}/{term.protocol}"
            if term.out:
                yield f"  {name:<22} {'-':>10} {'-':>9} {'-':>12}  {term.out}"
                continue
            later = term.time_us - float(choices.time_us[at])
            if name == taken:
                mark = "chosen, by a rule" if rule else "chosen"
            else:
                mark = "" if np.isnan(later) else f"{'slower' if later >= 0 else 'quicker'} by {abs(later):.2f} us"
            line = f"  {name:<22} {term.latency_us:>10.2f} {term.bandwidth:>9.2f} {term.time_us:>12.2f}  {mark}"
            yield line.rstrip()
        if rule:
            yield f"  {taken} and not {quickest}, the quickest by its times, by a rule: {rule}"

    def _override(self, collective: str, size: int) -> tuple[str, str] | None:
        """What would be quickest and the rule that takes another; NCCL has no such rules."""
        model = self.model
        return model.override(collective, size, self.request.operations) if isinstance(model, RcclModel) else None

    def _rows(self) -> Iterator[list[object]]:
        more = ["calibrated_us", "best_algo", "best_proto", "best_us"] if self.times is not None else []
        more = [*(["symmetric", "symmetric_us", "blocks"] if self.symmetric is not None else []), *more]
        yield ["coll", "bytes", "algo", "proto", "time_us", "nchannels", "launched", *more]
        for number, choices in enumerate(self.choices):
            times = self.times[number] if self.times is not None else None
            columns = (choices.bytes, choices.algorithm, choices.protocol, choices.time_us, choices.channels)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            for at, (size, algorithm, protocol, time, channels) in enumerate(rows):
                told = "" if np.isnan(time) else f"{time:.2f}"
                row = choices.collective, size, EVERY_ALGORITHM[algorithm], PROTOCOLS[protocol], told, channels
                launched = "" if self.launched is None else int(self.launched[number][at])
                own = symmetric_row(self.symmetric[number][at]) if self.symmetric is not None else ()
                yield [*row, launched, *own, *(_measured(times, at) if self.times is not None else ())]


def _graphs(model: NcclModel) -> Iterator[str]:
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


def _channels_of_rccl(model: RcclModel) -> Iterator[str]:
    cluster = model.cluster
    each = cluster.total_gbs / cluster.channels
    yield f"  Ring, Tree {cluster.channels} channels: {each:g} GB/s each over XGMI, by heart for such machines"
    yield f"  kernels run on up to {model.most_channels} channels"


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
    return [
        own,
        *((EVERY_ALGORITHM[times.algorithm[at]], PROTOCOLS[times.protocol[at]], best) if best else ("", "", "")),
    ]
