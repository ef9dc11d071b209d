"""Hocket with free chunks beside all peers at once: 12 topologies, 5 collectives, 6 sizes, each as a user would ask."""

import csv
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from hocket.base import processes
from hocket.base.errors import FormatError
from hocket.base.files import write_json
from hocket.base.units import format_bytes
from hocket.bench.peers import recorded
from hocket.bench.peers.case import GIB
from hocket.bench.peers.run import Limits
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


class _Content(msgspec.Struct):
    """The file."""

    request: Mapping[str, Any]
    results: list[GridOutcome]


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
        try:
            results = msgspec.json.decode(path.read_bytes(), type=_Content).results
        except msgspec.DecodeError as error:
            raise FormatError(
                f"{path}: {error}: not results of `hocket bench peers --grid`; name another file"
            ) from error
        return cls(path, request, {each.cell.name: each for each in results})

    def measured(self, wanted: Sequence[GridCell], limits: Limits) -> Iterator[GridOutcome]:
        """The outcomes of these cells, each in a fresh process, saved one by one."""
        for cell in wanted:
            known = self.finished.get(cell.name)
            if known is None or known.error:
                known = self.finished[cell.name] = _in_process(cell, limits)
                if self.path is not None:
                    write_json(self.path, msgspec.to_builtins(_Content(self.request, list(self.finished.values()))))
            yield known


def _in_process(cell: GridCell, limits: Limits) -> GridOutcome:
    try:
        done = processes.run(
            [sys.executable, "-m", "hocket.bench.peers.grid_cell"],
            input=msgspec.json.encode(cell),
            capture_output=True,
            timeout_s=limits.seconds,
            memory_bytes=limits.memory_bytes,
        )
    except subprocess.TimeoutExpired:
        return GridOutcome(cell=cell, error=f"not done in {limits.seconds:g} s")
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return GridOutcome(cell=cell, error=last[0] if last else f"ended with {done.returncode}")
    return msgspec.json.decode(done.stdout, type=GridOutcome)


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
