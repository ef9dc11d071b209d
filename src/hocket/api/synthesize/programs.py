"""A bundle of programs for a runtime: schedules, chunks, protocols, channels and instances chosen together, by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.synthesize.candidates import Candidates
from hocket.api.synthesize.problems import read_sizes
from hocket.api.synthesize.programs_result import ProgramRow, ProgramsResult
from hocket.api.synthesize.request import Synthesis
from hocket.api.synthesize.stock import StockLibrary, stock_library
from hocket.base.errors import RequestError, ScheduleError
from hocket.base.units import format_bandwidth, format_time, parse_duration
from hocket.schedule import Costs, Protocol, bound_of_any_chunks, read_costs, retime
from hocket.schedule.algorithms import build
from hocket.schedule.kernel_links import with_kernels
from hocket.synthesizer import Problem, ScheduleWindow, Search, windows
from hocket.synthesizer.supervision import Watch
from hocket.topology import Topology
from hocket.translator import UNLIMITED, Lowering, priced_profile, priced_protocols
from hocket.translator.bundle import BundleReport, NothingToGain, Source, write_bundle
from hocket.translator.bundle.contest import NEVER_PS
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import DEVICE_RUNTIME
from hocket.translator.mscclpp import PLAN_RUNTIME
from hocket.translator.targets import RUNTIMES

__all__ = ["perform_programs"]

#: The runtimes whose programs have switches compute.
_HAVE_SWITCHES = (PLAN_RUNTIME, DEVICE_RUNTIME.name)


def perform_programs(
    request: Synthesis, problem: Problem, search: Search, progress: Progress, watch: Watch
) -> ProgramsResult:
    """Searches, lowers, compares and writes. Raises RequestError for a runtime that is none, and what the parts do."""
    runtime, output = request.runtime, request.output
    if runtime is None or runtime not in RUNTIMES:
        raise RequestError(f"--for {runtime}: expected one of {', '.join(RUNTIMES)}")
    if output is None:
        raise RequestError(f"--for {runtime} writes a bundle: say where with -o FOLDER")
    sizes = read_sizes(request)
    costs = None if request.costs is None else read_costs(request.costs)
    profile = _profile(runtime, costs, problem.topology)
    searching = partial(_searched, search=search, request=request, watch=watch)
    sources = Candidates(problem, profile, sizes, searching).sources()
    if runtime in _HAVE_SWITCHES:
        sources += _over_switches(problem, sizes[-1])
    stock = stock_library(request.topology, problem.collective, progress)
    report: BundleReport | None
    try:
        report = write_bundle(
            sources,
            output,
            runtime,
            Lowering(min_bytes=sizes[0], max_bytes=sizes[-1]),
            topology=problem.topology,
            costs=costs,
            sizes=sizes,
            stock_ps=None if stock is None else partial(_stock_ps, stock),
        )
    except NothingToGain:
        report = None
    rows = [_row(size, report, stock, _bound(problem, profile, size)) for size in sizes]
    return ProgramsResult(
        request,
        report,
        rows,
        topology=problem.topology.name,
        ranks=problem.collective.num_ranks,
        kernels=_kernels(profile, costs),
        stock=stock.described if stock else "",
    )


def _kernels(profile: Profile, costs: Costs | None) -> list[str]:
    """What the runtime's kernels take."""
    if not profile.priced:
        return [f"links alone: what kernels of {profile.name} take here is not known; --costs FILE says it"]
    source = costs.measured if costs else ""
    parts = [
        f"{name}: launch {format_time(pace.start_ps)}, step {format_time(pace.inside_ps)} (between nodes"
        f" {format_time(pace.between_ps)}), thread block {format_bandwidth(pace.bandwidth)}"
        for name in profile.priced
        if (pace := profile.protocols[name].pace)
    ]
    return [f"kernels of {profile.name}{f', {source}' if source else ''}: {'; '.join(parts)}"]


def _profile(runtime: str, costs: Costs | None, topology: Topology) -> Profile:
    """What is known of the runtime's kernels, and its limits; of MSCCL++'s plans these are told when they are made."""
    if runtime != PLAN_RUNTIME:
        return priced_profile(runtime, costs, topology)
    return replace(UNLIMITED, name=runtime, protocols=dict(priced_protocols(runtime, costs, topology)))


def _searched(
    problem: Problem, sizes: Sequence[int], *, search: Search, request: Synthesis, watch: Watch
) -> list[ScheduleWindow]:
    limit = None if request.time_limit is None else parse_duration(request.time_limit)
    return windows(
        problem,
        sizes,
        search,
        engine=request.engine,
        free_chunks=request.chunks is None,
        time_limit_s=limit,
        watch=watch,
    )


def _over_switches(problem: Problem, size: int) -> list[Source]:
    """What switches that compute do, where there are any and all ranks are on one machine."""
    topology = problem.topology
    if not topology.in_network or len(set(topology.machine.tolist())) > 1:
        return []
    collective = replace(problem.collective, size_bytes=size)
    try:
        schedule = retime(build("nvls", collective, topology))
    except ScheduleError:
        return []
    return [Source(Path(schedule.generator), collective, schedule)]


def _stock_ps(stock: StockLibrary, size: int) -> int:
    found = stock.at(size)
    return NEVER_PS if found is None else found.time_ps


def _bound(problem: Problem, profile: Profile, size: int) -> int:
    """What no program of any number of chunks beats (ps): after the least launch what links take, or steps alone where
    those are longer: while the first message is under way the links carry others already."""
    collective = replace(problem.collective, size_bytes=size, chunks_per_rank=1)
    tiny = replace(problem.collective, size_bytes=problem.collective.num_ranks, chunks_per_rank=1)
    topology = problem.topology
    if profile.name not in _HAVE_SWITCHES:
        topology = replace(topology, in_network=())

    def at_least(protocol: Protocol) -> int:
        launch = 0 if protocol.pace is None else protocol.pace.start_ps
        without = protocol.pace and replace(protocol.pace, inside_ps=0, between_ps=0)
        on_links = with_kernels(topology, replace(protocol, pace=without))
        in_steps = with_kernels(topology, protocol)
        of_both = ((collective, on_links), (tiny, in_steps))
        return launch + max(bound_of_any_chunks(one, seen, group=problem.group).time_ps for one, seen in of_both)

    chosen = [profile.protocols[name] for name in profile.priced] or [profile.protocols["Simple"]]
    return min(map(at_least, chosen))


def _row(size: int, report: BundleReport | None, stock: StockLibrary | None, bound_ps: int) -> ProgramRow:
    """Of the kind of calls that comes first: in place, where the collective has such calls."""
    told = None if stock is None else stock.at(size)
    files = () if report is None else report.bundle.files
    for number, file in enumerate(files, 1):
        if file.in_place != files[0].in_place or not file.min_bytes <= size <= file.max_bytes:
            continue
        near = min(file.predicted, key=lambda one: abs(one.size_bytes - size))
        return ProgramRow(size, bound_ps, told, number, file, near.time_ps)
    return ProgramRow(size, bound_ps, told)
