"""`hocket verify` of an MSCCL++ plan: what the runtime does with it."""

from pathlib import Path

import typer

from hocket.base.errors import ExitCode, FormatError
from hocket.base.files import atomic_write
from hocket.cli.options import one_of
from hocket.cli.verify.json import write_verdicts
from hocket.schedule import Kind
from hocket.translator.msccl.residency import MULTIPROCESSORS
from hocket.translator.mscclpp import PLAN_RUNTIME, PlanProof, judge_plan

__all__ = ["verify_plan"]


def verify_plan(
    file: Path, runtime: str | None, *, root: int | None, gpu: str | None, json_path: Path | None, page: Path | None
) -> None:
    """Judges the plan, prints and writes the result. Raises typer.Exit with the exit code when it is not good,
    FormatError when it is no plan."""
    if runtime is not None:
        one_of("--runtime", runtime, [PLAN_RUNTIME, "all"])
    if gpu is not None:
        one_of("--gpu", gpu, MULTIPROCESSORS)
    judgement = judge_plan(file, root=root or 0, gpu=gpu)
    plan = judgement.plan
    if plan is not None and plan.kind is Kind.BROADCAST and root is None:
        raise typer.BadParameter(f"{file} does not say the root of its broadcast: give --root")
    if json_path is not None:
        write_verdicts(file, [judgement], json_path)
    if page is not None:
        from hocket.report.plan_page import plan_page

        with atomic_write(page) as output:
            output.write(plan_page(str(file), judgement))
    if plan is None:
        raise FormatError(judgement.reasons[0])
    typer.echo(f"{file}: {plan.collective} on {plan.num_ranks} ranks in {plan.slots} chunks, MSCCL++ {plan.protocol}")
    outcome = judgement.outcome
    if isinstance(outcome, PlanProof):
        typer.echo(f"proved: {outcome.describe()}")
        if outcome.assumed:
            typer.echo(f"assumed: {outcome.assumed}")
    for note in judgement.notes:
        typer.echo(f"note: {note}")
    for reason in judgement.reasons:
        typer.echo(f"NOT PROVED: {reason}", err=True)
    if page is not None:
        typer.echo(f"written {page}")
    if not judgement.good:
        raise typer.Exit(ExitCode.CHECK_FAILED)
