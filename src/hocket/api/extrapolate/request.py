"""How a small job is to grow."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.parts import GroupsFile, Reader, TraceFolder
from hocket.api.request import Request

__all__ = ["Extrapolation"]


class Extrapolation(Request, frozen=True, kw_only=True, tag="extrapolate"):
    """Make a larger job of a small one: copies of its ranks, joined by the groups that grow; says what it assumes.

    Without --group, the one group of all ranks grows.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket extrapolate traces/ --data-parallel 8x -o larger/",
        "hocket extrapolate traces/ --ranks 1024 -o larger/",
        "hocket extrapolate traces/ --group dp0=64 --group dp1=64 -o larger/",
    )

    traces: Annotated[str, argument("A folder of PREFIX.<rank>.et files, or a prefix.", "TRACES")]
    written: TraceFolder
    data_parallel: Annotated[str | None, option("This many times the replicas: 8x.")] = None
    ranks: Annotated[int | None, option("Ranks of the larger job.", "-n", ge=1, le=1 << 20)] = None
    group: Annotated[
        tuple[str, ...],
        option("NAME=SIZE: a group that grows, all others stay within a copy. Name all of one dimension."),
    ] = ()
    groups: GroupsFile = None
    profile: Reader = "mlcommons"
