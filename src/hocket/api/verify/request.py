"""What a verification is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.request import Request

__all__ = ["Verification"]


class Verification(Request, frozen=True, kw_only=True, tag="verify"):
    """Prove a schedule, an MSCCL XML or an MSCCL++ plan correct.

    A schedule: every chunk arrives with every contribution exactly once, links are free when used, causality. Several
    schedules: each of them, and that no link carries more than its bandwidth. An XML: for each runtime whether its
    parser accepts the file, its kernels run it, and it computes its collective without race or deadlock, with the
    largest size for which that holds. An MSCCL++ plan is executed call after call: values, races with the caller too,
    deadlock. TACOS' files (.csv, or .xml with --topology and --size) are link orders: they are replayed as causality
    allows, and compared with the claimed time. Exit code 0: proved, and every --runtime asked for (none: one of the
    three) loads, selects and runs the XML right; 1: not, with a counterexample (deadlocks too); 3: the file cannot be
    read.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "hocket verify ar.schedule",
        "hocket verify ar.xml --runtime executor --json verdict.json",
    )

    files: Annotated[
        tuple[str, ...],
        argument(
            "A .schedule (or several that run at once), an MSCCL XML of any origin (.xml), an MSCCL++ plan or a program"
            " of translate --to json (.json), ForestColl's trees (.xml), or TACOS' .csv.",
            "FILE...",
        ),
    ]
    runtime: Annotated[
        str | None,
        option("XML: runtime that must run it: msccl, executor, rccl or all; a plan: mscclpp.", metavar="NAME"),
    ] = None
    json: Annotated[str | None, written("XML, plan: also write the verdicts here.")] = None
    explain: Annotated[str | None, written("XML, plan: draw the counterexample on this HTML page.")] = None
    gpu: Annotated[str | None, option("XML, plan: GPU whose multiprocessors must hold all blocks.", metavar="NAME")] = (
        None
    )
    root: Annotated[int | None, option("XML, plan: root of a broadcast or reduce; an XML's is found by default.")] = (
        None
    )
    fifo_depth: (
        Annotated[
            int, option("XML, program: messages a connection holds (Simple 2, LL and LL128 8).", ge=1, le=2**31 - 1)
        ]
        | None
    ) = None
    topology: Annotated[str | None, option("TACOS' XML, trees: what it was made for.", "-t", metavar="SPEC|FILE")] = (
        None
    )
    size: Annotated[str | None, option("TACOS' XML, trees: the output's size.", "-s")] = None
    claimed: Annotated[str | None, option("TACOS: the time that it printed.", metavar="TIME")] = None
    output: Annotated[str | None, written("TACOS, trees: write the schedule here.", "-o")] = None
