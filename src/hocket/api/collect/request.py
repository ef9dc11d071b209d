"""What is to be collected, merged and watched."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.parts import MpiCompiler
from hocket.api.request import Request
from hocket.recording.settings import OPTIONS, variable

__all__ = ["CollectedMerge", "CollectionRequest", "CollectionWatch", "HookBuild"]

_ROOM = "hocket.api.collect"
_DIR = Annotated[str, argument("Folder of the collection.", "DIR")]


class CollectionRequest(Request, frozen=True, kw_only=True, tag="collect"):
    """Capture a PyTorch or MPI job's collectives into Chakra traces, one a rank.

    Runs a script under torchrun on this machine; with --mpi an MPI job by its own launch line, where MPI_Pcontrol(1)
    ends a step. PyTorch under your own launcher: `torchrun ... -m hocket.collect --out DIR script.py`; or leave the
    launch line as it is and set HOCKET_COLLECT=DIR. Also: `hocket collect merge|watch|build`.
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
        str, option("Folder for traces, summary and streams.", "-o", "--output", "--out", metavar="DIR")
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
    completion: Annotated[bool, option("Ask every millisecond which collectives on CUDA are complete.")] = False
    watch: Annotated[bool, option("Say on stderr what the job waits for when it hangs.")] = False
    mpi: Annotated[bool, option("What follows is an MPI job's launch line.")] = False
    mpicc: MpiCompiler = ""


class CollectedMerge(Request, frozen=True, kw_only=True, tag="collect merge"):
    """Merge the streams in DIR into traces and a summary; for jobs that were cut off, too."""

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("hocket collect merge traces/ --kineto profiles/ --nccl-profile profile/",)
    performer: ClassVar[str] = f"{_ROOM}.recorded:merge"

    folder: _DIR
    kineto: Annotated[
        str | None, option("Profiles of torch.profiler of the same run, .json or .json.gz.", metavar="DIR")
    ] = None
    nccl_profile: Annotated[
        str | None, option("The same run's HOCKET_NCCL_PROFILE: what NCCL did for each call.", metavar="DIR")
    ] = None


class CollectionWatch(Request, frozen=True, kw_only=True, tag="collect watch"):
    """Follow a job while it runs: what each group waits for when it hangs, once for each change, until it ends.

    Exit code 0: the job ended well (--once: nothing hangs); 1: a rank died or ended with an error; 5: it hung.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket collect watch traces/ --timeout 30",)
    performer: ClassVar[str] = f"{_ROOM}.watching:watch"

    folder: _DIR
    timeout: Annotated[int, option("Seconds without a word from a rank before it counts.", ge=1)] = 10
    once: Annotated[bool, option("Look once and end.")] = False
    json: Annotated[bool, option("A line of JSON for each report.")] = False


class HookBuild(Request, frozen=True, kw_only=True, tag="collect build"):
    """Compile the collector's fast hook for the installed PyTorch into the cache: half a minute, once.

    `hocket collect script.py` does so by itself; a job under another launcher only uses what is there.
    """

    examples: ClassVar[tuple[str, ...]] = ("hocket collect build",)
    performer: ClassVar[str] = f"{_ROOM}.recorded:build"
