"""What is asked of the model of stock NCCL, of its logs and profiles, and of tables for its tuner plugin."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.fields import output as written
from hocket.api.parts import ResultJson
from hocket.api.request import Request

__all__ = [
    "NcclChoiceRequest",
    "NcclEnvironment",
    "NcclLogReading",
    "NcclProfileReading",
    "NcclProgramWriting",
    "NcclStockRun",
    "TunerCheck",
    "TunerTableRequest",
]

_ROOM = "hocket.api.nccl"
_MACHINE = "A preset such as dgx-h100:nodes=2, NCCL's topology XML (NCCL_TOPO_DUMP_FILE), nccl:FILE,nodes=2."
_NODES = "How many such nodes, where --topology does not say it."
_Nodes = Annotated[int | None, option(_NODES, ge=1, le=65_536)]
_Operations = Annotated[
    int, option("Like collectives that a group runs as one.", "--pipe-ops", metavar="N", ge=1, le=4096)
]
_Version = Annotated[
    str, option("NCCL release: 2.27 to 2.31, or with a patch, 2.28.3.", "--nccl-version", metavar="VERSION")
]
_Table = Annotated[str | None, output("The table, CSV.", "-o")]


class NcclChoiceRequest(Request, frozen=True, kw_only=True, tag="nccl choose"):
    """Print what NCCL (2.30.7, unless said) would choose for each size, and the time that it expects.

    Sizes are NCCL's: of all_gather and reduce_scatter the whole buffer, with --pipe-ops those of all collectives
    together. The network is as the NICs of the node, CollNet (SHARP) is off unless NCCL_COLLNET_ENABLE=1, all
    nodes are alike.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket nccl choose --topology machine.xml --nodes 2 --collective all_reduce --min 8 --max 16GiB"
        " --csv choices.csv",
        "hocket nccl choose --topology dgx-h100:nodes=2 --set NCCL_NVLS_ENABLE=0",
    )
    performer: ClassVar[str] = f"{_ROOM}.choose:perform"

    topology: Annotated[str, option(_MACHINE, "-t", metavar="MACHINE", positional=True)]
    nodes: _Nodes = None
    collective: Annotated[
        tuple[str, ...],
        option("all_reduce, all_gather, reduce_scatter, broadcast, reduce; or all.", "-c"),
    ] = ("all",)
    least: Annotated[str, option("Smallest size; the next ones double.", "--min", metavar="SIZE")] = "8"
    most: Annotated[str, option("Largest size.", "--max", metavar="SIZE")] = "16GiB"
    csv: Annotated[str | None, output("Write every size's choice here.")] = None
    graph_dump: Annotated[str | None, output("Write the channels found here, as NCCL_GRAPH_DUMP_FILE does.")] = None
    why: Annotated[bool, option("Where the choice changes, print every algorithm and protocol, and why not.")] = False
    calibration: Annotated[
        str | None,
        option("calibrated.protocols.yaml of hocket calibrate --nccl: times as measured.", metavar="FILE"),
    ] = None
    settings: Annotated[
        tuple[str, ...],
        option("A variable of NCCL's environment; prints what it changes.", "--set", metavar="NAME=VALUE"),
    ] = ()
    version: _Version = "2.30.7"
    buffers: Annotated[
        str,
        option(
            "What the user made of the buffers: windows are symmetric.", choices="hocket.api.nccl.buffers:BufferKind"
        ),
    ] = "plain"
    policy: Annotated[str, option("NCCL_CTA_POLICY.", "--cta-policy", choices="hocket.api.nccl.buffers:CtaPolicy")] = (
        "default"
    )
    graph: Annotated[
        str | None,
        option("Channels to take instead of searching, as NCCL_GRAPH_FILE gives them.", metavar="FILE"),
    ] = None
    domain: Annotated[
        int | None,
        option("Nodes whose GPUs share NVSwitches; presets say theirs.", "--nvlink-domain", metavar="N", ge=1, le=64),
    ] = None
    operations: _Operations = 1
    json: ResultJson = None


class NcclEnvironment(Request, frozen=True, kw_only=True, tag="nccl env"):
    """Print `export` lines for NCCL's profiler and tuner plugin, with absolute paths.

    The folder and the table must have these paths on every node. mpirun hands variables on that are named by `-x NAME`.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket nccl env --profile profile/ --kernels",
        'hocket nccl env --table table.csv  # eval "$(...)" sets them',
    )
    performer: ClassVar[str] = f"{_ROOM}.env:perform"

    profile: Annotated[str | None, option("Record the job's collectives into this folder.", metavar="DIR")] = None
    kernels: Annotated[bool, option("With --profile: also when they were done, by the GPU's timer.")] = False
    table: Annotated[str | None, option("Choose by this table.", metavar="FILE")] = None
    json: ResultJson = None


class NcclLogReading(Request, frozen=True, kw_only=True, tag="nccl log"):
    """Print what NCCL chose in a job, as it logs with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,TUNING.

    With --topology every size is compared with what the model says of the log's own version, or of 2.30.7 where that is
    not modelled, under the variables that the log shows, and the table of latencies and bandwidths that NCCL
    printed with the model's.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket nccl log rank0.log --topology machine.xml --nodes 2",)
    performer: ClassVar[str] = f"{_ROOM}.log:perform"

    path: Annotated[str, argument("Rank 0's, or all ranks' as a launcher mixes them.", "LOG")]
    topology: Annotated[
        str | None,
        option("Compare: a preset such as dgx-h100:nodes=2, or NCCL's topology XML.", "-t", metavar="MACHINE"),
    ] = None
    nodes: _Nodes = None
    collective: Annotated[str | None, option("Of NCCL 2.20 to 2.22, which do not log it.", "-c")] = None
    json: ResultJson = None


class NcclStockRun(Request, frozen=True, kw_only=True, tag="nccl run-stock"):
    """Run stock NCCL or RCCL itself without a GPU: its own code, built from its sources, over stand-ins.

    Nodes are processes, their GPUs and NICs those of --topology, the network this machine's loopback. NCCL finds its
    channels, chooses, connects, enqueues; its log, launches and proxies' steps are its own. With --do choose it only
    says what it takes for each size and the time that it expects; with enqueue kernels do nothing, with move they
    carry NCCL's plans out and every element is checked. Choices are compared with the model of `hocket nccl choose`.
    On AMD's GPUs RCCL runs, of which only --do choose. Building takes minutes the first time.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket nccl run-stock -t dgx-h100:nodes=2 --source nccl/ -o run/",
        "hocket nccl run-stock -t dgx-h100 --source nccl/ --do move -c all_reduce --max 1MiB -o run/",
        "hocket nccl run-stock -t mi300x:nodes=2 --source rccl/ -o run/",
    )
    performer: ClassVar[str] = f"{_ROOM}.stock:perform"

    topology: Annotated[str, option(_MACHINE, "-t", metavar="MACHINE", positional=True)]
    source: Annotated[
        str,
        option(
            "A checkout of NCCL, 2.27 or newer: git clone -b v2.30.7-1 https://github.com/NVIDIA/nccl; of RCCL, 2.28 or"
            " newer, for AMD's GPUs.",
            metavar="DIR",
        ),
    ]
    output: Annotated[
        str, written("Leave NCCL's logs, launches, profiles and results here: a new folder.", "-o", metavar="DIR")
    ]
    nodes: _Nodes = None
    machine: Annotated[
        tuple[str, ...],
        option(
            "NCCL's topology XML of one node, in order, where nodes differ; -t is then the first's.", metavar="FILE"
        ),
    ] = ()
    do: Annotated[str, option("How far NCCL goes.", choices="hocket.nccl.stock.job:Mode")] = "choose"
    collective: Annotated[
        tuple[str, ...],
        option("all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, sendrecv; or all.", "-c"),
    ] = ("all",)
    least: Annotated[str, option("Smallest size; the next ones double.", "--min", metavar="SIZE")] = "8"
    most: Annotated[str, option("Largest size; with --do move 1 MiB unless given.", "--max", metavar="SIZE")] = "16GiB"
    type: Annotated[str, option("Element type.", choices="hocket.nccl.stock.job:TYPES")] = "float32"
    operation: Annotated[str, option("Reduction.", "--op", choices="hocket.nccl.stock.job:OPERATIONS")] = "sum"
    settings: Annotated[
        tuple[str, ...], option("A variable of NCCL's environment.", "--set", metavar="NAME=VALUE")
    ] = ()
    profile: Annotated[bool, option("Load Hocket's profiler, kernels' events too, into DIR/profile.")] = False
    table: Annotated[str | None, option("Load Hocket's tuner with this table.", metavar="FILE")] = None
    job: Annotated[
        str | None,
        option("Lines of calls, groups, splits, aborts in place of sizes: see the documentation.", metavar="FILE"),
    ] = None
    cuda: Annotated[
        str | None, option("Where CUDA's headers are; else those of nvidia-cuda-runtime.", metavar="DIR")
    ] = None
    rocm: Annotated[
        str | None, option("Where ROCm's headers are; else those of /opt/rocm or of the package triton.", metavar="DIR")
    ] = None
    limit: Annotated[int, option("Seconds that nothing may move before the run is ended.", metavar="S", ge=1)] = 120
    json: ResultJson = None


class NcclProgramWriting(Request, frozen=True, kw_only=True, tag="nccl program"):
    """Write what NCCL would do for a call as MSCCL XML, to be read, changed, verified, simulated and run.

    The runtime cuts the buffer in its own way: in equal chunks, whatever NCCL gives the channels. NVLS and CollNet are
    kernels over switches, which XML cannot say.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket nccl program --topology dgx-h100:nodes=2 -s 64MiB --algorithm ring/ll128/4 -o ring.xml",
    )
    performer: ClassVar[str] = f"{_ROOM}.program:perform"

    topology: Annotated[str, option(_MACHINE, "-t", metavar="MACHINE", positional=True)]
    size: Annotated[str, option("Bytes of the call, as nccl-tests counts them.", "-s", positional=True)]
    output: Annotated[str, written("Write the XML here.", "-o")]
    nodes: Annotated[int | None, option(_NODES, ge=1, le=4096)] = None
    collective: Annotated[str, option("all_reduce, all_gather, reduce_scatter, broadcast, reduce.", "-c")] = (
        "all_reduce"
    )
    algorithm: Annotated[
        str | None,
        option("Such as ring/ll128/4; what is not given NCCL chooses.", metavar="ALGORITHM[/PROTOCOL[/CHANNELS]]"),
    ] = None
    root: Annotated[int, option("Of broadcast and reduce.", ge=0)] = 0
    to: Annotated[
        str, option("The runtime that is to run it.", choices="hocket.translator.msccl.profiles:PROFILES")
    ] = "executor"
    settings: Annotated[
        tuple[str, ...], option("A variable of NCCL's environment.", "--set", metavar="NAME=VALUE")
    ] = ()
    version: _Version = "2.30.7"
    json: ResultJson = None


class NcclProfileReading(Request, frozen=True, kw_only=True, tag="nccl profile show"):
    """Print a job's calls as nccl-tests prints its own: size, time, algbw and busbw.

    The times are the GPU's where kernel channels were recorded, else the proxies'; without both only the calls are
    counted. What was dropped or not finished is said below.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket nccl profile show profile/",)
    performer: ClassVar[str] = f"{_ROOM}.profile:perform"

    path: Annotated[str, argument("The job's HOCKET_NCCL_PROFILE, or one file of it.", "DIR")]
    json: ResultJson = None


class TunerTableRequest(Request, frozen=True, kw_only=True, tag="nccl tuner make"):
    """Write a table for the tuner plugin: the quickest of what was measured, or what the model chooses.

    From the outputs of several runs of nccl-tests with NCCL_ALGO and NCCL_PROTO forced, and one without, the rules are
    those that beat NCCL's own choice; with --calibration the times are fitted, with --simulate simulated. From
    --topology alone the table is what NCCL 2.30.7 chooses by itself, or would under --set: it keeps these choices
    across versions and settings, and gains nothing where NCCL makes them anyway. With --constants it has no rules but
    the constants with which NCCL's own model comes nearest to what was measured.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket nccl tuner make runs/*.json -o table.csv",
        "hocket nccl tuner make --baseline free.txt --run ring/ll128=ring.txt --run tree/simple=tree.txt -o table.csv",
        "hocket nccl tuner make --topology machine.xml --nodes 2 --set NCCL_NVLS_ENABLE=0 -o table.csv",
    )
    performer: ClassVar[str] = f"{_ROOM}.tuner.make:perform"

    files: Annotated[
        tuple[str, ...],
        argument("Outputs of nccl-tests that state NCCL's choice (-J, or with its log); profiles.", "FILES"),
    ] = ()
    output: _Table = None
    run: Annotated[
        tuple[str, ...],
        option("A run that was forced to ring/ll128, or to ring/ll128/16.", metavar="CHOICE=FILE"),
    ] = ()
    baseline: Annotated[
        tuple[str, ...], option("A run in which NCCL chose: only what beats it is written.", metavar="FILE")
    ] = ()
    margin: Annotated[
        float,
        option("Percent that a switch must gain, at all its sizes together; 3 times the noise if more.", ge=0, le=100),
    ] = 3.0
    extrapolate: Annotated[bool, option("Also below the smallest size and above the largest.")] = False
    collective: Annotated[str | None, option("Of files that do not say it; of --topology: which.", "-c")] = None
    ranks: Annotated[int | None, option("Of files that do not say it.", "-n", ge=2)] = None
    partial: Annotated[bool, option("Take the lines of runs that were cut off.")] = False
    topology: Annotated[
        str | None,
        option("Predict instead: a preset such as dgx-h100:nodes=2, or NCCL's topology XML.", "-t", metavar="MACHINE"),
    ] = None
    nodes: Annotated[tuple[int, ...], option("Such nodes; repeatable. Of files that lack it.", ge=1, le=65_536)] = ()
    settings: Annotated[
        tuple[str, ...],
        option("A variable of NCCL's environment whose effect the table is to have.", "--set", metavar="NAME=VALUE"),
    ] = ()
    version: _Version = "2.30.7"
    calibration: Annotated[
        str | None,
        option("With --topology: the times that hocket calibrate --nccl fitted.", metavar="FILE"),
    ] = None
    simulate: Annotated[
        str | None,
        option("With --topology: simulate the choices on nccl:machine.xml,nodes=2 ...", metavar="TOPOLOGY"),
    ] = None
    constants: Annotated[
        str | None,
        option("Rewrite NCCL's model by what hocket calibrate --nccl fitted, without rules.", metavar="FILE"),
    ] = None
    least: Annotated[str, option("Smallest size that is predicted.", "--min", metavar="SIZE")] = "8"
    most: Annotated[str, option("Largest size that is predicted.", "--max", metavar="SIZE")] = "16GiB"
    json: ResultJson = None


class TunerCheck(Request, frozen=True, kw_only=True, tag="nccl tuner check"):
    """Say what is wrong with a table for NCCL's tuner plugin: lines that cannot be read (the plugin then does nothing),
    rules that never take effect, that overlap, that leave gaps.

    Exits with 1 where there are errors; warnings leave 0. With --nodes and --ranks, lists which rule applies to which
    sizes, provided that NCCL offers what it asks for; with --against, what the rules change on such nodes, and the
    times that NCCL's model (with the table's constants) expects of both.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket nccl tuner check table.csv --nodes 2 --ranks 16",
        "hocket nccl tuner check table.csv --against dgx-h100:nodes=2",
    )
    performer: ClassVar[str] = f"{_ROOM}.tuner.check:perform"

    table: Annotated[str, argument("The table of NCCL's tuner plugin.", "TABLE")]
    nodes: Annotated[int | None, option("List what applies to communicators of N nodes.", ge=1)] = None
    ranks: Annotated[int | None, option("And of N ranks.", "-n", ge=1)] = None
    domains: Annotated[
        str | None, option("Its NVLink domains, minimum and maximum ranks of one.", metavar="N,MIN,MAX")
    ] = None
    against: Annotated[
        str | None,
        option("Compare with NCCL's own choice: its topology XML, or a preset, dgx-h100:nodes=2.", metavar="MACHINE"),
    ] = None
    pipe_operations: Annotated[int, option("Operations of a group (numPipeOps).", "--pipe-ops", ge=1)] = 1
    version: _Version = "2.30.7"
    registered: Annotated[bool, option("With buffers that the user registered.")] = False
    json: ResultJson = None
