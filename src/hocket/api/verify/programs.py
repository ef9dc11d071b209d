"""Verification of programs: an MSCCL XML, one of no runtime, and an MSCCL++ plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hocket.api.provenance import write_page
from hocket.api.reading import one_of
from hocket.api.verify.request import Verification
from hocket.api.verify.result import VerificationResult
from hocket.base.errors import DeadlockError, FormatError, RequestError, ScheduleError
from hocket.base.files import together, write_json
from hocket.base.text_table import text_table
from hocket.base.units import format_limit
from hocket.report.plan_page import plan_page
from hocket.report.program_page import program_page
from hocket.schedule import FIFO_DEPTH, Kind, Program, Proof, execute, execute_switches
from hocket.translator import (
    PROFILES,
    UNLIMITED,
    Judgement,
    Severity,
    Verdict,
    judge,
    read_file,
    read_program,
    read_switch_program,
)
from hocket.translator.msccl.judge import EXECUTION
from hocket.translator.msccl.residency import MULTIPROCESSORS
from hocket.translator.msccl.slices import least_count
from hocket.translator.mscclpp import PLAN_RUNTIME, PlanJudgement, PlanProof, judge_plan

__all__ = ["verify_plan", "verify_program", "verify_switches", "verify_xml"]


def verify_program(request: Verification, file: Path) -> VerificationResult:
    """Executes a program of no runtime symbolically."""
    program = read_program(file)
    lines = [_described(file, program)]
    try:
        # the smallest messages wait the most: what holds for them holds for all
        depth = request.fifo_depth or FIFO_DEPTH[program.protocol]
        proof = execute(program, fifo_depth=depth, max_count=least_count(program, UNLIMITED))
    except (ScheduleError, DeadlockError) as error:
        return VerificationResult(request, lines, [str(error)])
    return VerificationResult(request, [*lines, f"proved: {proof.describe()}"])


def verify_switches(request: Verification, file: Path) -> VerificationResult:
    """Executes a program over switches symbolically, by its kernel's table."""
    program = read_switch_program(file)
    chunks = f"{program.chunks_per_loop} chunks, {len(program.runs)} runs of chunks of one head"
    lines = [f"{file}: {program.kind} on {program.num_ranks} ranks over switches in {chunks}"]
    try:
        proof = execute_switches(program)
    except ScheduleError as error:
        return VerificationResult(request, lines, [str(error)])
    return VerificationResult(request, [*lines, f"proved: {proof.describe()}"])


def verify_xml(request: Verification, file: Path) -> VerificationResult:
    """Judges the file for the runtime (`all`: each must run it; None: one of them must). Raises FormatError when it is
    no MSCCL XML."""
    runtime = request.runtime
    if runtime is not None:
        one_of("--runtime", runtime, [*PROFILES, "all"])
    if request.gpu is not None:
        one_of("--gpu", request.gpu, MULTIPROCESSORS)
    names = list(PROFILES) if runtime in (None, "all") else [runtime]
    document = read_file(file)
    judgements = [
        judge(document, name, root=request.root, fifo_depth=request.fifo_depth, gpu=request.gpu) for name in names
    ]
    good = [judgement.good for judgement in judgements]
    outcomes = dict.fromkeys(outcome for one in judgements for outcome in (one.outcome, one.above))
    result = VerificationResult(
        request,
        [*_xml_lines(file, judgements), *_written(request)],
        [outcome.text for outcome in outcomes if not isinstance(outcome, Proof | None)],
        proved=any(good) if runtime is None else all(good),
        judgements=judgements,
    )
    _write(request, result, lambda: program_page(str(file), judgements))
    if not judgements[0].readable:
        finding = judgements[0].findings[0]
        raise FormatError(f"{file}:{finding.line}: {finding.message}; {finding.remedy}")
    return result


def verify_plan(request: Verification, file: Path) -> VerificationResult:
    """Judges an MSCCL++ plan. Raises FormatError when it is none."""
    if request.runtime is not None:
        one_of("--runtime", request.runtime, [PLAN_RUNTIME, "all"])
    if request.gpu is not None:
        one_of("--gpu", request.gpu, MULTIPROCESSORS)
    judgement = judge_plan(file, root=request.root or 0, gpu=request.gpu)
    plan = judgement.plan
    if plan is not None and plan.kind is Kind.BROADCAST and request.root is None:
        raise RequestError(f"{file} does not say the root of its broadcast: give --root")
    result = VerificationResult(
        request,
        [*_plan_lines(file, judgement), *_written(request)],
        judgement.reasons,
        proved=judgement.good,
        judgements=[judgement],
    )
    _write(request, result, lambda: plan_page(str(file), judgement))
    if plan is None:
        raise FormatError(judgement.reasons[0])
    return result


def _written(request: Verification) -> list[str]:
    return [f"written {request.explain}"] if request.explain is not None else []


def _write(request: Verification, result: VerificationResult, page: Callable[[], str]) -> None:
    with together():
        if request.json is not None:
            write_json(request.json, result.as_json())
        if request.explain is not None:
            write_page(request.explain, page(), result)


def _described(file: Path, program: Program) -> str:
    chunks = f"{program.chunks_per_loop} chunks, {program.protocol}"
    return f"{file}: {program.kind} on {program.num_ranks} ranks in {chunks}"


def _plan_lines(file: Path, judgement: PlanJudgement) -> Iterator[str]:
    plan, outcome = judgement.plan, judgement.outcome
    if plan is not None:
        chunks = f"{plan.slots} chunks, MSCCL++ {plan.protocol}"
        yield f"{file}: {plan.collective} on {plan.num_ranks} ranks in {chunks}"
    if isinstance(outcome, PlanProof):
        yield f"proved: {outcome.describe()}"
        if outcome.assumed:
            yield f"assumed: {outcome.assumed}"
    yield from (f"note: {note}" for note in judgement.notes)


def _xml_lines(file: Path, judgements: Sequence[Judgement]) -> Iterator[str]:
    program = next((one.program for one in judgements if one.program is not None), None)
    if program is not None:
        yield _described(file, program)
    heads = ("runtime", "parser", "runs", "correct", "selected", "largest safe size")
    yield from text_table(heads, map(_row, judgements), align="<" * len(heads))
    reasons: dict[str, list[str]] = {}
    for one in judgements:
        for finding in one.findings:
            if finding.rule != EXECUTION:
                note = "note: " if finding.severity == Severity.NOTE else ""
                reasons.setdefault(note + finding.describe(), []).append(str(one.runtime))
    yield from (f"{', '.join(names)}: {reason}" for reason, names in reasons.items())
    outcomes = dict.fromkeys(outcome for one in judgements for outcome in (one.outcome, one.above))
    yield from (f"proved: {outcome.describe()}" for outcome in outcomes if isinstance(outcome, Proof))


def _row(one: Judgement) -> tuple[str, ...]:
    safe = "any" if one.largest_safe_bytes is None else format_limit(one.largest_safe_bytes)
    correct = "yes" if one.correct else "no"
    if isinstance(one.outcome, Proof) and one.correct and not one.outcome.values:
        correct += ", values not checked"
    selected = "-" if one.verdict == Verdict.REJECT else "yes" if one.selectable else "no"
    return one.runtime, f"{one.verdict}s", "yes" if one.runnable else "no", correct, selected, safe
