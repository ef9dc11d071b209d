"""The formats that can be imported; one line each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.registry import Entry, Registry
from hocket.chakra.importers.elsewhere import whose_file
from hocket.chakra.importers.files import files_in, head_of
from hocket.chakra.importers.flight_recorder import is_flight_recorder, read_flight_recorder
from hocket.chakra.importers.job import ImportedJob, assemble
from hocket.chakra.importers.mlcommons import is_mlcommons, read_mlcommons
from hocket.chakra.importers.nccl.profile import is_nccl_profile
from hocket.chakra.importers.nccl.traces import read_nccl_profiles
from hocket.chakra.importers.nccl_inspector import is_nccl_inspector, read_nccl_inspector
from hocket.chakra.importers.pytorch.read import is_pytorch, read_pytorch
from hocket.chakra.importers.rank import Notes, RankTrace
from hocket.chakra.importers.told import NOTHING_TOLD, Told
from hocket.chakra.importers.workload_graph import is_workload_graph, read_workload_graph

__all__ = ["AUTO", "IMPORTERS", "SOURCES", "Importer", "import_traces"]

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Importer(Entry):
    """A format: whether a file that begins with these bytes is of it; reads the files of one job, noting what they do
    not tell; how what else its recorder leaves in a folder ends (`beside`). In words: which `files`, and what they tell
    of `times`, `groups` and `waits`. `read_told` reads them where more than the number of ranks can be told of them."""

    matches: Callable[[bytes], bool]
    read: Callable[[Sequence[Path], Notes], list[RankTrace]]
    files: str
    times: str
    groups: str
    waits: str
    beside: tuple[str, ...] = ()
    read_told: Callable[[Sequence[Path], Notes, Told], list[RankTrace]] | None = None


IMPORTERS = Registry(
    "format that can be imported",
    (
        Importer(
            name="mlcommons",
            summary="what chakra_trace_link makes of a rank's two profiles",
            matches=is_mlcommons,
            read=read_mlcommons,
            read_told=read_mlcommons,
            files="`chakra_trace_link`'s JSON",
            times="as linked",
            groups="as `pytorch`",
            waits="inferred",
        ),
        Importer(
            name="pytorch",
            summary="ExecutionTraceObserver's and Kineto's files of torch.profiler",
            matches=is_pytorch,
            read=read_pytorch,
            read_told=read_pytorch,
            files="ExecutionTraceObserver's JSON (schemas 1.0.1 to 1.1.1-chakra.1.0.0), Kineto's, or both of a rank",
            times="Kineto's",
            groups="NCCL's records; of gloo by evidence",
            waits="below",
        ),
        Importer(
            name="workload-graph",
            summary="MLCommons' workload graphs in JSON",
            matches=is_workload_graph,
            read=read_workload_graph,
            read_told=read_workload_graph,
            files="JSON with a `workload_graph`, its keys in either spelling (`ctrlDeps`, `ctrl_deps`)",
            times="durations",
            groups="all ranks",
            waits="as dependencies",
        ),
        Importer(
            name="nccl-inspector",
            summary="NCCL Inspector's JSON lines",
            matches=is_nccl_inspector,
            read=read_nccl_inspector,
            files="the Inspector's JSON lines",
            times="durations",
            groups="by communicator",
            waits="unknown",
        ),
        Importer(
            name="nccl-profile",
            summary="files of Hocket's profiler plugin for NCCL",
            matches=is_nccl_profile,
            read=read_nccl_profiles,
            files="`*.ncclprofile` of [Hocket's profiler plugin](nccl-profiler.md)",
            times="issue; duration with kernel channels or proxies",
            groups="by communicator",
            waits="unknown",
            beside=(".prom", ".txt"),
        ),
        Importer(
            name="flight-recorder",
            summary="PyTorch Flight Recorder dumps",
            matches=is_flight_recorder,
            read=read_flight_recorder,
            files="pickle of `_dump_nccl_trace`, JSON of `_dump_fr_trace_json`, versions 2.x",
            times="issue; duration with `TORCH_NCCL_ENABLE_TIMING=1`",
            groups="in the dump, else those that used it",
            waits="unknown",
        ),
    ),
)

#: What may be said of the files' format.
SOURCES = (AUTO, *IMPORTERS)


def import_traces(paths: Sequence[Path | str], source: str = AUTO, told: Told = NOTHING_TOLD) -> ImportedJob:
    """The job whose files, or folders of files, are given, as Chakra traces; `source` is a name in IMPORTERS or auto;
    `told` is what is known of the job that its files do not say.

    Raises FormatError, naming the file, for one that cannot be read or is of no known or of another format than the
    others.
    """
    files = files_in(map(Path, paths))
    notes = Notes()
    importer = IMPORTERS.named(_format_of(files) if source == AUTO else source)
    own = [file for file in files if not file.name.endswith(importer.beside)] or files
    return assemble(_ranks(importer, own, notes, told), notes, ", ".join(map(str, paths)), told.world)


def _ranks(importer: Importer, paths: Sequence[Path], notes: Notes, told: Told) -> list[RankTrace]:
    if importer.read_told is not None:
        return importer.read_told(paths, notes, told)
    if told.rank is not None or told.sizes or told.groups:
        raise FormatError(
            f"{paths[0]}: --rank, --size, --group are for profiles of PyTorch and MLCommons; this is {importer.name}"
        )
    return importer.read(paths, notes)


def _format_of(files: Sequence[Path]) -> str:
    """The name of the one format that all files are of."""
    found: dict[str, Path] = {}
    unknown: list[Path] = []
    for file in files:
        head = head_of(file)
        name = next((name for name, importer in IMPORTERS.items() if importer.matches(head)), None)
        if name is None:
            unknown.append(file)
        else:
            found.setdefault(name, file)
    beside = tuple(ending for name in found for ending in IMPORTERS[name].beside)
    if others := [file for file in unknown if not file.name.endswith(beside)]:
        raise FormatError(_why_not(others, [*found]))
    if len(found) > 1:
        shown = " and ".join(f"{file} ({name})" for name, file in found.items())
        raise FormatError(f"{shown} are of different formats; import one at a time")
    return next(iter(found))


def _why_not(unknown: Sequence[Path], found: Sequence[str]) -> str:
    """What to do about files of no format, where others are of those `found`."""
    for file in unknown:
        if what := whose_file(file, head_of(file)):
            return f"{file}: is not imported, it is {what}"
    if found:
        return f"{unknown[0]}: of no format that can be imported, as the files beside it are ({found[0]}): leave it out"
    known = "; ".join(f"{name}: {importer.summary}" for name, importer in IMPORTERS.items())
    return f"{unknown[0]}: of no format that can be imported. They are {known}"
