"""What a synthesis is."""

from typing import Annotated, ClassVar

from hocket.api.fields import argument, option
from hocket.api.fields import output as written
from hocket.api.parts import CostsFile, Failures, GroupOptions
from hocket.api.request import Request

__all__ = ["Synthesis"]


class Synthesis(Request, frozen=True, kw_only=True, tag="synthesize"):
    """Synthesize a schedule of COLLECTIVE for a topology, prove it correct, and compare it with a lower bound.

    A lower bound is a time that no schedule can beat, of as many chunks or of any number; ratio is the schedule's time
    over the latter. For a range of sizes, the schedules that are the quickest somewhere in it, and where.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket synthesize all_reduce -t mesh:4x4,bandwidth=50GB/s,latency=500ns -s 64MiB -o ar.schedule",
        "hocket synthesize all_gather -t dgx-a100:nodes=2 -s 1KiB..1GiB:32 -o schedules/",
        "hocket synthesize all_reduce -t ring:8,bandwidth=50GB/s,latency=500ns -s 64MiB --engine native:ring",
        "hocket synthesize all_reduce -t dgx-h100 -s 1KiB..256MiB:16 --for device -o bundle/",
    )

    collective: Annotated[
        str, argument("The collective.", "COLLECTIVE", choices="hocket.synthesizer.barrier:COLLECTIVES")
    ]
    topology: Annotated[str, option("Topology spec, preset or YAML file.", "-t", metavar="SPEC|FILE", positional=True)]
    size: Annotated[
        str | None,
        option(
            "A rank's whole buffer, nccl-tests' size: 64MiB, 1GB; or sizes: 1KiB..1GiB:4.",
            "-s",
            metavar="SIZE|RANGE",
            positional=True,
        ),
    ] = None
    sizes: Annotated[
        str | None,
        option("Instead of --size: the block of each rank (all_to_all: each pair).", metavar="SIZES|FILE"),
    ] = None
    conditions: Annotated[
        str | None, option("Of COLLECTIVE custom: YAML, who has and who wants each chunk.", metavar="FILE")
    ] = None
    groups: GroupOptions = GroupOptions()
    failures: Failures = Failures()
    chunks: Annotated[int, option("Chunks per rank (default: the best number).", ge=1)] | None = None
    root: Annotated[int, option("Root of broadcast, reduce, gather and scatter.", ge=0)] = 0
    engine: Annotated[
        str,
        option(
            "The engine; native:NAME is that native algorithm alone.",
            metavar="ENGINE",
            choices="hocket.synthesizer.portfolio:choices",
        ),
    ] = "auto"
    objective: Annotated[
        str,
        option(
            "auto: fastest at --size; latency, bandwidth: at the smallest, the largest sizes.",
            choices="hocket.synthesizer.objective:Objective",
        ),
    ] = "auto"
    seed: Annotated[int, option("The same seed, the same schedule, anywhere.", ge=0, le=2**63 - 1)] = 0
    attempts: Annotated[int, option("Searches of each engine (default: what the size is worth).", ge=1)] | None = None
    time_limit: Annotated[
        str | None,
        option("Search for up to this long (30s, 5m), and take the best found; Ctrl-C takes it at once.", metavar="T"),
    ] = None
    threads: (
        Annotated[int, option("Threads of an engine (default: all cores); the result does not change.", ge=1)] | None
    ) = None
    blocking: Annotated[bool, option("A transfer holds its links during its latency too, as in TACOS.")] = False
    runtime: Annotated[
        str | None,
        option(
            "Write programs for this runtime into a bundle: the fastest per size, unless stock is faster.",
            "--for",
            choices="hocket.translator.targets:RUNTIMES",
        ),
    ] = None
    costs: CostsFile = None
    explain: Annotated[bool, option("With --for: of each size, what else was tried, and how long it takes.")] = False
    output: Annotated[
        str | None,
        written("Where to write the schedule, those of a range, or the bundle.", "-o", metavar="FILE|DIR"),
    ] = None
    report: Annotated[str | None, written("Write a report here (.html).")] = None
    json: Annotated[str | None, written("Write the numbers as JSON.")] = None
