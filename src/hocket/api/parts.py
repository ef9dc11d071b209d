"""Parts that several requests share: flat on the command line and in Python, nested in JSON."""

from typing import TYPE_CHECKING, Annotated

from hocket.api.fields import argument, option, output
from hocket.api.request import Part

if TYPE_CHECKING:
    from hocket.chakra.reading import TraceFiles as OpenFiles

__all__ = [
    "AcceleratorName",
    "AcceptLosses",
    "CostsFile",
    "Failures",
    "GroupOptions",
    "GroupsFile",
    "MpiCompiler",
    "Part",
    "Reader",
    "ResultJson",
    "Schema",
    "TraceFiles",
    "TraceFolder",
]

Schema = Annotated[
    str | None,
    option(
        "Schema of the traces, where the files do not state it.",
        metavar="VERSION",
        choices="hocket.chakra.eras:Era",
    ),
]
Reader = Annotated[str, option("The reader that the traces are for.", choices="hocket.chakra.profile:TraceProfile")]

#: Of requests whose results have no JSON of their own.
ResultJson = Annotated[str | None, output("Write the result here as JSON.", of_any=True)]

AcceptLosses = Annotated[
    bool, option("Exit with 0 even where collectives or messages of the recording could not be imported.")
]
GroupsFile = Annotated[
    str | None, option("Process groups as JSON; default: comm_groups.json beside the traces.", metavar="FILE")
]
MpiCompiler = Annotated[
    str, option("Compiler wrapper of the program's MPI; the launcher's when absent.", metavar="PATH")
]
CostsFile = Annotated[
    str | None,
    option("What the runtime's kernels take on this machine: a file of hocket calibrate --runtime.", metavar="FILE"),
]
AcceleratorName = Annotated[
    str | None,
    option(
        "What prices operations and bytes: a published one, or peak=989TFLOP/s,memory=3.35TB/s,capacity=80GB,"
        " or a file of hocket calibrate --kernels; --topology's GPUs by default, without it h100.",
        known="hocket.workload.accelerators:ACCELERATORS",
    ),
]


class TraceFiles(Part, frozen=True, kw_only=True):
    """Traces to be read."""

    traces: Annotated[str, argument("A folder of PREFIX.<rank>.et files, a prefix, or one .et file.", "TRACES")]
    groups: GroupsFile = None
    schema: Schema = None

    def open(self) -> "OpenFiles":
        """The traces of a job, or the one of a file."""
        from hocket.chakra.reading import open_traces

        return open_traces(self.traces, self.groups, self.schema)


class TraceFolder(Part, frozen=True, kw_only=True):
    """Where traces are written."""

    output: Annotated[str, output("Folder for the traces and comm_groups.json.", "-o", metavar="DIR")]
    prefix: Annotated[str, option("Write files named PREFIX.<rank>.et.")] = "trace"
    gzip: Annotated[bool, option("Write PREFIX.<rank>.et.gz.")] = False
    json: ResultJson = None


class Failures(Part, frozen=True, kw_only=True):
    """What a topology lacks, by the node ids of the whole."""

    without: Annotated[
        tuple[str, ...],
        option(
            "Failures: npu:7,9, gpu:1.3, nic:0.2, link:3-4, link:3->4, link:leaf0-spine1, switch:16.",
            metavar="WHAT",
        ),
    ] = ()
    degrade: Annotated[
        tuple[str, ...], option("Fraction of the bandwidth that remains: link:3-4=0.5.", metavar="WHAT=PART")
    ] = ()
    load: Annotated[
        tuple[str, ...],
        option(
            "Fraction of the bandwidth that others use: link:3-4=0.3, nvlink=0.2, or a .yaml or .csv of such.",
            metavar="WHAT=PART|FILE",
        ),
    ] = ()


class GroupOptions(Part, frozen=True, kw_only=True):
    """Which ranks take part."""

    group: Annotated[
        tuple[str, ...], option("Ranks that take part: 0,2,4-7. Several: collectives at once.", metavar="RANKS")
    ] = ()
    relays: Annotated[bool, option("Whether ranks outside the group may pass chunks on.", "--relays/--no-relays")] = (
        False
    )
    priority: Annotated[
        str | None, option("Of each --group: chunks of a lower number go first.", metavar="N,N,...")
    ] = None
