"""What a rule is: which elements break it, for which runtime, and what is said of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.translator.msccl.columns import DocumentColumns
from hocket.translator.msccl.document import ElementTable
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profile import Profile

__all__ = ["Rule", "algorithm_rule", "block_rule", "gpu_rule", "step_rule"]

#: Which rows of a table break a rule, for one runtime.
Broken = Callable[[DocumentColumns, Profile], NDArray[np.bool_]]
#: What is wrong with one row.
Message = Callable[[DocumentColumns, Profile, int], str]
#: The severity, where it depends on the row or the runtime.
Grade = Callable[[DocumentColumns, Profile, int], Severity]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule over one table of a document. With `blocks`, a program that breaks it cannot even be executed.

    `tag` is the element's name; `place` is empty where the tag says enough.
    """

    name: str
    severity: Severity | Grade
    tag: str
    table: Callable[[DocumentColumns], ElementTable]
    place: Callable[[DocumentColumns, int], str]
    broken: Broken
    message: Message
    remedy: str
    blocks: bool

    def findings(self, columns: DocumentColumns, profile: Profile) -> Iterator[Finding]:
        """The first row of each severity that breaks the rule, and how many more do."""
        rows = np.flatnonzero(self.broken(columns, profile)).tolist()
        graded: dict[Severity, list[int]] = {}
        for row in rows:
            severity = self.severity if isinstance(self.severity, Severity) else self.severity(columns, profile, row)
            graded.setdefault(severity, []).append(row)
            if isinstance(self.severity, Severity):
                graded[severity] = rows
                break
        for severity, found in graded.items():
            first = found[0]
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            start = columns.document.start[self.table(columns).rows[first]]
            place = " ".join(part for part in (f"<{self.tag}>", self.place(columns, first)) if part)
            message = self.message(columns, profile, first) + more
            yield Finding(self.name, severity, columns.document.line(int(start)), place, message, self.remedy)


def _algorithm(columns: DocumentColumns) -> ElementTable:
    return columns.document.algorithm


def algorithm_rule(
    name: str,
    severity: Severity | Grade,
    broken: Callable[[DocumentColumns, Profile], bool],
    message: Message,
    remedy: str,
    blocks: bool = False,
) -> Rule:
    return Rule(
        name,
        severity,
        "algo",
        _algorithm,
        lambda _columns, _row: "",
        lambda columns, profile: np.array([broken(columns, profile)]),
        message,
        remedy,
        blocks,
    )


def gpu_rule(
    name: str, severity: Severity | Grade, broken: Broken, message: Message, remedy: str, blocks: bool = False
) -> Rule:
    return Rule(
        name,
        severity,
        "gpu",
        lambda columns: columns.document.gpus,
        lambda columns, row: f"rank {columns.gpu_rank[row]}",
        broken,
        message,
        remedy,
        blocks,
    )


def block_rule(
    name: str, severity: Severity | Grade, broken: Broken, message: Message, remedy: str, blocks: bool = False
) -> Rule:
    return Rule(
        name, severity, "tb", lambda columns: columns.document.blocks, _block_place, broken, message, remedy, blocks
    )


def step_rule(
    name: str, severity: Severity | Grade, broken: Broken, message: Message, remedy: str, blocks: bool = False
) -> Rule:
    return Rule(
        name,
        severity,
        "step",
        lambda columns: columns.document.steps,
        lambda columns, row: f"{_block_place(columns, int(columns.block[row]))} step {columns.position[row]}",
        broken,
        message,
        remedy,
        blocks,
    )


def _block_place(columns: DocumentColumns, row: int) -> str:
    return f"rank {columns.rank[row]} thread block {columns.block_id[row]}"
