"""Performs a synthesis."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hocket.api.progress import Progress
from hocket.api.reading import load_topology
from hocket.api.synthesize.problems import (
    check_collective,
    chooses_chunks,
    read_priorities,
    read_problems,
    read_sizes,
)
from hocket.api.synthesize.programs import perform_programs
from hocket.api.synthesize.programs_result import ProgramsResult
from hocket.api.synthesize.request import Synthesis
from hocket.api.synthesize.result import GroupsResult, SynthesisResult, WindowsResult
from hocket.base.errors import RequestError
from hocket.base.files import require_place
from hocket.base.units import format_time, parse_duration
from hocket.synthesizer import Objective, Problem, Search, solve, solve_together, windows
from hocket.synthesizer.barrier import BARRIER, solve_barrier
from hocket.synthesizer.partial import keeping
from hocket.synthesizer.search import Progress as SearchProgress
from hocket.synthesizer.supervision import Watch

__all__ = ["perform"]

# Fields that do not decide what is found: a search that was cut off goes on with others.
_NO_MATTER = ("output", "json", "report", "threads", "time_limit")


def perform(request: Synthesis, progress: Progress) -> SynthesisResult | WindowsResult | GroupsResult | ProgramsResult:
    """Searches, and writes what is wanted of what it finds.

    Raises RequestError for fields that make no sense together, FormatError and TopologyError for what cannot be read,
    and what `hocket.synthesizer.solve` raises.
    """
    _check(request)
    network = load_topology(request.topology, request.failures)
    problems = read_problems(request, network)
    output = None if request.output is None else Path(request.output)
    if request.runtime is not None:
        search = Search(request.seed, request.threads or len(os.sched_getaffinity(0)), request.attempts)
        programs = perform_programs(request, problems[0], search, progress, watching(progress))
        programs.write()
        return programs
    decisive = {field.name: request.value_of(field) for field in request.fields() if field.name not in _NO_MATTER}
    with keeping(output, decisive) as partial:
        threads = request.threads or len(os.sched_getaffinity(0))
        search = Search(request.seed, threads, request.attempts, partial=partial)
        result = _solved(request, problems, search, watching(progress))
        result.write()
    return result


def _check(request: Synthesis) -> None:
    """Refuses what makes no sense before any work is done for it."""
    groups = request.groups
    if not groups.group and (groups.relays or groups.priority is not None):
        raise RequestError("--relays and --priority say how --group is served: give groups")
    for path in (None if request.runtime else request.output, request.report, request.json):
        if path is not None:
            require_place(path)
    check_collective(request)
    at_once, ranged = len(groups.group) > 1, len(read_sizes(request)) > 1
    if (at_once or ranged or request.collective == BARRIER) and request.objective != Objective.AUTO:
        raise RequestError("--objective is for one collective of one size")
    if request.output is not None and Path(request.output).is_dir() and not ranged and request.runtime is None:
        raise RequestError(f"--output {request.output}: a folder; name a file in it")
    if at_once and ranged:
        raise RequestError("several groups take one size")
    if request.costs is not None and request.runtime is None:
        raise RequestError("--costs says what a runtime's kernels take: name it with --for")
    if request.explain and request.runtime is None:
        raise RequestError("--explain says why programs for a runtime were taken: name it with --for")
    if request.runtime is not None:
        _check_programs(request)
    read_priorities(request)


def _check_programs(request: Synthesis) -> None:
    """What programs for a runtime cannot be asked for."""
    asked = {
        "--group": bool(request.groups.group),
        "--sizes": request.sizes is not None,
        "--blocking": request.blocking,
        "--objective": request.objective != Objective.AUTO,
    }
    if names := [name for name, is_asked in asked.items() if is_asked]:
        raise RequestError(
            f"--for {request.runtime} makes programs of all ranks for a size or a range: drop {names[0]}"
        )
    if request.collective in (BARRIER, "custom"):
        raise RequestError(f"no runtime runs programs of {request.collective}: drop --for")


def _solved(
    request: Synthesis, problems: list[Problem], search: Search, watch: Watch
) -> SynthesisResult | WindowsResult | GroupsResult:
    alike: dict[str, Any] = {
        "engine": request.engine,
        "time_limit_s": None if request.time_limit is None else parse_duration(request.time_limit),
        "watch": watch,
    }
    free_chunks, sizes = chooses_chunks(request), read_sizes(request)
    if len(problems) > 1:
        alone = solve_barrier if request.collective == BARRIER else solve
        priorities = read_priorities(request)
        together = solve_together(
            problems, search, priorities=priorities, alone=alone, free_chunks=free_chunks, **alike
        )
        return GroupsResult(request, together)
    if len(sizes) > 1:
        return WindowsResult(request, windows(problems[0], sizes, search, free_chunks=free_chunks, **alike))
    if request.collective == BARRIER:
        one = solve_barrier(problems[0], search, **alike)
    else:
        objective = Objective(request.objective)
        one = solve(problems[0], search, objective=objective, free_chunks=free_chunks, **alike)
    return SynthesisResult(request, one, search.progress.resumed_at)


def watching(progress: Progress) -> Watch:
    """What a search tells while it goes on: what the engine has found of its attempt, the best time and the bound."""

    def watch(search: SearchProgress) -> None:
        found = f" {share:.0%}" if (share := search.stop.found) else ""
        best = "searching" if search.best_ps is None else f"best {format_time(search.best_ps)}"
        resumed = "" if search.resumed_at is None else f", resumed at round {search.resumed_at}"
        progress.status(
            f"{search.engine or 'starting'}, chunks per rank: {search.chunks_per_rank}{resumed}{found}; "
            f"{best}, bound {format_time(search.bound_ps)}"
        )

    return watch
