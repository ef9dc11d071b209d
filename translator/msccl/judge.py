"""What a runtime does with an MSCCL XML: loads it, runs it, gets it right, up to which size."""

from dataclasses import dataclass, replace
from functools import lru_cache

from hocket.base.enums import StrEnum
from hocket.base.errors import FormatError, ScheduleError
from hocket.base.units import format_bytes
from hocket.schedule import Counterexample, Program, Proof, attempt, least_safe_count
from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.document import Document
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.residency import residency_findings
from hocket.translator.msccl.rules import check, window
from hocket.translator.msccl.slices import largest_of_count
from hocket.translator.msccl.xml_read import build

__all__ = ["EXECUTION", "Judgement", "Verdict", "judge"]

_UNSELECTED = frozenset({"selection", "calls", "in-place alltoall"})
_UNSAFE = "size"
#: The rule of what an execution finds.
EXECUTION = "execution"
_UNREADABLE = frozenset({"markup", "algorithm"})


class Verdict(StrEnum):
    """What a runtime's parser answers when every rank loads the file."""

    ACCEPT = "accept"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one runtime does with a file.

    `verdict`: of its parser; a file on which it crashes counts as rejected. `runnable`: it is accepted, and the
    kernels can run it. `correct`: the program computes its collective in every call it declares, without race or
    deadlock, with the connections of its protocol and messages of whole steps. `selectable`: some call selects it.
    `largest_safe_bytes`: the largest buffer for which it cannot deadlock (None: any; 0: none, or nothing to execute).
    `program`: what the kernels run, None where the file does not say; `outcome`: of its execution,
    `above`: of one with messages as small as above the largest safe size.
    `safe`: every size that selects the file is one of those.
    """

    runtime: str
    verdict: Verdict
    runnable: bool
    correct: bool
    selectable: bool
    safe: bool
    largest_safe_bytes: int | None
    findings: tuple[Finding, ...]
    program: Program | None
    outcome: Proof | Counterexample | None
    above: Proof | Counterexample | None

    @property
    def good(self) -> bool:
        """Whether the runtime loads the file, uses it, runs it and gets it right at every size that selects it."""
        accepted = self.verdict == Verdict.ACCEPT
        return accepted and self.runnable and self.correct and self.selectable and self.safe

    @property
    def readable(self) -> bool:
        """Whether the file is MSCCL XML at all."""
        return not any(finding.rule in _UNREADABLE for finding in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not good, and what is read otherwise than written."""
        return tuple(finding.describe() for finding in self.findings if finding.severity != Severity.NOTE)


def judge(
    document: Document,
    runtime: str | Profile,
    *,
    root: int | None = None,
    fifo_depth: int | None = None,
    gpu: str | None = None,
) -> Judgement:
    """Judges a document for one runtime. `fifo_depth`: instead of the protocol's; `gpu`: on which all thread blocks
    must be resident (`residency.MULTIPROCESSORS`; another raises ScheduleError). Never raises for what is in the file.
    """
    profile = find_profile(runtime)
    checked = list(check(document, profile))
    findings = [finding for finding, _ in checked]
    program: Program | None = None
    outcome: Proof | Counterexample | None = None
    above: Proof | Counterexample | None = None
    largest: int | None = 0
    if not any(blocks for _, blocks in checked):
        columns = DocumentColumns(document)
        try:
            program = build(columns, profile, root)
        except FormatError as error:
            findings.append(Finding(EXECUTION, Severity.WRONG, 0, "", str(error), ""))
    if program is not None:
        if profile.checks_program:  # it does not read outofplace
            program = replace(program, out_of_place=not program.in_place)
        depth = profile.protocols[program.protocol].fifo_depth if fifo_depth is None else fifo_depth
        outcome, least, above = _execution(replace(program, name="", min_bytes=0, max_bytes=0), depth)
        if not isinstance(outcome, Proof):
            findings.append(Finding(EXECUTION, Severity.WRONG, 0, "", outcome.text, ""))
        largest = _largest_safe_bytes(program, profile, least)
        findings += _size_findings(window(columns, profile)[1], largest)
        findings += residency_findings([len(one.thread_blocks) for one in program.gpus], profile.name, gpu)
    severities = {finding.severity for finding in findings}
    accepted = Severity.REJECT not in severities
    return Judgement(
        runtime=profile.name,
        verdict=Verdict.ACCEPT if accepted else Verdict.REJECT,
        runnable=accepted and Severity.KERNEL not in severities,
        correct=program is not None and Severity.WRONG not in severities,
        selectable=not any(finding.rule in _UNSELECTED for finding in findings),
        largest_safe_bytes=largest,
        safe=not any(finding.rule == _UNSAFE for finding in findings),
        findings=tuple(findings),
        program=program,
        outcome=outcome,
        above=above,
    )


@lru_cache(maxsize=2)
def _execution(
    program: Program, fifo_depth: int
) -> tuple[Proof | Counterexample, int | None, Proof | Counterexample | None]:
    """What whole steps make of it, the least safe number of chunks in a message, and what one less does; kept, as most
    runtimes execute the same."""
    outcome = _outcome(program, fifo_depth)
    least = _least_safe_count(program, fifo_depth)
    return outcome, least, _outcome(program, fifo_depth, least - 1) if least and least > 1 else None


def _outcome(program: Program, fifo_depth: int, max_count: int | None = None) -> Proof | Counterexample:
    try:
        return attempt(program, fifo_depth=fifo_depth, max_count=max_count)
    except ScheduleError as error:  # its structure is broken
        return Counterexample(str(error), ())


def _least_safe_count(program: Program, fifo_depth: int) -> int | None:
    try:
        return least_safe_count(program, fifo_depth=fifo_depth)
    except ScheduleError:
        return None


def _largest_safe_bytes(program: Program, profile: Profile, least: int | None) -> int | None:
    """The largest buffer for which no connection overflows into a deadlock; None: any, 0: none."""
    if least is None or least == 1:
        return None if least else 0
    return largest_of_count(program, profile, least)


def _size_findings(largest_selected: int | None, largest_safe: int | None) -> list[Finding]:
    """Sizes that select the file and deadlock."""
    if not largest_safe or (largest_selected is not None and largest_selected <= largest_safe):
        return []
    message = (
        f"deadlocks above {format_bytes(largest_safe)} ({largest_safe} bytes): there its steps need more messages than "
        "a connection holds"
    )
    return [Finding(_UNSAFE, Severity.SIZE, 0, "", message, f'write maxBytes="{largest_safe}" or less')]
