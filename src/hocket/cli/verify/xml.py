"""`hocket verify` of an MSCCL XML: what each runtime does with it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from hocket.translator import Judgement

__all__ = ["verify_xml"]


def verify_xml(
    file: Path,
    runtime: str | None,
    *,
    root: int | None,
    fifo_depth: int | None,
    gpu: str | None,
    json_path: Path | None,
    page: Path | None,
) -> None:
    """Judges the file for the runtime (`all`: each must run it; None: one of them must), prints and writes the result.

    Raises typer.Exit with the exit code when it is not good, FormatError when it is no MSCCL XML.
    """
    from hocket.base.errors import ExitCode, FormatError
    from hocket.base.files import atomic_write
    from hocket.cli.options import one_of
    from hocket.cli.verify.json import write_verdicts
    from hocket.translator import PROFILES, judge, read_file
    from hocket.translator.msccl.residency import MULTIPROCESSORS

    if runtime is not None:
        one_of("--runtime", runtime, [*PROFILES, "all"])
    if gpu is not None:
        one_of("--gpu", gpu, MULTIPROCESSORS)
    names = list(PROFILES) if runtime in (None, "all") else [runtime]
    document = read_file(file)
    judgements = [judge(document, name, root=root, fifo_depth=fifo_depth, gpu=gpu) for name in names]
    if json_path is not None:
        write_verdicts(file, judgements, json_path)
    if page is not None:
        from hocket.report.program_page import program_page

        with atomic_write(page) as output:
            output.write(program_page(str(file), judgements))
    if not judgements[0].readable:
        finding = judgements[0].findings[0]
        raise FormatError(f"{file}:{finding.line}: {finding.message}; {finding.remedy}")
    _print(file, judgements, page)
    good = [judgement.good for judgement in judgements]
    if not (any(good) if runtime is None else all(good)):
        raise typer.Exit(ExitCode.CHECK_FAILED)


def _print(file: Path, judgements: "Sequence[Judgement]", page: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from hocket.base.units import format_limit
    from hocket.schedule import Proof
    from hocket.translator import Severity, Verdict
    from hocket.translator.msccl.judge import EXECUTION

    program = next((one.program for one in judgements if one.program is not None), None)
    if program is not None:
        typer.echo(
            f"{file}: {program.kind} on {program.num_ranks} ranks in {program.chunks_per_loop} chunks, "
            f"{program.protocol}"
        )
    table = Table(box=None, pad_edge=False)
    for title in ("runtime", "parser", "runs", "correct", "selected", "largest safe size"):
        table.add_column(title)
    for one in judgements:
        safe = "any" if one.largest_safe_bytes is None else format_limit(one.largest_safe_bytes)
        correct = "yes" if one.correct else "no"
        if isinstance(one.outcome, Proof) and one.correct and not one.outcome.values:
            correct += ", values not checked"
        selected = "-" if one.verdict == Verdict.REJECT else "yes" if one.selectable else "no"
        table.add_row(one.runtime, f"{one.verdict}s", "yes" if one.runnable else "no", correct, selected, safe)
    Console().print(table)
    reasons: dict[str, list[str]] = {}
    for one in judgements:
        for finding in one.findings:
            if finding.rule != EXECUTION:
                note = "note: " if finding.severity == Severity.NOTE else ""
                reasons.setdefault(note + finding.describe(), []).append(str(one.runtime))
    for reason, names in reasons.items():
        typer.echo(f"{', '.join(names)}: {reason}")
    for outcome in dict.fromkeys(outcome for one in judgements for outcome in (one.outcome, one.above)):
        if isinstance(outcome, Proof):
            typer.echo(f"proved: {outcome.describe()}")
        elif outcome is not None:
            typer.echo(f"NOT PROVED: {outcome.text}", err=True)
    if page is not None:
        typer.echo(f"written {page}")
