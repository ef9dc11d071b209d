"""What is measured: claims of papers, what other tools were measured on, and the rates of the core."""

from typing import Annotated, ClassVar

from hocket.api.fields import option, output
from hocket.api.request import Request

__all__ = ["ClaimsBench", "PeersBench", "SpeedBench"]


class ClaimsBench(Request, frozen=True, kw_only=True, tag="bench claims"):
    """Measure the claims of the papers that Hocket starts from, and say of each: exact, within its tolerance, trend,
    refuted and why, not specified, out of reach, or not yet.

    Published figures of ASTRA-sim are held against its own rules and against a physical model (docs/evidence.md).
    Exit code 1: a claim could not be measured.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("hocket bench claims --only A,B3-B21 --quick --json claims.json",)
    performer: ClassVar[str] = "hocket.bench.claims.command:perform"

    only: Annotated[
        str | None, option("Papers, claims and ranges of them: A,B3-B21,E2.", metavar="CLAIMS", positional=True)
    ] = None
    quick: Annotated[bool, option("Leave out what takes minutes.")] = False
    json: Annotated[str | None, output("Keep verdicts; what is finished is not measured again.")] = None
    page: Annotated[str | None, output("Write the verdicts as a page here (.md), pictures into images/ beside it.")] = (
        None
    )
    list_claims: Annotated[bool, option("Print the claims and stop.", "--list")] = False


class PeersBench(Request, frozen=True, kw_only=True, tag="bench peers"):
    """Synthesize what another tool was measured on: time, lower bound, seconds and memory, beside its own figures.

    Every case runs in a fresh process, whole: search, lower bound, proof. All links are blocking, as in TACOS.
    Exit code 1: not all targets are met.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("hocket bench peers --only tacos --case '*dragonfly*' --json results.json",)
    performer: ClassVar[str] = "hocket.bench.peers.comparison:perform"

    only: Annotated[str, option("The peer to compare with.", metavar="PEER", choices="hocket.bench.peers:PEERS")] = (
        "tacos"
    )
    tacos: Annotated[
        str | None, option("A driver around TACOS, run on every all_gather (docs/peers.md).", metavar="PATH")
    ] = None
    data: Annotated[
        str | None, option("Recorded figures; default: shared/data/tacos beside the repository.", metavar="DIR")
    ] = None
    case: Annotated[tuple[str, ...], option("Only these (repeatable).", metavar="GLOB")] = ()
    json: Annotated[str | None, output("Keep results; what is finished is not run again.")] = None
    timeout: Annotated[float, option("Seconds for one case.", ge=1)] = 600.0
    memory: Annotated[str, option("Address space for one case.", metavar="SIZE")] = "8GiB"
    list_cases: Annotated[bool, option("Print the cases' names and stop.", "--list")] = False


class SpeedBench(Request, frozen=True, kw_only=True, tag="bench speed"):
    """Measure the core's rates: events, messages, packets, transfers and more a CPU second, each beside what the CPU
    can do at most (measured in the same run) and what was recorded last on the same model of CPU.

    Rates are those of one CPU core; the best of several runs. A warning names what has become slower (docs/speed.md).
    Exit code 1: with --count, a case takes more instructions than the table has.
    """

    writes_in_steps: ClassVar[bool] = True  # what is timed writes files too
    examples: ClassVar[tuple[str, ...]] = ("hocket bench speed --only events --only parse --json rates.json",)
    performer: ClassVar[str] = "hocket.bench.speed.command:perform"

    only: Annotated[
        tuple[str, ...],
        option("Only this rate (repeatable).", metavar="NAME", known="hocket.bench.speed.registry:names"),
    ] = ()
    json: Annotated[str | None, output("Write rates, limits and what they are held against here.")] = None
    record: Annotated[bool, option("Append the rates to those recorded.")] = False
    recorded: Annotated[
        str | None, option("Recorded rates; default: those of the repository.", metavar="FILE.jsonl")
    ] = None
    count: Annotated[
        bool, option("Count instructions with valgrind too; with --record, keep the counts in the table.")
    ] = False
