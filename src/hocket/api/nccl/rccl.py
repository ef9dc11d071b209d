"""Which algorithm and protocol RCCL takes for each size on AMD's machines, and the time that it expects."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.nccl.request import NcclChoiceRequest
from hocket.api.result import Result
from hocket.base.errors import RequestError
from hocket.base.files import atomic_write
from hocket.base.text import printable_lines
from hocket.base.units import format_bytes
from hocket.nccl import PROTOCOLS, Choices
from hocket.nccl.libraries import LIBRARIES
from hocket.nccl.names import EVERY_ALGORITHM
from hocket.nccl.rccl import RcclModel
from hocket.topology.machines.hosts import Hosts

__all__ = ["RcclChoices", "of_rccl"]

_OF_NCCL = {
    "settings": "--set",
    "graph": "--graph",
    "graph_dump": "--graph-dump",
    "calibration": "--calibration",
    "version": "--nccl-version",
    "domain": "--nvlink-domain",
    "buffers": "--buffers",
    "policy": "--cta-policy",
}


def of_rccl(request: NcclChoiceRequest, hosts: Hosts, names: Sequence[str], sizes: Sequence[int]) -> RcclChoices:
    """The choices for every collective and size; the file where it is asked for. Raises RequestError for options of
    NCCL's, TopologyError for machines whose channels are not known."""
    flags = [flag for name, flag in _OF_NCCL.items() if name in request.set_fields()]
    if flags:
        raise RequestError(
            f"{flags[0]} is of NCCL, and {hosts.spec} runs {LIBRARIES['rccl'].title}, of which it is not modelled: drop"
            " it"
        )
    model = RcclModel(hosts.machine, hosts.nodes)
    found = tuple(model.choose(name, sizes, request.operations) for name in names)
    notes = [f"note: {note}" for note in hosts.machine.notes]
    if hosts.nodes > 1:
        notes.append(
            "note: over several nodes RCCL's times only rank its algorithms: rules of its own decide beside them"
        )
    result = RcclChoices(request, model, found, Path(hosts.machine.source).name, notes)
    result.write()
    return result


@dataclass(frozen=True, eq=False, repr=False)
class RcclChoices(Result):
    """What RCCL chooses on a machine (`model`) for each collective."""

    request: NcclChoiceRequest
    model: RcclModel
    choices: tuple[Choices, ...]
    machine: str
    notes: list[str]

    def headline(self) -> str:
        nodes = self.model.nodes
        return f"{self.machine}: {nodes} node{'s' * (nodes > 1)}, {self.model.ranks} ranks, {LIBRARIES['rccl'].title}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        return {
            "choices": {
                "collective": np.concatenate([np.full(len(each.bytes), each.collective) for each in self.choices]),
                "bytes": np.concatenate([each.bytes for each in self.choices]),
                "algorithm": np.concatenate([np.array(EVERY_ALGORITHM)[each.algorithm] for each in self.choices]),
                "protocol": np.concatenate([np.array(PROTOCOLS)[each.protocol] for each in self.choices]),
                "time_us": np.concatenate([each.time_us for each in self.choices]),
                "channels": np.concatenate([each.channels for each in self.choices]),
            }
        }

    def write(self) -> None:
        """The CSV, where it is asked for."""
        if self.request.csv is not None:
            with atomic_write(self.request.csv) as file:
                csv.writer(file, lineterminator="\n").writerows(self._rows())

    def _lines(self) -> Iterator[str]:
        cluster = self.model.cluster
        each = cluster.total_gbs / cluster.channels
        yield from self.notes
        yield self.headline()
        yield f"  Ring, Tree {cluster.channels} channels: {each:g} GB/s each over XGMI, by heart for such machines"
        yield f"  kernels run on up to {self.model.most_channels} channels"
        for choices in self.choices:
            yield from self._points(choices)
        if self.request.csv is not None:
            yield f"wrote {self.request.csv}"

    def _points(self, choices: Choices) -> Iterator[str]:
        for first, end in pairwise([*choices.points(), len(choices.bytes)]):
            span = f"{format_bytes(int(choices.bytes[first]))} .. {format_bytes(int(choices.bytes[end - 1]))}"
            channels = f"channels {choices.channels[first]}..{choices.channels[end - 1]}"
            took = choices.time_us[first], choices.time_us[end - 1]
            times = "its model has no time of it" if np.isnan(took).any() else f"{took[0]:>9.2f} .. {took[1]:.2f} us"
            yield f"{choices.collective:<13} {span:<20} {choices.name(first):<16} {times}, {channels}"
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
            mark = "chosen" if name == choices.name(at) else ""
            line = f"  {name:<22} {term.latency_us:>10.2f} {term.bandwidth:>9.2f} {term.time_us:>12.2f}  {mark}"
            yield line.rstrip()

    def _rows(self) -> Iterator[list[object]]:
        yield ["coll", "bytes", "algo", "proto", "time_us", "nchannels"]
        for choices in self.choices:
            columns = (choices.bytes, choices.algorithm, choices.protocol, choices.time_us, choices.channels)
            for size, algorithm, protocol, time, channels in zip(*(each.tolist() for each in columns), strict=True):
                told = "" if np.isnan(time) else f"{time:.2f}"
                yield [choices.collective, size, EVERY_ALGORITHM[algorithm], PROTOCOLS[protocol], told, channels]
