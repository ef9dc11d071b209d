"""Rules of what a `<step>` waits for, by itself and by the nops before it."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import StepType
from hocket.translator.msccl.columns import TYPES, DocumentColumns
from hocket.translator.msccl.findings import Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.rules.rule import Rule, step_rule

__all__ = ["DEPENDENCY_RULES"]


def _unguarded_send(columns: DocumentColumns, profile: Profile) -> NDArray[np.bool_]:
    over_ll = profile.ll_sends_early and columns.document.algorithm.text("proto", 0) == "LL"
    sends: NDArray[np.bool_] = (columns.type == TYPES.index(StepType.SEND)) & (columns.has_dependents == 1)
    return sends & over_ll


def _depended(columns: DocumentColumns) -> NDArray[np.bool_]:
    """Steps that wait for a block that is there."""
    blocks = columns.num_blocks[columns.document.blocks.parent[columns.block]]
    return (columns.depend_block >= 0) & (columns.depend_block < blocks)


def _absent_step(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    first = np.zeros(len(columns.document.gpus) + 1, np.int64)
    np.cumsum(columns.num_blocks, out=first[1:])
    parent = columns.document.blocks.parent
    order = np.lexsort((columns.block_id, parent))
    awaited = order[np.where(_depended(columns), first[parent[columns.block]] + columns.depend_block, 0)]
    absent = columns.depend_step >= columns.num_steps[awaited]
    return (_depended(columns) & absent) | ((columns.depend_block >= 0) & ~_depended(columns))


def _absent_message(columns: DocumentColumns, _profile: Profile, row: int) -> str:
    block, step = columns.depend_block[row], columns.depend_step[row]
    if not _depended(columns)[row]:
        return f'depid="{block}" is out of range: there is no such thread block on this gpu'
    return f'deps="{step}" is out of range: thread block {block} has no such step'


def _after_nop(columns: DocumentColumns) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Nops that carry a dependency, and the next real step after each step in its block (-1: none)."""
    real = np.append(np.flatnonzero(columns.real), -1)
    after = real[np.searchsorted(real[:-1], np.arange(len(columns.block)))]
    after = np.where(columns.block[after] == columns.block, after, -1) if len(after) else after
    return ~columns.real & (columns.depend_block >= 0), after


def _last_nop(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    nops, after = _after_nop(columns)
    return nops & (after < 0)


def _late_nop(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    nops, after = _after_nop(columns)
    return nops & (after >= 0) & columns.continues[after]


DEPENDENCY_RULES: list[Rule] = [
    step_rule(
        "hasdep",
        Severity.REJECT,
        lambda columns, _: columns.real & ~np.isin(columns.has_dependents, (0, 1)),
        lambda columns, _, row: f'hasdep="{columns.has_dependents[row]}" is neither 0 nor 1',
        "write 0 or 1",
        blocks=True,
    ),
    step_rule(
        "unguarded send",
        Severity.NOTE,
        _unguarded_send,
        lambda *_: (
            "is a send over LL that others wait for: RCCL's kernels have no barrier after it (told from their source, "
            "not tried), so that what is overwritten next may not have been read by all threads"
        ),
        "use Simple where it matters",
    ),
    step_rule(
        "nop",
        Severity.REJECT,
        lambda columns, _: columns.starts & (columns.depend_block < 0) & (columns.pending > 0),
        lambda *_: (
            "waits for nothing itself, but follows a nop without a step with a dependency after it: the runtimes fold "
            "nops into a step that waits"
        ),
        "give it the last dependency",
        blocks=True,
    ),
    step_rule(
        "late nop",
        Severity.WRONG,
        _late_nop,
        lambda *_: "is a nop before one more source of a reduction: the parsers move what it waits for behind them",
        "put it before the first of them",
        blocks=True,
    ),
    step_rule(
        "last nop",
        Severity.SUSPECT,
        _last_nop,
        lambda *_: "is a nop without a step after it: the parsers drop it",
        "put it before the step that must wait",
    ),
    step_rule(
        "absent dependency",
        Severity.WRONG,
        _absent_step,
        _absent_message,
        "wait for a step of this gpu",
        blocks=True,
    ),
    step_rule(
        "dependency",
        Severity.SUSPECT,
        lambda columns, _: (
            ((columns.depend_block < 0) != (columns.depend_step < 0))
            | (columns.depend_block < -1)
            | (~columns.real & (columns.depend_block < 0))
        ),
        lambda columns, *_: "needs both depid and deps, or -1 for both (a nop both)",
        "write both",
    ),
    step_rule(
        "far dependency",
        Severity.WRONG,
        lambda columns, profile: columns.depend_block > profile.max_dependency_block,
        lambda columns, profile, row: (
            f"waits for thread block {columns.depend_block[row]}, limit {profile.max_dependency_block}: the number is "
            "kept in 8 bits"
        ),
        "use fewer thread blocks",
    ),
]
