"""What is said of a translation: programs, plans and bundles in numbers, what was proved, how they are run."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hocket.base.text_table import text_table
from hocket.base.units import format_limit, format_time
from hocket.schedule import Program
from hocket.topology.naming import spans
from hocket.translator import Translated
from hocket.translator.bundle import BundleReport
from hocket.translator.lowering.lowering import Candidate
from hocket.translator.msccl.findings import Finding
from hocket.translator.mscclpp import TranslatedPlan

__all__ = ["bundle_lines", "plan_lines", "program_lines"]

_PROGRAM = ("thread blocks", "longest, steps", "steps", "channels", "scratch chunks")
_PLAN = ("thread blocks", "longest", "ops", "memory", "port", "semaphores", "scratch chunks")
_BUNDLE = ("file", "calls", "from", "to", "chunks", "thread blocks", "predicted", "the schedule's own")

# Of the lowerings that were tried so many that fit, and that do not, are named.
_SHOWN, _SHOWN_WRONG = 8, 2


def program_lines(result: Translated, path: Path, is_bounded: bool, predicted: Sequence[Finding] = ()) -> list[str]:
    """The program in numbers, which lowerings were tried, what was proved, and what is to be known of it; `is_bounded`:
    the largest size was asked for."""
    return list(_program_lines(result, path, is_bounded, predicted))


def _program_lines(result: Translated, path: Path, is_bounded: bool, predicted: Sequence[Finding]) -> Iterator[str]:
    program = result.program
    declared = (("in-place", program.in_place), ("out-of-place", program.out_of_place))
    calls = " and ".join(call for call, has in declared if has)
    upper = format_limit(program.max_bytes) if program.max_bytes else "any size"
    yield (
        f"{path}: {program.kind} on {program.num_ranks} ranks for {result.profile.name}, {program.protocol}, "
        f"{calls} calls of {format_limit(program.min_bytes)} to {upper} in {program.chunks_per_loop} chunks"
    )
    if program.max_bytes == result.profile.open_max_bytes != 0 and not is_bounded:
        yield (
            f"warning: {result.profile.name} reserves scratch for the largest size, so none is open: calls above "
            f"{upper} run the library's own algorithm: give --max-bytes"
        )
    yield from _ranks(_PROGRAM, _program_rows(program))
    if len(result.candidates) > 1:
        yield from _candidates(result.candidates)
    yield from (f"proved: {proof.describe()}" for proof in result.proofs)
    if (result.proofs[0].max_count or 0) > 1:
        yield f"        of sizes up to {upper} only: above, steps are split into more messages"
    yield from (f"note: {finding.describe()}" for finding in (*result.notes, *predicted))


def plan_lines(translation: TranslatedPlan, path: Path) -> list[str]:
    """The plan in numbers (`memory`, `port`: channels), and what was proved."""
    plan = translation.plan
    calls = "in-place" if plan.in_place else "out-of-place"
    rows = []
    for gpu in plan.gpus:
        lengths = [len(block.ops) for block in gpu.thread_blocks]
        channels = [len(gpu.peers(kind)) for kind in ("memory", "port")]
        row = (len(lengths), max(lengths, default=0), sum(lengths), *channels, len(gpu.semaphores), gpu.scratch_chunks)
        rows.append(row)
    return [
        f"{path}: {plan.collective} on {plan.num_ranks} ranks for MSCCL++ 0.9, {plan.protocol}, {calls} calls of "
        f"{format_limit(plan.min_message_size)} to {format_limit(plan.max_message_size)} in {plan.slots} chunks",
        *_ranks(_PLAN, rows),
        f"proved: {translation.proof.describe()}",
        *([f"assumed: {translation.proof.assumed}"] if translation.proof.assumed else []),
    ]


def bundle_lines(report: BundleReport, folder: Path) -> list[str]:
    """A row a file, the proofs in numbers, and what to do next."""
    bundle = report.bundle
    rows = []
    for file in bundle.files:
        first, last = file.predicted[0], file.predicted[-1]
        own = (None if one.schedule_ps is None else format_time(one.schedule_ps) for one in (first, last))
        rows.append(
            (
                *(file.path, file.call, format_limit(file.min_bytes), format_limit(file.max_bytes)),
                *(file.chunks, file.thread_blocks, f"{format_time(first.time_ps)} to {format_time(last.time_ps)}"),
                " to ".join(each or "-" for each in own),
            )
        )
    return [
        f"{folder}: {bundle.collective} on {bundle.ranks} ranks of {bundle.topology} for {bundle.runtime}",
        *text_table(_BUNDLE, rows, align="<" * len(_BUNDLE)),
        *report.remarks,
        f"proved: {report.proofs} executions, all sizes of the windows: no deadlock, no race, every contribution "
        "exactly once",
        f"run it: {folder}/run.sh; what, how and when not: {folder}/README.md",
    ]


def _candidates(candidates: Sequence[Candidate]) -> Iterator[str]:
    """What was tried; the first was taken. Of many others the best, and of those that do not fit one."""
    best, *others = candidates
    several = len({each.strategy.protocol for each in candidates}) > 1
    yield f"tried: {_strategy(best, several)}: {format_time(best.time_ps)} predicted, {_blocks(best)} (taken)"
    passed = [each for each in others if each.program is None and each.error is None]
    fitting = [each for each in others if each.error is None and each not in passed]
    for other in fitting[:_SHOWN]:
        yield f"       {_strategy(other, several)}: {format_time(other.time_ps)} predicted, {_blocks(other)}"
    if rest := fitting[_SHOWN:]:
        yield f"       {len(rest)} others: up to {format_time(max(each.time_ps for each in rest))} predicted"
    wrong = [each for each in others if each.error is not None]
    for other in wrong[:_SHOWN_WRONG]:
        yield f"       {_strategy(other, several)}: {str(other.error).splitlines()[0]}"
    if rest := wrong[_SHOWN_WRONG:]:
        yield f"       {len(rest)} others do not fit or cannot be proved either"
    if passed:
        least = min(each.time_ps for each in passed)
        why = f"which take {format_time(least)} or more on links and thread blocks"
        yield f"       not tried: {len(passed)} others, {why}"


def _strategy(candidate: Candidate, several: bool) -> str:
    """In words; `several`: protocols were tried."""
    strategy = candidate.strategy
    merged = f", {strategy.merged} chunks made one" * (strategy.merged > 1)
    paired = ", shared thread blocks" * strategy.paired
    protocol = f"{strategy.protocol}, " if several else ""
    instances = f", {strategy.instances} instances" * (strategy.instances > 1)
    return f"{protocol}channels {strategy.channels}, slots {strategy.slots}{instances}{merged}{paired}"


def _blocks(candidate: Candidate) -> str:
    return f"{candidate.thread_blocks} thread blocks of up to {candidate.steps} steps"


def _program_rows(program: Program) -> Iterator[tuple[int, ...]]:
    for gpu in program.gpus:
        lengths = [len(block.steps) for block in gpu.thread_blocks]
        channels = {block.channel for block in gpu.thread_blocks}
        yield len(lengths), max(lengths, default=0), sum(lengths), len(channels), gpu.scratch_chunks


def _ranks(titles: Sequence[str], rows: Iterable[tuple[int, ...]]) -> list[str]:
    """A table of what each rank runs; ranks that run alike share a row."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for rank, row in enumerate(rows):
        alike.setdefault(row, []).append(rank)
    return text_table(("ranks", *titles), [(spans(ranks), *row) for row, ranks in alike.items()], align="")
