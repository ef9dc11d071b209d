"""The rules of MSCCL XML and of each runtime, as tables."""

from collections.abc import Iterator

from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.document import Document
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.rules.algorithm import (
    ALGORITHM_RULES,
    FEWER_BLOCKS,
    GPU_RULES,
    MAX_CHUNKS,
    TOO_MANY_BLOCKS,
    window,
)
from hocket.translator.msccl.rules.attributes import name_findings, presence_findings
from hocket.translator.msccl.rules.blocks import BLOCK_RULES
from hocket.translator.msccl.rules.dependencies import DEPENDENCY_RULES
from hocket.translator.msccl.rules.markup import markup_findings
from hocket.translator.msccl.rules.steps import STEP_RULES
from hocket.translator.msccl.rules.sums import SUM_RULES

__all__ = ["FEWER_BLOCKS", "MAX_CHUNKS", "TOO_MANY_BLOCKS", "check", "window"]


def check(document: Document, profile: Profile) -> Iterator[tuple[Finding, bool]]:
    """Everything that breaks a rule of a runtime, and whether nothing can be executed of a program that breaks it.

    Ends after a group of rules of which one is broken that the next group relies on.
    """
    found = [(finding, finding.severity == Severity.REJECT) for finding in markup_findings(document, profile)]
    yield from found
    if any(blocks for _, blocks in found):
        return
    found = list(presence_findings(document, profile))
    yield from found
    if any(blocks for _, blocks in found):
        return
    columns = DocumentColumns(document)
    names = list(name_findings(columns, profile))
    yield from names
    for rules in (ALGORITHM_RULES, GPU_RULES, BLOCK_RULES, [*STEP_RULES, *DEPENDENCY_RULES, *SUM_RULES]):
        found = [(finding, rule.blocks) for rule in rules for finding in rule.findings(columns, profile)]
        yield from found
        if any(blocks and finding.severity == Severity.REJECT for finding, blocks in found):
            return
