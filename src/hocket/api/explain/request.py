"""Which call is asked about, of which files."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option, output
from hocket.api.request import Request

__all__ = ["Explanation"]


class Explanation(Request, frozen=True, kw_only=True, tag="explain"):
    """Explain which file a runtime would run for a call, and why not the others.

    Exit code 0: a file would run; 1: none would (the library's own algorithm runs), or the one that does is wrong for
    the call.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket explain bundle/ -c all_reduce --size 25MiB --dtype float16 --ranks 8 --runtime executor",
    )

    paths: Annotated[
        tuple[str, ...],
        argument("Folder of XML files (of plans), or files in the order given.", "DIR|FILE..."),
    ]
    collective: Annotated[str, option("The collective.", "-c", choices="hocket.schedule:Kind", positional=True)]
    size: Annotated[str, option("Bytes of a rank's whole buffer, as nccl-tests counts.", "-s", positional=True)]
    ranks: Annotated[int, option("Ranks of the communicator.", "-n", ge=1)]
    runtime: Annotated[str, option("The runtime.", choices="hocket.translator.targets:RUNTIMES")]
    dtype: Annotated[str, option("float32, float16, bfloat16, int8, ...")] = "float32"
    in_place: Annotated[bool, option("The kind of call.", "--in-place/--out-of-place")] = False
    json: Annotated[str | None, output("Also write the result here.")] = None
