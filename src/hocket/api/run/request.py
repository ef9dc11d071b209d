"""Which program is run, how, and at what sizes."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.request import Request

__all__ = ["ProgramRun"]


class ProgramRun(Request, frozen=True, kw_only=True, tag="run"):
    """Run a program, or each size by the right one of a bundle, on real processes and check every value.

    The table has nccl-tests' columns; times are those of the slowest rank. Exit code 1: a value was wrong.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket run ar.xml -n 8 -b 1K -e 1M -f 4 --compare",
        "hocket run --bundle bundle/ -b 1K -e 1M",
    )

    file: Annotated[str | None, argument("A program that `hocket translate` wrote: MSCCL XML, or .json.", "FILE")] = (
        None
    )
    bundle: Annotated[
        str | None,
        option("Instead of FILE: a folder of `hocket translate --bundle`; its file for each size.", metavar="DIR"),
    ] = None
    transport: Annotated[
        str,
        option(
            "shm or tcp: the engine's own connections; device: the interpreter for GPUs, on this machine's cores; "
            "gloo or mpi: that library's sends and receives.",
            "--transport",
            "--backend",
            choices="hocket.runtime.run.launch:TRANSPORTS",
        ),
    ] = "shm"
    ranks: Annotated[int | None, option("Processes; the file's ngpus by default.", "-n")] = None
    size: Annotated[str | None, option("Bytes of a rank's whole buffer, such as 1MiB.", "-s", positional=True)] = None
    least: Annotated[str, option("First size of a sweep.", "-b", "--min", metavar="SIZE")] = "1MiB"
    most: Annotated[str | None, option("Last size of a sweep.", "-e", "--max", metavar="SIZE")] = None
    factor: Annotated[int, option("From size to size in a sweep.", "-f", "--factor", ge=2)] = 2
    dtype: Annotated[str, option("float32, float64, float16, bfloat16, int8, uint8, int32, ...")] = "float32"
    op: Annotated[str, option("What reductions do.", choices="hocket.runtime.run.datatypes:ReduceOp")] = "sum"
    root: Annotated[int | None, option("Root of a rooted collective; found in the file by default.")] = None
    iterations: Annotated[int, option("Timed runs a size.", "--iters", ge=1)] = 20
    warmup: Annotated[int, option("Untimed runs a size.", ge=0)] = 5
    compare: Annotated[bool, option("Time MPI's own collective, or gloo's, too.")] = False
    verify: Annotated[bool, option("Prove the file right before running it.")] = True
    timeout: Annotated[float, option("Seconds without a new result before giving up.", ge=0.1, le=1e6)] = 300.0
    json: Annotated[str | None, output("Also write the results here.")] = None
    print: Annotated[
        str | None,
        option(
            "Run nothing: print how to run the file on that runtime.",
            choices="hocket.translator.msccl.profiles:PROFILES",
        ),
    ] = None
