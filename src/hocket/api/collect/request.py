"""What is to be collected, merged and watched."""

from typing import Annotated, Any, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.parts import MpiCompiler, ResultJson
from hocket.api.request import Request
from hocket.base.errors import RequestError
from hocket.recording.settings import OPTIONS, variable

__all__ = [
    "CollectedMerge",
    "CollectionMetrics",
    "CollectionRequest",
    "CollectionTrigger",
    "CollectionWatch",
    "HookBuild",
]

_ROOM = "hocket.api.collect"
_DIR = Annotated[str, argument("Folder of the jobs (the latest), or of one job.", "DIR")]
_STRICT = Annotated[bool, option("Exit code 1 where ranks or collectives are missing, cut or not alike.")]
_STRICT_STRAGGLERS = Annotated[bool, option("The same, and where a straggler is named.")]


class CollectionRequest(Request, frozen=True, kw_only=True, tag="collect"):
    """Capture a PyTorch or MPI job's collectives into Chakra traces, one a rank.

    Runs a script under torchrun on this machine; with --mpi an MPI job by its own launch line, where MPI_Pcontrol(1)
    ends a step. PyTorch under your own launcher: `torchrun ... -m hocket.collect --out DIR script.py`; or leave the
    launch line as it is and set HOCKET_COLLECT=DIR. Also: `hocket collect merge|watch|trigger|metrics|build`. The exit
    code is the job's; 3 where it ended well and nothing was recorded.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket collect --out traces/ -n 4 --skip-steps 2 --steps 3 train.py --epochs 1",
        "hocket collect --out traces/ --mpi mpiexec -n 4 python script.py",
    )
    launches: ClassVar[bool] = True

    script: Annotated[str, argument("Training script; with --mpi the job's launcher.", "SCRIPT")]
    arguments: Annotated[
        tuple[str, ...], argument("The script's arguments; with --mpi the launch line's rest.", "ARGS")
    ] = ()
    output: Annotated[
        str, option("Folder of jobs, each with traces, summary, streams.", "-o", "--output", "--out", metavar="DIR")
    ] = "traces"
    ranks: Annotated[int, option("Processes on this machine.", "-n", "--ranks", ge=1)] = 1
    skip_steps: Annotated[
        int, option(OPTIONS["skip_steps"].help, ge=OPTIONS["skip_steps"].minimum, variable=variable("skip_steps"))
    ] = 0
    steps: Annotated[
        int | None, option(OPTIONS["steps"].help, ge=OPTIONS["steps"].minimum, variable=variable("steps"))
    ] = None
    timeout: Annotated[
        int, option(OPTIONS["timeout"].help, ge=OPTIONS["timeout"].minimum, variable=variable("timeout"))
    ] = 60
    ops: Annotated[bool, option("Record operators too, with PyTorch's profiler.")] = False
    stacks: Annotated[bool, option("Record the script's line that issues each call.")] = False
    completion: Annotated[
        bool, option("Have streams wait for asynchronous calls on devices, to record their ends.")
    ] = False
    no_nccl: Annotated[bool, option("Do not load Hocket's profiler plugin into NCCL.")] = False
    no_build: Annotated[bool, option("Do not build the native hook beside a job that lacks it.")] = False
    no_device_times: Annotated[bool, option("Do not record times of devices.")] = False
    max_bytes: Annotated[str, option(OPTIONS["max_bytes"].help, metavar="SIZE", variable=variable("max_bytes"))] = ""
    windows: Annotated[str, option(OPTIONS["windows"].help, metavar="STEPS", variable=variable("windows"))] = ""
    triggers: Annotated[bool, option("Let `hocket collect trigger` ask for windows while the job runs.")] = False
    trigger_steps: Annotated[
        int, option(OPTIONS["trigger_steps"].help, ge=1, metavar="N", variable=variable("trigger_steps"))
    ] = 10
    signal: Annotated[str, option(OPTIONS["signal"].help, metavar="NAME", variable=variable("signal"))] = ""
    slow_step: Annotated[
        int | None, option(OPTIONS["slow_step"].help, ge=2, metavar="N", variable=variable("slow_step"))
    ] = None
    watch: Annotated[bool, option("Say on stderr what the job waits for when it hangs.")] = False
    strict: _STRICT = False
    strict_stragglers: _STRICT_STRAGGLERS = False
    mpi: Annotated[bool, option("What follows is an MPI job's launch line.")] = False
    mpicc: MpiCompiler = ""
    json: ResultJson = None

    def always_on(self) -> dict[str, Any]:
        """The settings of streams that may go on for weeks. Raises RequestError naming one that cannot be read."""
        values: dict[str, Any] = {name: getattr(self, name) for name in ("triggers", "trigger_steps", "slow_step")}
        for name in ("max_bytes", "windows", "signal"):
            if text := getattr(self, name):
                try:
                    values[name] = OPTIONS[name].parse(text)
                except ValueError as error:
                    raise RequestError(f"--{name.replace('_', '-')}: {error}") from error
        return values


class CollectedMerge(Request, frozen=True, kw_only=True, tag="collect merge"):
    """Merge the streams in DIR into traces and a summary; for jobs that were cut off, too.

    Of a job whose nodes share no folder, the folders of all. What a merge that was killed has done is used again.
    Exit code 0: merged; 1: with --strict, something is missing, cut or not alike; 3: there is nothing to merge.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket collect merge traces/ --kineto profiles/ --nccl-profile profile/",
        "hocket collect merge node0/ node1/ node2/ -o traces/ --jobs 8",
        "hocket collect merge traces/ --strict",
    )
    performer: ClassVar[str] = f"{_ROOM}.recorded:merge"

    folder: _DIR
    others: Annotated[
        tuple[str, ...], argument("The same job's folders from other nodes, in any order.", "OTHER_DIR")
    ] = ()
    output: Annotated[
        str | None,
        written("Folder for the traces; default: the job's own, where one is given.", "-o", metavar="DIR"),
    ] = None
    jobs: Annotated[int, option("Worker processes.", ge=1)] = 1
    window: Annotated[
        str, option("The window of steps to merge, also while the job runs: 3, or trigger1; into DIR/windows.")
    ] = ""
    kineto: Annotated[
        str | None, option("Profiles of torch.profiler of the same run, .json or .json.gz.", metavar="DIR")
    ] = None
    nccl_profile: Annotated[
        str | None, option("The same run's HOCKET_NCCL_PROFILE: what NCCL did for each call.", metavar="DIR")
    ] = None
    strict: _STRICT = False
    strict_stragglers: _STRICT_STRAGGLERS = False
    json: ResultJson = None


class CollectionMetrics(Request, frozen=True, kw_only=True, tag="collect metrics"):
    """Serve what a running job's collectives cost as metrics, until it ends: beside the job, by reading its streams.

    Per group and kind: calls, bytes, busbw and algbw as nccl-tests has them, transfer, skew and exposed time; per rank:
    steps and their times, exposed time, how late it comes, calls under way.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket collect metrics traces/ --listen :9400",
        "hocket collect metrics traces/ --textfile /var/lib/node_exporter/hocket.prom --every 15",
    )
    performer: ClassVar[str] = f"{_ROOM}.metrics:metrics"

    folder: _DIR
    listen: Annotated[str | None, option("Serve OpenMetrics there, at /metrics.", metavar="ADDRESS:PORT")] = None
    textfile: Annotated[str | None, option("Write them for node_exporter's textfile collector.", metavar="FILE")] = None
    otlp: Annotated[
        str | None, option("Send them to an OTLP/HTTP endpoint, as http://localhost:4318", metavar="URL")
    ] = None
    every: Annotated[int, option("Seconds between two looks at the streams.", ge=1)] = 5
    once: Annotated[bool, option("Look once, print OpenMetrics unless told where else, and end.")] = False
    json: ResultJson = None


class CollectionTrigger(Request, frozen=True, kw_only=True, tag="collect trigger"):
    """Ask a job that runs with --triggers to record a window of steps, all ranks the same.

    Rank 0 finds the request at the end of a step and chooses the first step, some time ahead. With --now nobody is
    asked: what the streams hold at this moment is kept as a window, as of a job that hangs.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket collect trigger traces/ --steps 20",
        "hocket collect trigger traces/ --now",
    )
    performer: ClassVar[str] = f"{_ROOM}.trigger:trigger"

    folder: _DIR
    steps: Annotated[int, option(OPTIONS["trigger_steps"].help, ge=1)] = 10
    margin: Annotated[
        float, option("Seconds ahead that ranks are told: more where the folder is on a slow network.", ge=0)
    ] = 1.0
    now: Annotated[bool, option("Keep what the streams hold now, without the job's help.")] = False
    json: ResultJson = None


class CollectionWatch(Request, frozen=True, kw_only=True, tag="collect watch"):
    """Follow a job while it runs: what each group waits for when it hangs, once for each change, until it ends.

    Exit code 0: the job ended well (--once: nothing hangs); 1: a rank died or ended with an error; 5: it hung.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket collect watch traces/ --timeout 30",)
    performer: ClassVar[str] = f"{_ROOM}.watching:watch"

    folder: _DIR
    timeout: Annotated[int, option("Seconds without a word from a rank before it counts.", ge=1)] = 10
    once: Annotated[bool, option("Look once and exit.")] = False
    json: Annotated[str | None, written("A line of JSON for each report, as it comes.")] = None


class HookBuild(Request, frozen=True, kw_only=True, tag="collect build"):
    """Compile the collector's fast hook for the installed PyTorch into the cache: half a minute, once.

    `hocket collect script.py` does so by itself; a job under another launcher has it built beside it, for the next one.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket collect build",)
    performer: ClassVar[str] = f"{_ROOM}.recorded:build"
    json: ResultJson = None
