"""What a translation is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.parts import CostsFile, ResultJson
from hocket.api.request import Request

__all__ = ["Translation"]


class Translation(Request, frozen=True, kw_only=True, tag="translate"):
    """Turn a schedule, or the program of another runtime, into MSCCL XML for one runtime, an MSCCL++ execution plan,
    JSON without any runtime's limits, graphs for ASTRA-sim, a table, or a graph file for stock NCCL; a program into a
    schedule; or several of one collective into a folder for a runtime.

    The text is read back and executed symbolically before it is written: values, races, deadlock. A schedule's program
    is proved with connections that hold one message (--slots 2: two), one of another runtime with those of its
    protocol. When that fails, or a limit of the runtime is exceeded, nothing is written.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket translate ar.schedule --to executor -o ar.xml --max-bytes 64MiB",
        "hocket translate schedules/*.schedule --to executor --bundle bundle/",
        "hocket translate ar.schedule --to nccl-graph -o rings.xml",
    )

    files: Annotated[
        tuple[str, ...],
        argument(
            "A .schedule, ForestColl's trees (.xml), or a program: .xml of any runtime, .json; several for a --bundle.",
            "FILE...",
        ),
    ]
    to: Annotated[
        str,
        option("Runtime that will load it, or a format.", choices="hocket.translator.targets:TARGETS", positional=True),
    ]
    written_for: (
        Annotated[
            str,
            option(
                "XML: runtime that it was written for (they mean maxBytes differently); default: by its attributes.",
                "--from",
                choices="hocket.translator.msccl.profiles:PROFILES",
            ),
        ]
        | None
    ) = None
    output: Annotated[
        str | None, written("File to write; for chakra the prefix of a file per rank.", "-o", positional=True)
    ] = None
    bundle: Annotated[
        str | None,
        written(
            "Folder to write: the FILEs' programs, each for the sizes it is best at, and a run script.", metavar="DIR"
        ),
    ] = None
    protocol: (
        Annotated[
            str,
            option(
                "Simple (the default) is for large sizes, LL for small ones, LL128 for NVLink; device, and bundles of"
                " mscclpp: the faster of Simple and LL.",
                choices="hocket.schedule:FIFO_DEPTH",
            ),
        ]
        | None
    ) = None
    channels: (
        Annotated[int, option("Connections between two ranks, at least; without it 1, 2 and 4 are tried.", ge=1)] | None
    ) = None
    slots: (
        Annotated[
            int,
            option(
                "Messages that a connection is relied on to hold: 1 is right whatever it holds, 2 lets thread blocks"
                " receive and send on in one step; without it both are tried.",
                ge=1,
            ),
        ]
        | None
    ) = None
    instances: (
        Annotated[
            int,
            option(
                "Copies of the program, each on a part of the buffers; for a runtime whose costs are known several are"
                " tried.",
                ge=1,
            ),
        ]
        | None
    ) = None
    costs: CostsFile = None
    min_bytes: Annotated[str | None, option("Smallest size the file is for.", metavar="SIZE")] = None
    max_bytes: Annotated[
        str | None, option("Largest size the file is for (0: any; msccl: 128 MiB).", metavar="SIZE")
    ] = None
    in_place: Annotated[
        bool | None,
        option("Calls it is for; all_to_all: out-of-place, else in-place.", "--in-place/--out-of-place"),
    ] = None
    name: Annotated[str | None, option("Name inside the file.")] = None
    topology: Annotated[
        str | None,
        option("An XML to another format, trees, --bundle: where it runs.", "-t", metavar="SPEC|FILE"),
    ] = None
    size: Annotated[str | None, option("An XML to another format, trees: size of the call.", "-s")] = None
    collective: (
        Annotated[
            str,
            option(
                "ForestColl's trees: all_gather (the default), reduce_scatter or all_reduce.",
                "-c",
                choices="hocket.schedule:Kind",
            ),
        ]
        | None
    ) = None
    root: Annotated[int | None, option("XML: root of a rooted collective; found in the file by default.")] = None
    ranks_per_node: (
        Annotated[int, option("mscclpp: ranks that memory channels join; without it those of a node.", ge=1)] | None
    ) = None
    json: ResultJson = None
