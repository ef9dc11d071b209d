"""Makes the programs of a job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from hocket.api.bundle.job_calls import CallsOfGroup, CollectiveSort, sorts_of
from hocket.api.bundle.request import JobBundle
from hocket.api.progress import Progress
from hocket.api.result import Result
from hocket.api.simulate import job
from hocket.api.simulate.perform import question_of
from hocket.api.simulate.request import JobOptions, Simulation
from hocket.base.errors import HocketError
from hocket.base.files import atomic_folder, write_json
from hocket.base.text import printable_lines
from hocket.base.text_table import text_table
from hocket.base.units import format_bytes, format_time
from hocket.schedule import Collective, Schedule
from hocket.simulator import Prediction
from hocket.synthesizer.alike_groups import solve_alike
from hocket.translator import Lowering
from hocket.translator.bundle import BundleReport, Source, check_replaceable, is_bundle, write_bundle

__all__ = ["BundledSort", "JobBundleResult", "perform"]

_AFFORDABLE_S = 5.0  # of an engine's search for one program, as it is estimated


@dataclass(frozen=True)
class BundledSort:
    """A row of the table: a sort of collectives, what one group's calls take in the job as it is simulated, and by the
    programs alone (None: there are none, `why` says so)."""

    collective: str
    groups: tuple[tuple[int, ...], ...]
    name: str
    min_bytes: int
    max_bytes: int
    calls: int
    job_ps: int
    programs: int = 0
    programs_ps: int | None = None
    why: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class JobBundleResult(Result):
    """A job's programs that were written to `folder`; `without`: calls that no program can be for, by what they are."""

    request: JobBundle
    folder: Path
    rows: Sequence[BundledSort]
    without: Mapping[str, int]

    def summary(self) -> str:
        programs = sum(row.programs for row in self.rows)
        table = text_table(_HEADS, map(_cells, self.rows), align="<<<>>>><")
        notes = [
            *(f"no program: {calls} x {what}" for what, calls in sorted(self.without.items())),
            "in the job: as it is simulated, from the last member's start on; by programs: alone on the machine",
            f"run the job by them: HOCKET_ALGORITHMS={self.folder} torchrun ...",
        ]
        return printable_lines([f"wrote {programs} programs to {self.folder}", *table, *notes])


_HEADS = ("collective", "groups", "sizes", "calls", "in the job", "by programs", "programs", "why not")


def _cells(row: BundledSort) -> tuple[object, ...]:
    sizes = " to ".join(dict.fromkeys(map(format_bytes, (row.min_bytes, row.max_bytes))))
    members = len(row.groups[0])
    groups = f"{row.name} ({members} ranks)" if len(row.groups) == 1 else f"{len(row.groups)} of {members} ranks"
    by_programs = "" if row.programs_ps is None else format_time(row.programs_ps)
    return row.collective, groups, sizes, row.calls, format_time(row.job_ps), by_programs, row.programs, row.why


def perform(request: JobBundle, progress: Progress) -> JobBundleResult:
    """Simulates the job, makes programs for what it calls, proves and writes them. A folder that is there is replaced
    when it holds bundles alone.

    Raises HocketError for a folder in the way, and where no sort of collectives has a program; what `simulate` of
    traces raises.
    """
    folder = Path(request.output)
    _check_free(folder)
    options = JobOptions(groups=request.groups)
    question = question_of(Simulation(what=request.traces, topology=(request.topology,), job=options), progress)
    simulated = job.of(question, job.read_job(request.traces, request.groups))
    prediction = replace(simulated, folded=False).on(request.topology)  # each group by itself
    sorts, without = sorts_of(prediction)
    parts = [part for sort in sorts for part in _searched(sort, prediction, progress)]
    with atomic_folder(folder) as made:
        rows = []
        for number, part in enumerate(parts):
            progress.count(number, len(parts), "sorts of collectives")
            rows.append(part if isinstance(part, BundledSort) else _bundled(*part, made / f"{number:03}", request.to))
        if not any(row.programs for row in rows):
            reasons = sorted({row.why for row in rows}) or ["it calls no collective that a program can be for"]
            raise HocketError(f"{request.traces}: no program for any collective: {'; '.join(reasons)}")
    result = JobBundleResult(request, folder, rows, without)
    if request.json:
        plain = {"request": request.to_plain(), "rows": [asdict(row) for row in rows], "without": dict(without)}
        write_json(request.json, plain)
    return result


def _check_free(folder: Path) -> None:
    """Raises HocketError where replacing the folder would remove what is no bundle's."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if is_bundle(path):
            check_replaceable(path)
        elif not path.is_dir() or any(not below.is_dir() for below in path.rglob("*")):
            raise HocketError(f"{folder}: holds {path.name}, which is no bundle: give a new folder")


def _searched(
    sort: CollectiveSort, prediction: Prediction, progress: Progress
) -> Iterator[tuple[CollectiveSort, Sequence[Source]] | BundledSort]:
    """Groups whose programs are the same, with their schedules, one a size; or why there are none."""
    progress.status(f"searching for {sort.kind} of {sort.groups[0].name}")
    try:
        found = [_solved(sort, size, prediction) for size in sort.searched]
    except HocketError as error:
        yield _row(sort, why=str(error))
        return
    same: dict[bytes, list[CallsOfGroup]] = {}
    for group in sort.groups:
        same.setdefault(b"".join(_steps(of_size[group.placed]) for of_size in found), []).append(group)
    for groups in same.values():
        schedules = [of_size[groups[0].placed] for of_size in found]
        named = [Path(f"{sort.kind}-{each.collective.size_bytes}.schedule") for each in schedules]
        sources = [Source(name, each.collective, each) for name, each in zip(named, schedules, strict=True)]
        yield replace(sort, groups=groups), sources


def _solved(sort: CollectiveSort, size: int, prediction: Prediction) -> Mapping[tuple[int, ...], Schedule]:
    collective = Collective(sort.kind, sort.members, size, root=sort.root)
    placed = [group.placed for group in sort.groups]
    return solve_alike(collective, prediction.topology, placed, _AFFORDABLE_S, len(os.sched_getaffinity(0)))


def _steps(schedule: Schedule) -> bytes:
    """What tells programs apart: who sends which chunk to whom when, by places in the group."""
    place = schedule.collective_rank
    ends = (place[ends[schedule.route]] for ends in (schedule.route_src, schedule.route_dst))
    marks = (schedule.reduce, schedule.is_own)
    columns = (*ends, schedule.chunk, *marks, schedule.start_ps, np.array([schedule.collective.num_chunks]))
    return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)


def _bundled(sort: CollectiveSort, sources: Sequence[Source], folder: Path, runtime: str) -> BundledSort:
    """Writes the bundle of a sort whose groups run the same; what it came to."""
    place = folder.with_name(f"{folder.name}-{sort.kind}-{sort.members}")
    # A job's calls of these work in one buffer, those of the others from one to another.
    lowering = Lowering(min_bytes=sort.sizes[0], max_bytes=sort.sizes[-1], in_place=sort.kind.shares_buffer)
    try:
        report = write_bundle(sources, place, runtime, lowering, groups=[group.ranks for group in sort.groups])
    except HocketError as error:
        return _row(sort, why=str(error))
    return _row(sort, len(report.bundle.files), _time_ps(sort, report))


def _time_ps(sort: CollectiveSort, report: BundleReport) -> int:
    """Of one group's calls alone: a size between two that were simulated takes as long per byte as the next larger."""
    known = {one.size_bytes: one.time_ps for file in report.bundle.files for one in file.predicted}
    total = 0
    for size, calls in sort.groups[0].calls.items():
        near = min((one for one in known if one >= size), default=max(known))
        total += calls * (known[near] if near >= size else known[near] * size // near)
    return total


def _row(sort: CollectiveSort, programs: int = 0, programs_ps: int | None = None, why: str = "") -> BundledSort:
    ranks = tuple(group.ranks for group in sort.groups)
    sizes, root = sort.sizes, f" from or to {sort.root}" if sort.kind.rooted else ""
    about = (f"{sort.kind}{root}", ranks, sort.groups[0].name, sizes[0], sizes[-1], sort.num_calls, sort.time_ps)
    return BundledSort(*about, programs=programs, programs_ps=programs_ps, why=why)
