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
    """Compare with other tools: what each can do, and its speed and results beside Hocket's on the same problems.

    A peer that is on this machine is run (--astra-sim, --tacos; ns-3 and SimGrid where installed); of another the
    recorded figures stand there, and each row says which. --only tacos synthesizes all that TACOS was measured on, each
    case in a fresh process, links blocking as in TACOS: exit code 1 where a target is missed. --grid asks as a user
    would, with free chunks, on 12 topologies, beside native algorithms, NCCL's model, and what is recorded of TACOS and
    ForestColl: exit code 1 where a case has no schedule.
    """

    writes_in_steps: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = (
        "hocket bench peers --json peers.json",
        "hocket bench peers --only tacos --case '*dragonfly*' --json results.json",
    )
    performer: ClassVar[str] = "hocket.bench.peers.comparison:perform"

    only: Annotated[
        str | None,
        option("All cases of this peer, one by one.", metavar="PEER", choices="hocket.bench.peers:PEERS"),
    ] = None
    astra_sim: Annotated[
        str | None, option("ASTRA-sim's analytical program, or the folder of its programs, to be run.", metavar="PATH")
    ] = None
    tacos: Annotated[
        str | None, option("A driver around TACOS, to be run on every all_gather (docs/peers.md).", metavar="PATH")
    ] = None
    page: Annotated[str | None, output("Write both tables into this page (.md), between its markers.")] = None
    data: Annotated[
        str | None, option("Recorded figures; default: shared/data/tacos beside the repository.", metavar="DIR")
    ] = None
    grid: Annotated[bool, option("12 topologies, 5 collectives, 6 sizes, beside all peers at once.")] = False
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
