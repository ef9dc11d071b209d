"""Which self-test is made, and where its file goes."""

from typing import Annotated, ClassVar

from hocket.api.fields import option
from hocket.api.fields import output as written
from hocket.api.parts import ResultJson
from hocket.api.request import Request

__all__ = ["SelfTest"]


class SelfTest(Request, frozen=True, kw_only=True, tag="selftest"):
    """Test what Hocket and the stock library do here, with real processes, and write one file to send back.

    Versions, topology, every value of every collective by the stock library and by proved programs, their tables as
    nccl-tests prints them, one real training job collected; with --gpu also NCCL's plugins. Without a GPU, --gpu says
    so and tests the CPU cores. What a part crashes or hangs at is in the file; the others go on. Cut off, the same
    command goes on where it was. Exit code 0: nothing failed; 1: a part did.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket selftest --gpu",
        "hocket selftest -n 2 -o selftest.zip",
    )

    gpu: Annotated[bool, option("Test this machine's GPUs too, a process per GPU; all of them if NCCL is there.")] = (
        False
    )
    ranks: Annotated[int, option("Processes on this machine's cores.", "-n", "--ranks", ge=2, le=16)] = 4
    output: Annotated[str, written("The file to send back.", "-o", "--output")] = "hocket-selftest.zip"
    only: Annotated[
        tuple[str, ...],
        option("Only this part (repeatable).", metavar="PART", choices="hocket.api.selftest.parts.registry:PARTS"),
    ] = ()
    timeout: Annotated[
        float | None, option("Seconds for each part, in place of its own limit.", ge=1, le=1e6, metavar="SECONDS")
    ] = None
    json: ResultJson = None
