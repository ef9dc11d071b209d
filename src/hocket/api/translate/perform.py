"""Translates: by what the files are, and what they become."""

from __future__ import annotations

from pathlib import Path

from hocket.api.program_text import bundle_lines, plan_lines, program_lines
from hocket.api.progress import SILENT, Progress
from hocket.api.reading import bytes_of, one_of
from hocket.api.stock_times import OF_RCCL, LibraryTimes, beside_stock, is_foreign, stock_of
from hocket.api.translate.request import Translation
from hocket.api.translate.result import TranslationResult
from hocket.base.errors import RequestError
from hocket.base.text import shell_word
from hocket.schedule import (
    FIFO_DEPTH,
    AnySchedule,
    Collective,
    Costs,
    Kind,
    Schedule,
    load_expanded,
    read_costs,
    verify,
)
from hocket.topology import Topology
from hocket.topology import load as load_topology
from hocket.translator import (
    DEVICE_RUNTIME,
    PROFILES,
    Lowering,
    is_forest,
    priced_profile,
    priced_protocols,
    read_forest,
    read_program,
    rewrite,
    run_recipe,
)
from hocket.translator import program_schedule as schedule_of_program
from hocket.translator import translate as translate_to_program
from hocket.translator.bundle import BundleReport, write_bundle
from hocket.translator.bundle.sources import read_source
from hocket.translator.formats.registry import FORMATS
from hocket.translator.launching import machines
from hocket.translator.lowering.proving import Translated
from hocket.translator.msccl.saturation import saturation_findings
from hocket.translator.mscclpp import PLAN_RUNTIME, plan_recipe, translate_to_plan
from hocket.translator.targets import RUNTIMES

__all__ = ["perform", "translate_schedule"]

# Fields, by what is made; `_SOURCE`: what a file does not say itself, asked for where it is read.
_SOURCE = {"topology", "size", "root", "collective"}
_DEVICE_RECIPE = """hocket run {0} --transport device   # on this machine's processors, every value checked
HOCKET_ALGORITHMS={0} HOCKET_ALGORITHMS_ENGINE=device torchrun ..."""
_ALWAYS = {"files", "to", "output"}
_LOWERING = {"protocol", "channels", "min_bytes", "max_bytes", "in_place"}
_OF_XML = {"slots", "instances", "costs"}
_PLAN = _ALWAYS | _SOURCE | _LOWERING | {"name", "ranks_per_node"}
_BUNDLE = _LOWERING | {"files", "to", "bundle", "topology", "root"}
_REWRITE = _ALWAYS | {"written_for", "root", "name", "min_bytes", "max_bytes"}
_LOWER = _ALWAYS | _SOURCE | _LOWERING | _OF_XML | {"name"}


def perform(request: Translation, progress: Progress) -> TranslationResult:
    """Translates, proves and writes. Raises RequestError for fields that would do nothing, FormatError for what cannot
    be read, ScheduleError and DeadlockError for what does not fit or cannot be proved."""
    lowering = _lowering(request)
    _take_only(request)
    if request.bundle is not None:
        return _bundle(request, request.bundle, lowering, progress)
    file = Path(request.files[0])
    if _is_lowered(file) and request.to not in FORMATS and request.to != PLAN_RUNTIME:
        return _rewritten(request, file, lowering)
    return _translated(request, _read_schedule(request, file), lowering, progress)


def translate_schedule(request: Translation, schedule: AnySchedule) -> TranslationResult:
    """As `perform` of a schedule that is in memory, as if it were in the request's file."""
    lowering = _lowering(request)
    _take_only(request)
    return _translated(request, schedule.expand(), lowering, SILENT)


def _lowering(request: Translation) -> Lowering:
    if request.to == PLAN_RUNTIME and request.protocol is not None:
        one_of("--protocol", request.protocol, ["Simple", "LL"])
    least = 0 if request.min_bytes is None else bytes_of("--min-bytes", request.min_bytes)
    most = 0 if request.max_bytes is None else bytes_of("--max-bytes", request.max_bytes)
    if most and least > most:
        raise RequestError(f"--min-bytes {request.min_bytes} is above --max-bytes {request.max_bytes}")
    protocol = request.protocol or "Simple"
    if request.slots is not None and request.slots > FIFO_DEPTH[protocol]:
        raise RequestError(f"--slots {request.slots}: connections of {protocol} hold {FIFO_DEPTH[protocol]} messages")
    return Lowering(
        protocol=request.protocol,
        channels=request.channels,
        slots=request.slots,
        instances=request.instances,
        in_place=request.in_place,
        min_bytes=least,
        max_bytes=most,
        name=request.name,
    )


def _take_only(request: Translation) -> None:
    """Raises RequestError for fields that would do nothing, before anything is read."""
    to = request.to
    if request.bundle is not None:
        one_of("--to", to, RUNTIMES)
        takes = _BUNDLE | ({"ranks_per_node", "costs"} if to == PLAN_RUNTIME else _OF_XML)
        request.take_only(takes, f"--bundle DIR of {to} has files of its own names, for sizes of its own")
        return
    if request.output is None or len(request.files) != 1:
        raise RequestError("one file goes to --output, several go to --bundle")
    (file,) = request.files
    if to in FORMATS:
        request.take_only(_ALWAYS | _SOURCE, f"--to {to} is no program, it has what {file} does as it is")
    elif to == PLAN_RUNTIME:
        request.take_only(_PLAN, f"--to {to} makes a plan, lowered in its own way")
    elif _is_lowered(Path(file)):
        request.take_only(_REWRITE, f"{file} is lowered already, and --to {to} keeps the program")
    else:
        request.take_only(_LOWER, f"--to {to} lowers {file} for all ranks alike")


def _is_lowered(file: Path) -> bool:
    """Whether a file, by its name and beginning, is a program: no schedule and no trees."""
    return file.suffix == ".json" or (file.suffix == ".xml" and not is_forest(file))


def _read_schedule(request: Translation, file: Path) -> Schedule:
    """The schedule in a file, or what a program, or ForestColl's trees, do on a topology at a size."""
    of_trees = file.suffix == ".xml" and not _is_lowered(file)
    if request.collective is not None and not of_trees:
        raise RequestError(f"{file} says its collective: --collective is for ForestColl's trees")
    if file.suffix not in (".xml", ".json"):
        if (request.topology, request.size, request.root) != (None, None, None):
            raise RequestError(f"{file} has a topology, size and root: --topology, --size, --root are others'")
        return load_expanded(file)
    if request.topology is None or request.size is None:
        raise RequestError(f"{file} names no links and bytes: give --topology and --size")
    topology, size_bytes = load_topology(request.topology), bytes_of("--size", request.size)
    if of_trees:
        return read_forest(file, topology, size_bytes, Kind(request.collective or Kind.ALL_GATHER))
    return schedule_of_program(read_program(file, root=request.root), topology, size_bytes)


def _bundle(request: Translation, folder: str, lowering: Lowering, progress: Progress) -> TranslationResult:
    topology = None if request.topology is None else load_topology(request.topology)
    sources = [read_source(Path(file), request.root) for file in request.files]
    report = write_bundle(
        sources,
        folder,
        request.to,
        lowering,
        topology=topology,
        root=request.root,
        ranks_per_node=request.ranks_per_node,
        costs=_costs(request),
    )
    lines = bundle_lines(report, Path(folder))
    of_links = [one.content.topology for one in sources if isinstance(one.content, Schedule)]
    network = topology or next(iter(of_links), None)
    library = network and _library(request.to, network, sources[0].collective, _costs(request), progress)
    lines[-1:-1] = _beside(report, library) if library else []
    return TranslationResult(request, lines, report)


def _beside(report: BundleReport, library: LibraryTimes) -> list[str]:
    """Of each file the size at which it gains least on the stock library."""
    told = []
    for file in report.bundle.files:
        stock = [(library.at(one.size_bytes), one) for one in file.predicted]
        least = [(of.time_ps / max(1, one.time_ps), one.size_bytes, one.time_ps) for of, one in stock if of is not None]
        sentence = beside_stock(library, *min(least)[1:]) if least else None
        told += [f"{file.path}: {sentence}"] if sentence else []
    return told


def _library(
    runtime: str, topology: Topology, collective: Collective, costs: Costs | None, progress: Progress
) -> LibraryTimes | None:
    """The stock library that programs of a runtime stand in for, where both are known by what kernels take."""
    pace = priced_protocols(runtime, costs, topology)["Simple"].pace if runtime in RUNTIMES else None
    found = None if pace is None else stock_of(topology, collective, pace, progress)
    if found is None or is_foreign(found, runtime, has_costs=costs is not None):
        return None
    return None if found.machine.nccl is not None and runtime == OF_RCCL else found


def _rewritten(request: Translation, file: Path, lowering: Lowering) -> TranslationResult:
    program = read_program(file, profile=request.written_for, root=request.root)
    result = rewrite(
        program,
        _output(request),
        request.to,
        name=request.name,
        min_bytes=None if request.min_bytes is None else lowering.min_bytes,
        max_bytes=None if request.max_bytes is None else lowering.max_bytes,
    )
    return _program_result(request, result, program_lines(result, _output(request), bool(lowering.max_bytes)))


def _translated(request: Translation, schedule: Schedule, lowering: Lowering, progress: Progress) -> TranslationResult:
    path, to = _output(request), request.to
    if to in FORMATS:
        verify(schedule)
        return TranslationResult(request, FORMATS[to].write(schedule, path), schedule)
    ranks = schedule.ranks.tolist()
    if to == PLAN_RUNTIME:
        plan = translate_to_plan(schedule, path, lowering, ranks_per_node=request.ranks_per_node)
        recipe = plan_recipe(plan.plan, path, machines(schedule.topology, ranks, request.ranks_per_node))
        return TranslationResult(request, [*plan_lines(plan, path), "", *recipe.split("\n")], plan)
    costs, size = _costs(request), schedule.collective.size_bytes
    result = translate_to_program(schedule, path, priced_profile(to, costs, schedule.topology), lowering)
    time_ps = result.candidates[0].time_ps
    predicted = saturation_findings(result.program, size, time_ps)
    lines = program_lines(result, path, bool(lowering.max_bytes), predicted)
    library = _library(to, schedule.topology, schedule.collective, costs, progress)
    if library is not None and (beside := beside_stock(library, size, time_ps)):
        lines.append(beside)
    return _program_result(request, result, lines, machines(schedule.topology, ranks))


def _program_result(
    request: Translation, result: Translated, lines: list[str], nodes: tuple[int | None, int] = (None, 0)
) -> TranslationResult:
    """`nodes`: machines, and ranks of each (None: a program does not say)."""
    if request.to == DEVICE_RUNTIME.name:
        lines += ["", *_DEVICE_RECIPE.format(shell_word(_output(request).as_posix())).split("\n")]
    elif request.to in PROFILES:
        lines += ["", *run_recipe(result.program, result.profile, _output(request), nodes).split("\n")]
    return TranslationResult(request, lines, result)


def _costs(request: Translation) -> Costs | None:
    return None if request.costs is None else read_costs(request.costs)


def _output(request: Translation) -> Path:
    assert request.output is not None
    return Path(request.output)
