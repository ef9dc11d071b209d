"""What is asked of Chakra traces: the commands of `hocket trace`."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.parts import AcceptLosses, Reader, ResultJson, Schema, TraceFiles, TraceFolder
from hocket.api.request import Request

__all__ = [
    "TraceAnonymization",
    "TraceCombination",
    "TraceComplete",
    "TraceConversion",
    "TraceDiff",
    "TraceGraph",
    "TraceImport",
    "TraceInfo",
    "TraceMerge",
    "TraceSlice",
    "TraceText",
    "TraceTimeline",
    "TraceValidation",
]

_ROOM = "hocket.api.trace"
_Lines = Annotated[str | None, output("File for the lines; default: printed.", "-o")]


class TraceInfo(Request, frozen=True, kw_only=True, tag="trace info"):
    """Print ranks, nodes of each type, process groups and a table of the communication."""

    examples: ClassVar[tuple[str, ...]] = ("hocket trace info traces/ --json -",)
    performer: ClassVar[str] = f"{_ROOM}.info:perform"

    files: TraceFiles
    json: Annotated[str | None, output("Write the counts here as JSON.")] = None


class TraceValidation(Request, frozen=True, kw_only=True, tag="trace validate"):
    """Check every node and what the ranks have to agree on; exit 1 when there are errors, as lost collectives are."""

    examples: ClassVar[tuple[str, ...]] = ("hocket trace validate traces/ --profile astra-sim",)
    performer: ClassVar[str] = f"{_ROOM}.validate:perform"

    files: TraceFiles
    profile: Annotated[
        str, option("Also check what this reader of traces needs.", choices="hocket.chakra.profile:TraceProfile")
    ] = "mlcommons"
    accept_losses: AcceptLosses = False
    json: ResultJson = None


class TraceConversion(Request, frozen=True, kw_only=True, tag="trace convert"):
    """Write traces for another reader, saying what had to change."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket trace convert traces/ --profile astra-sim -o astra/",
        "hocket trace convert old/ --repair -o traces/",
    )
    performer: ClassVar[str] = f"{_ROOM}.convert:perform"

    files: TraceFiles
    written: TraceFolder
    profile: Reader = "mlcommons"
    repair: Annotated[
        bool,
        option(
            "Infer types of collectives from names, leave out dependencies on absent nodes and on themselves, and say"
            " how many: old traces lack types, sizes and nodes."
        ),
    ] = False


class TraceText(Request, frozen=True, kw_only=True, tag="trace to-json"):
    """Print every field of a file as JSON lines: the file's metadata, then one node a line."""

    examples: ClassVar[tuple[str, ...]] = ("hocket trace to-json traces/trace.0.et",)
    performer: ClassVar[str] = f"{_ROOM}.text:perform"

    file: Annotated[str, argument("One rank's .et file.", "FILE")]
    output: _Lines = None
    schema: Schema = None


class TraceImport(Request, frozen=True, kw_only=True, tag="trace import"):
    """Turn what other tools recorded into Chakra traces, one a rank; prints what could not be known, and exits 1 where
    that left out all communication.

    What profiles of PyTorch do not tell can be told: a rank, the number of ranks, and by the kind of an operation (and
    DeepEP's dispatch and combine) the bytes of a rank's input and the ranks of a group. `hocket trace complete` makes
    the other ranks.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket trace import profiles/ --from auto -o traces/",
        "hocket trace import rank0.json.gz --size dispatch=28MiB --group reduce_scatter=8 -o one/",
    )
    performer: ClassVar[str] = f"{_ROOM}.imported:perform"

    paths: Annotated[tuple[str, ...], argument("The files of one job, or their folder.", "FILES|DIR")]
    written: TraceFolder
    source: Annotated[
        str, option("The tool that recorded them.", "--from", choices="hocket.chakra.importers.registry:SOURCES")
    ] = "auto"
    profile: Reader = "mlcommons"
    world: Annotated[int | None, option("Ranks of the job, where the files do not state it.", metavar="N", ge=1)] = None
    rank: Annotated[int | None, option("Which rank one rank's files are of.", metavar="RANK", ge=0)] = None
    size: Annotated[
        tuple[str, ...],
        option("Bytes of a rank's input, where not recorded: all_reduce=4MiB, dispatch=28MiB.", metavar="NAME=BYTES"),
    ] = ()
    group: Annotated[
        tuple[str, ...],
        option(
            "Ranks of a group, where not recorded, and how far apart: reduce_scatter=8, all_to_all=2:8.",
            metavar="NAME=RANKS[:STRIDE]",
        ),
    ] = ()
    accept_losses: AcceptLosses = False


class TraceComplete(Request, frozen=True, kw_only=True, tag="trace complete"):
    """Make a whole job of the traces of some of its ranks, and say what was assumed.

    A rank that is missing does what the known one of its role does: of any rank where all do alike, of its stage in a
    pipeline. Groups are laid out by the strides of the known ones, or as --parallel says; every send gets its recv.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket trace complete one/ -o job/",
        "hocket trace complete one/ --parallel tp=8,pp=2,dp=4 -o job/",
    )
    performer: ClassVar[str] = f"{_ROOM}.complete:perform"

    traces: Annotated[str, argument("The known ranks' traces: a folder, a prefix or a .et file.", "TRACES")]
    written: TraceFolder
    world: Annotated[int | None, option("Ranks of the whole job; default: as the traces say.", metavar="N", ge=1)] = (
        None
    )
    parallel: Annotated[
        str | None,
        option("Sizes of the parallel dimensions: tp, cp, dp, pp, and ep out of cp and dp.", metavar="tp=8,pp=2,dp=4"),
    ] = None
    order: Annotated[str, option("With --parallel: what varies from rank to rank, the fastest first.")] = "tp,cp,dp,pp"


class TraceMerge(Request, frozen=True, kw_only=True, tag="trace merge"):
    """Write the traces of ranks from several folders, or with other names or numbers, as one job's PREFIX.<rank>.et."""

    examples: ClassVar[tuple[str, ...]] = ("hocket trace merge host0/ host1/ -o traces/",)
    performer: ClassVar[str] = f"{_ROOM}.merge:perform"

    paths: Annotated[tuple[str, ...], argument("Folders, prefixes and .et files, whatever their names.", "TRACES...")]
    written: TraceFolder
    ranks: Annotated[
        str | None, option("Rank of each file in the order given; default: from its metadata or name.", metavar="RANKS")
    ] = None
    in_order: Annotated[bool, option("The files are ranks 0, 1, ... as given; numbers in them stay.")] = False


class TraceCombination(Request, frozen=True, kw_only=True, tag="trace combine"):
    """Write the traces of several jobs as one set, each on ranks of its own, so that they share a network."""

    examples: ClassVar[tuple[str, ...]] = (
        "hocket trace combine training/ serving/ -o both/",
        "hocket trace combine one/ two/ --place 0-3,8-11 --place 4-7,12-15 -o both/",
    )
    performer: ClassVar[str] = f"{_ROOM}.combine:perform"

    jobs: Annotated[tuple[str, ...], argument("Folders or prefixes, one per job.", "TRACES...")]
    written: TraceFolder
    place: Annotated[
        tuple[str, ...],
        option(
            "Which ranks of the whole each job's are; one job after the other by default.",
            metavar="RANKS",
        ),
    ] = ()


class TraceSlice(Request, frozen=True, kw_only=True, tag="trace slice"):
    """Write a part of traces: steps, nodes, times or ranks.

    A dependency on a node that is left out becomes one on what that node depended on. A group keeps those of its ranks
    that are in the part, its collectives their sizes; messages from or to other ranks are left out. What had to change
    is said. Ranks cut by --nodes or --time may end in the middle of a collective: `hocket trace validate` tells.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket trace slice traces/ --steps 2:4 -o part/",
        "hocket trace slice traces/ --ranks 0-3 -o part/",
        "hocket trace slice traces/ --time 10ms:20ms -o part/",
    )
    performer: ClassVar[str] = f"{_ROOM}.slice:perform"

    files: TraceFiles
    written: TraceFolder
    steps: Annotated[str | None, option("Steps A up to, not with, B: 2:4, 3:, :2.", metavar="A:B")] = None
    nodes: Annotated[str | None, option("Nodes by their ids, A up to B.", metavar="A:B")] = None
    time: Annotated[
        str | None, option("Nodes that start from A up to B of the trace's time: 0ms:20ms.", metavar="A:B")
    ] = None
    ranks: Annotated[str | None, option("Ranks, such as 0-3 or 4,6: they become ranks 0, 1, ...", metavar="RANKS")] = (
        None
    )


class TraceDiff(Request, frozen=True, kw_only=True, tag="trace diff"):
    """Say how two runs communicate differently; exit 1 when they do.

    Compared are the ranks, the ranks of the groups, and what each rank communicates, in order: kind, group, bytes,
    type, root, ends and tag. Durations and the computation between are shown, but do not count unless --durations
    says how much they may change: no two runs have the same.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket trace diff monday/ tuesday/",)
    performer: ClassVar[str] = f"{_ROOM}.diff:perform"

    first: Annotated[str, argument("Traces of a run: a folder, a prefix or a file.", "FIRST")]
    second: Annotated[str, argument("Traces of another run.", "SECOND")]
    durations: Annotated[
        float | None,
        option(
            "Exit 1 too when all ranks' computation or communication takes longer or shorter by more than this.",
            metavar="PERCENT",
            ge=0,
        ),
    ] = None
    schema: Schema = None
    json: Annotated[str | None, output("Write all differences here as JSON.")] = None


class TraceAnonymization(Request, frozen=True, kw_only=True, tag="trace anonymize"):
    """Write traces with other names of nodes and groups, the same on all ranks, without what else tells of it."""

    examples: ClassVar[tuple[str, ...]] = ("hocket trace anonymize traces/ -o public/",)
    performer: ClassVar[str] = f"{_ROOM}.anonymize:perform"

    files: TraceFiles
    written: TraceFolder


class TraceTimeline(Request, frozen=True, kw_only=True, tag="trace timeline"):
    """Write when the nodes of traces ran for https://ui.perfetto.dev: as measured, or as predicted.

    Traces that tell no times, as generated ones, are drawn with --topology as `hocket simulate` predicts them there;
    its --timeline takes all its options, and shows the links and the critical path too.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket trace timeline traces/ -o timeline.json.gz",
        "hocket trace timeline traces/ --ranks 0-7 --time 0ms:20ms -o timeline.json.gz",
        "hocket trace timeline generated/ -t dgx-h100:nodes=2 -o timeline.json.gz",
    )
    performer: ClassVar[str] = f"{_ROOM}.draw:timeline"

    files: TraceFiles
    output: Annotated[str, output("File of JSON that Perfetto opens; .gz: gzipped.", "-o")]
    topology: Annotated[
        str | None, option("Draw the times that are predicted on this machine.", "-t", metavar="SPEC|FILE")
    ] = None
    ranks: Annotated[
        str | None, option("These, such as 0-7, or all, whole; by default what 20 MB hold.", metavar="RANKS|all")
    ] = None
    time: Annotated[
        str | None, option("Nodes that run from A up to B of the trace's time: 0ms:20ms.", metavar="A:B")
    ] = None
    json: ResultJson = None


class TraceGraph(Request, frozen=True, kw_only=True, tag="trace graph"):
    """Write the dependency graph of a trace: edges lead to what depends; in DOT, control dependencies are dashed."""

    examples: ClassVar[tuple[str, ...]] = ("hocket trace graph traces/trace.0.et -o graph.dot",)
    performer: ClassVar[str] = f"{_ROOM}.draw:graph"

    file: Annotated[str, argument("One rank's .et file.", "FILE")]
    output: Annotated[str, output("File: .graphml (Gephi, yEd) or .dot (Graphviz).", "-o")]
    limit: Annotated[int, option("Draw at most this many nodes.", metavar="N", ge=1)] = 5000
    schema: Schema = None
    json: ResultJson = None
