"""A bundle of programs for a runtime: schedules, chunks, protocols, channels and instances chosen together, by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.stock_times import OF_RCCL, LibraryTimes, is_foreign, stock_library
from hocket.api.synthesize.candidates import Candidates
from hocket.api.synthesize.problems import read_sizes
from hocket.api.synthesize.programs_result import ProgramRow, ProgramsResult
from hocket.api.synthesize.request import Synthesis
from hocket.api.synthesize.stock_settings import stock_table
from hocket.base.errors import Infeasible, RequestError, ScheduleError
from hocket.base.files import require_place
from hocket.base.units import format_bandwidth, format_time, parse_duration
from hocket.schedule import Collective, Costs, Protocol, bound_of_any_chunks, read_costs, retime
from hocket.schedule.algorithms import build
from hocket.schedule.kernel_links import with_kernels
from hocket.synthesizer import Problem, ScheduleWindow, Search, windows
from hocket.synthesizer.portfolio import AUTO
from hocket.synthesizer.supervision import Watch
from hocket.topology import Topology, rank_routes
from hocket.translator import DEVICE_RUNTIME, UNLIMITED, Lowering, priced_profile, priced_protocols
from hocket.translator.bundle import BundleReport, NothingToGain, Source, check_replaceable, write_bundle
from hocket.translator.bundle.contest import NEVER_PS
from hocket.translator.msccl.profile import Profile
from hocket.translator.mscclpp import PLAN_RUNTIME
from hocket.translator.targets import RUNTIMES

__all__ = ["perform_programs"]

_ELEMENT = 4  # bytes of a float32
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
    if check_replaceable(Path(output)) is None and not Path(output).is_dir():
        require_place(output)
    sizes = _whole_blocks(problem.collective, read_sizes(request))
    if sizes[0] < (least := problem.collective.num_ranks * _ELEMENT):
        raise RequestError(f"--size: programs are for {least} bytes or more, an element for each rank")
    costs = None if request.costs is None else read_costs(request.costs)
    profile = _profile(runtime, costs, problem.topology)
    reach = profile.protocols["Simple"].pace
    stock = stock_library(request.topology, problem.collective, reach, request.failures, progress)
    why_none = f"not compared: {stock}" if isinstance(stock, str) else ""
    if isinstance(stock, str):
        stock = None
    if stock is not None:
        _check_vendor(runtime, stock)
    foreign = stock is not None and is_foreign(stock, runtime, has_costs=costs is not None)
    if not profile.priced or foreign:
        stock = None  # links alone beside a model of kernels, or another vendor's kernels, would be no comparison
    searching = partial(_searched, search=search, request=request, watch=watch)
    sources = Candidates(problem, profile, sizes, searching, natives=request.engine == AUTO).sources()
    if runtime in _HAVE_SWITCHES:
        if stock is not None:
            problem = _with_switches_of(stock, problem)
        sources += _over_switches(problem, sizes[-1])
    progress.status(f"comparing programs of {len(sources)} schedules at {len(sizes)} sizes")
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
            stock_table=None if stock is None else partial(stock_table, runtime, stock, sizes),
        )
        compared = report.compared
    except NothingToGain as error:
        report, compared = None, error.compared
    rows = [_row(size, report, stock, _bound(problem, profile, size), pads=profile.pads) for size in sizes]
    several = len(set(problem.topology.machine.tolist())) > 1
    return ProgramsResult(
        request,
        report,
        rows,
        compared,
        topology=problem.topology.name,
        ranks=problem.collective.num_ranks,
        kernels=[*_kernels(profile, costs, several), *_far(runtime, several), *_foreign(runtime, foreign)],
        stock=stock.described if stock else why_none,
    )


def _whole_blocks(collective: Collective, sizes: Sequence[int]) -> list[int]:
    """The sizes, of collectives that have a block for each rank as the next whole blocks of whole elements."""
    unit = collective.num_ranks * _ELEMENT if collective.kind.in_blocks else 1
    return sorted({-(-size // unit) * unit for size in sizes})


def _far(runtime: str, several: bool) -> list[str]:
    """What does not hold yet of a runtime on several machines."""
    if runtime != DEVICE_RUNTIME.name or not several:
        return []
    return [
        "the device engine's kernel between nodes, which is not there yet: jobs send these programs' messages by the"
        " group's own sends and receives, which take longer"
    ]


def _check_vendor(runtime: str, stock: LibraryTimes) -> None:
    """Refuses RCCL's programs where NCCL runs. Raises RequestError."""
    if runtime == OF_RCCL and stock.machine.nccl is not None:
        raise RequestError(
            f"--for {runtime}: runs on AMD's GPUs, and {stock.machine.topology.name} has NVIDIA's: take executor,"
            " mscclpp or device"
        )


def _foreign(runtime: str, foreign: bool) -> list[str]:
    """What was assumed of another vendor's GPUs."""
    if not foreign:
        return []
    return [
        f"kernels of {runtime} on AMD's GPUs take what they take on NVIDIA's, which nobody measured: not compared with"
        " RCCL; --costs FILE says what they take"
    ]


def _kernels(profile: Profile, costs: Costs | None, several: bool) -> list[str]:
    """What the runtime's kernels take."""
    if not profile.priced:
        return [f"links alone: what kernels of {profile.name} take here is not known; --costs FILE says it"]
    source = f" ({costs.measured})" if costs and costs.measured else ""
    return [
        f"kernels of {profile.name} by {name}{source}: launch {format_time(pace.start_ps)}, step"
        f" {format_time(pace.inside_ps)}{f' (between nodes {format_time(pace.between_ps)})' * several}, thread block"
        f" {format_bandwidth(pace.bandwidth)}"
        for name in profile.priced
        if (pace := profile.protocols[name].pace)
    ]


def _profile(runtime: str, costs: Costs | None, topology: Topology) -> Profile:
    """What is known of the runtime's kernels, and its limits; of MSCCL++'s plans these are told when they are made."""
    if runtime != PLAN_RUNTIME:
        return priced_profile(runtime, costs, topology)
    return replace(UNLIMITED, name=runtime, protocols=dict(priced_protocols(runtime, costs, topology)))


def _searched(
    problem: Problem, sizes: Sequence[int], chunks: int | None, *, search: Search, request: Synthesis, watch: Watch
) -> list[ScheduleWindow]:
    if chunks is not None:
        problem = replace(problem, collective=replace(problem.collective, chunks_per_rank=chunks))
    limit = None if request.time_limit is None else parse_duration(request.time_limit)
    found = windows(
        problem,
        sizes,
        search,
        engine=request.engine,
        free_chunks=chunks is None and request.chunks is None,
        time_limit_s=limit,
        watch=watch,
    )
    if sum(len(window.sizes) for window in found) < len(sizes):  # Ctrl-C ended it
        raise KeyboardInterrupt
    return found


def _with_switches_of(stock: LibraryTimes, problem: Problem) -> Problem:
    """The problem on switches that compute where they do for the library, unless the topology says which do."""
    topology = problem.topology
    computing = topology.in_network or stock.machine.topology.in_network
    return replace(problem, topology=replace(topology, in_network=computing))


def _over_switches(problem: Problem, size: int) -> list[Source]:
    """What switches that compute do, where there are any and all ranks are on one machine."""
    topology = problem.topology
    if not topology.in_network or len(set(topology.machine.tolist())) > 1:
        return []
    collective = replace(problem.collective, size_bytes=size)
    try:
        schedule = retime(build("nvls", collective, topology))
    except (ScheduleError, Infeasible):
        return []
    return [Source(Path(schedule.generator), collective, schedule, has_coarser=True)]


def _stock_ps(stock: LibraryTimes, size: int) -> int:
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

    ranks = topology.num_ranks
    passed_on = len(rank_routes(topology.graph).offset) - 1 < ranks * (ranks - 1)  # by ranks, in one step all the way

    def bound_ps(of: Collective, seen: Topology) -> int:
        return bound_of_any_chunks(of, seen, group=problem.group).time_ps

    def at_least(protocol: Protocol) -> int:
        pace = protocol.pace
        on_links = with_kernels(topology, replace(protocol, pace=pace and replace(pace, inside_ps=0, between_ps=0)))
        if pace is None:
            return bound_ps(collective, on_links)
        in_steps = pace.inside_ps if passed_on else bound_ps(tiny, with_kernels(topology, protocol))
        return pace.start_ps + max(bound_ps(collective, on_links), in_steps)

    chosen = [profile.protocols[name] for name in profile.priced] or [profile.protocols["Simple"]]
    return min(map(at_least, chosen))


def _row(
    size: int, report: BundleReport | None, stock: LibraryTimes | None, bound_ps: int, *, pads: bool
) -> ProgramRow:
    """Of the kind of calls that comes first: in place, where the collective has such calls."""
    told = None if stock is None else stock.at(size)
    files = () if report is None else report.bundle.files
    for number, file in enumerate(files, 1):
        if file.in_place != files[0].in_place or not file.min_bytes <= size <= file.max_bytes:
            continue
        if not pads and not file.serves(size, _ELEMENT, file.in_place):
            continue  # the runtime takes its own algorithm
        near = min(file.predicted, key=lambda one: abs(one.size_bytes - size))
        return ProgramRow(size, bound_ps, told, number, file, near.time_ps)
    return ProgramRow(size, bound_ps, told)
