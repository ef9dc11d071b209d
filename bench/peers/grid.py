"""Hocket with free chunks beside all peers at once: 12 topologies, 5 collectives, 6 sizes, each as a user would ask."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from hocket.base.units import format_bytes
from hocket.bench.kept_results import read_results, write_results
from hocket.bench.peers import recorded
from hocket.bench.peers.case import GIB
from hocket.bench.peers.fresh_process import Limits, NoAnswer, answer_of_process
from hocket.schedule import Kind

__all__ = ["GridCell", "GridOutcome", "KeptCells", "cells", "recorded_times"]

_EQUAL = "bandwidth=50GiB/s,latency=500ns"
TOPOLOGIES = (
    f"ring:8,{_EQUAL}",
    f"fully_connected:8,{_EQUAL}",
    f"mesh:4x4,{_EQUAL}",
    f"mesh:6x6,{_EQUAL}",
    f"torus:4x4,{_EQUAL}",
    f"torus:4x4x4,{_EQUAL}",
    "dragonfly:4x5,bandwidth=400/200GiB/s,latency=500ns",
    "ring:2xfully_connected:4xunwound_switch:4,bandwidth=200/100/50GiB/s,latency=500ns",
    "dgx-1",
    "dgx-h100",
    "dgx-h100:nodes=2",
    "dgx-a100:nodes=2",
)
KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BROADCAST)
SIZES = (2**10, 2**16, 2**20, 2**24, 2**28, 2**30)


class GridCell(msgspec.Struct, frozen=True):
    """A collective of `size_bytes` (as nccl-tests has it) on a topology."""

    kind: Kind
    topology: str
    size_bytes: int

    @property
    def name(self) -> str:
        """For people and `--case`."""
        return f"{self.kind} {self.topology} {format_bytes(self.size_bytes)}"


class GridOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Times of the schedule that was found with free chunks, its lower bound for any number of chunks, the best native
    algorithm on the same links, and what NCCL's own model says of its kernels, launch included (0: no such machine or
    collective); CPU seconds of the search. `error`: why there is no schedule."""

    cell: GridCell
    time_ps: int = 0
    bound_ps: int = 0
    chunks: int = 0
    engine: str = ""
    seconds: float = 0.0
    native: str = ""
    native_ps: int = 0
    nccl: str = ""
    nccl_ps: int = 0
    error: str = ""

    @property
    def ratio(self) -> float:
        return self.time_ps / max(1, self.bound_ps)


def cells(patterns: Sequence[str]) -> list[GridCell]:
    """All of them, or those whose names match one of the patterns."""
    every = [GridCell(kind, topology, size) for topology, kind, size in product(TOPOLOGIES, KINDS, SIZES)]
    return [each for each in every if any(fnmatchcase(each.name, pattern) for pattern in patterns or ("*",))]


@dataclass
class KeptCells:
    """Outcomes by name, kept in the file `path` (None: nowhere); those without an error are not measured again."""

    path: Path | None
    request: Mapping[str, Any]
    finished: dict[str, GridOutcome] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None, request: Mapping[str, Any]) -> "KeptCells":
        """What the file has, if there is one. Raises FormatError when it is not one of ours."""
        if path is None or not path.is_file():
            return cls(path, request)
        results = read_results(path, list[GridOutcome], "hocket bench peers --grid")
        return cls(path, request, {each.cell.name: each for each in results})

    def measured(self, wanted: Sequence[GridCell], limits: Limits) -> Iterator[GridOutcome]:
        """The outcomes of these cells, each in a fresh process, saved one by one."""
        for cell in wanted:
            known = self.finished.get(cell.name)
            if known is None or known.error:
                known = self.finished[cell.name] = _in_process(cell, limits)
                write_results(self.path, self.request, list(self.finished.values()))
            yield known


def _in_process(cell: GridCell, limits: Limits) -> GridOutcome:
    try:
        return msgspec.json.decode(answer_of_process("hocket.bench.peers.grid_cell", cell, limits), type=GridOutcome)
    except NoAnswer as error:
        return GridOutcome(cell=cell, error=str(error))


def recorded_times(folder: Path) -> dict[str, dict[str, float]]:
    """By topology, recorded microseconds of an all_gather of 1 GiB: of TACOS the best causal execution of any number of
    chunks, of ForestColl its optimum. What is not there is absent."""
    found: dict[str, dict[str, float]] = {}
    for case in recorded.cases(folder):
        time_us = case.peer.time_us
        whole = case.kind is Kind.ALL_GATHER and not case.without and 0.99 * GIB < case.size_bytes <= GIB
        if whole and time_us is not None and not case.peer.claimed:
            times = found.setdefault(case.topology, {})
            times["TACOS"] = min(times.get("TACOS", time_us), time_us)
    path = folder / "forestcoll.csv"
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                topology, _ = recorded.topology_of(row["spec"])
                found.setdefault(topology, {})["ForestColl"] = float(row["opt_fluid_us_1GiB"])
    return found
