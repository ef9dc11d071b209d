"""What MSCCL++ does with a plan's file: loads it, runs it, gets it right, up to which size."""

from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.units import format_limit
from hocket.schedule import Counterexample
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.judge import EXECUTION, Verdict
from hocket.translator.msccl.residency import residency_findings
from hocket.translator.mscclpp.limits import check_plan_limits, loader_refuses
from hocket.translator.mscclpp.plan import ExecutionPlan
from hocket.translator.mscclpp.read import read_plan
from hocket.translator.mscclpp.verify import PlanProof, PlanRefutation, attempt_plan

__all__ = ["PLAN_RUNTIME", "PlanJudgement", "judge_plan"]

#: The name of the runtime among those of MSCCL XML.
PLAN_RUNTIME = "mscclpp"


@dataclass(frozen=True, slots=True)
class PlanJudgement:
    """What MSCCL++ 0.9 does with a plan, in the terms of `hocket.translator.Judgement`.

    `verdict`: of its loader; `runnable`: within the limits of its kernels too. `correct`: right for the smallest
    messages; `largest_safe_bytes`: the largest in the plan's window for which that is proved (0: none). `selectable`:
    some size in the window is a whole number of aligned chunks; `safe`: all in the window are right. `plan`: None where
    the file is none; `outcome`: its proof, or why it is wrong.
    """

    verdict: Verdict
    runnable: bool
    correct: bool
    selectable: bool
    safe: bool
    largest_safe_bytes: int
    findings: tuple[Finding, ...]
    plan: ExecutionPlan | None
    outcome: PlanProof | Counterexample | None
    runtime: str = PLAN_RUNTIME

    @property
    def good(self) -> bool:
        """Whether the runtime loads the plan, can use it, and gets it right at every size in its window."""
        return self.runnable and self.correct and self.selectable and self.safe

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not good."""
        return tuple(finding.describe() for finding in self.findings if finding.severity is not Severity.NOTE)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is good to know."""
        return tuple(finding.describe() for finding in self.findings if finding.severity is Severity.NOTE)


def judge_plan(path: Path | str, *, root: int = 0, gpu: str | None = None) -> PlanJudgement:
    """Judges a plan's file; `root` matters for broadcast only. `gpu`: where all thread blocks must be resident
    (`residency.MULTIPROCESSORS`; another raises ScheduleError). Never raises for what is in the file.
    """
    try:
        plan = read_plan(path)
    except FormatError as error:
        return PlanJudgement(
            Verdict.REJECT, False, False, False, False, 0, (_finding(Severity.REJECT, error),), None, None
        )
    findings: list[Finding] = []
    try:
        check_plan_limits(plan)
    except ScheduleError as error:
        refused = loader_refuses(plan)
        findings.append(_finding(Severity.REJECT if refused else Severity.KERNEL, error))
        return PlanJudgement(
            Verdict.REJECT if refused else Verdict.ACCEPT, False, False, True, False, 0, tuple(findings), plan, None
        )
    findings += residency_findings([len(one.thread_blocks) for one in plan.gpus], PLAN_RUNTIME, gpu)
    outcome = attempt_plan(plan, root=root)
    if isinstance(outcome, PlanRefutation):
        safe, seen = outcome.largest_safe_bytes, outcome.counterexample
        findings.append(_finding(Severity.SIZE if safe else Severity.WRONG, seen.text))
        return _judged(plan, safe, False, seen, findings)
    return _judged(plan, outcome.largest_bytes, True, outcome, findings)


def _judged(
    plan: ExecutionPlan, largest_safe: int, safe: bool, outcome: PlanProof | Counterexample, findings: list[Finding]
) -> PlanJudgement:
    unit = plan.slots * plan.buffer_alignment
    selectable = plan.max_message_size // unit * unit >= max(plan.min_message_size, 1)
    if not selectable:
        window = f"{format_limit(plan.min_message_size)} to {format_limit(plan.max_message_size)}"
        text = f"no size of {window} is a multiple of its {plan.slots} chunks of {plan.buffer_alignment} B: widen it"
        findings.append(_finding(Severity.SIZE, text))
    resident = all(finding.severity is not Severity.KERNEL for finding in findings)
    return PlanJudgement(
        Verdict.ACCEPT, resident, largest_safe > 0, selectable, safe, largest_safe, tuple(findings), plan, outcome
    )


def _finding(severity: Severity, reason: object) -> Finding:
    return Finding(
        EXECUTION if severity in (Severity.WRONG, Severity.SIZE) else "plan", severity, 0, "", str(reason), ""
    )
