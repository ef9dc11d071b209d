"""Rules of `<step>`: types, counts, places, dependencies, and what the parsers merge."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, StepType
from hocket.translator.columns import MAX_FUSED, RESIDUAL_ADD, TYPES, Columns
from hocket.translator.findings import Severity
from hocket.translator.profiles import Profile, ProfileName
from hocket.translator.rules.rule import Rule, block_rule, step_rule

__all__ = ["STEP_RULES"]

# The ends that the parsers look at, by type; of these they check the first chunk only.
_CHECKED = {
    "src": frozenset({"s", "rrs", "rrcs", "cpy", "re", RESIDUAL_ADD}),
    "dst": frozenset({"r", "rcs", "rrcs", "cpy", "re", RESIDUAL_ADD}),
}


def _type(columns: Columns, row: int) -> str:
    return TYPES[int(columns.type[row])]


def _fused(columns: Columns, profile: Profile) -> NDArray[np.bool_]:
    runs = [kind in profile.step_types for kind in StepType]
    return ~np.array([*runs, True, True])[columns.type]


def _lacks_peer(columns: Columns, _profile: Profile) -> NDArray[np.bool_]:
    send, receive = (columns.document.blocks.number(key)[columns.block] for key in ("send", "recv"))
    return (columns.sends & (send < 0)) | (columns.receives & (receive < 0))


def _outside(end: str, columns: Columns) -> NDArray[np.bool_]:
    """Steps of which some chunk at this end lies outside its buffer."""
    offset = columns.offset(end)
    return columns.uses(end) & ((offset < 0) | (offset + columns.count > columns.size(end)))


def _outside_grade(end: str, columns: Columns, row: int) -> Severity:
    offset = int(columns.offset(end)[row])
    seen = offset < -1 or offset >= columns.size(end)[row]
    return Severity.REJECT if seen and _type(columns, row) in _CHECKED[end] else Severity.WRONG


def _outside_rule(end: str) -> Rule:
    def message(columns: Columns, _profile: Profile, row: int) -> str:
        offset, count = int(columns.offset(end)[row]), int(columns.count[row])
        buffer = BUFFERS[int(columns.buffer(end)[row])]
        return (
            f"{end}: chunks {offset}..{offset + count - 1} are not all in buffer {buffer}, which has "
            f"{buffer}_chunks={columns.size(end)[row]} on this gpu"
        )

    return step_rule(
        f"{end} outside",
        lambda columns, _, row: _outside_grade(end, columns, row),
        lambda columns, _: _outside(end, columns),
        message,
        "stay inside, or declare more chunks",
        blocks=True,
    )


def _largest_number(columns: Columns) -> NDArray[np.int64]:
    """The largest `s` in each block; -1 in a block without steps."""
    largest = np.full(len(columns.document.blocks), -1, np.int64)
    np.maximum.at(largest, columns.block, columns.document.steps.number("s"))
    return largest


def _transfers(columns: Columns) -> NDArray[np.int64]:
    """The most entries that the parser makes of each block's steps in one of its tables."""
    tables = (columns.starts, columns.depend_block >= 0, columns.reduces)
    largest: NDArray[np.int64] = np.maximum.reduce([columns.per_block(table) for table in tables])
    return largest


def _depended(columns: Columns) -> NDArray[np.bool_]:
    """Steps that wait for a block that is there."""
    blocks = columns.num_blocks[columns.document.blocks.parent[columns.block]]
    return (columns.depend_block >= 0) & (columns.depend_block < blocks)


def _absent_step(columns: Columns, _profile: Profile) -> NDArray[np.bool_]:
    first = np.zeros(len(columns.document.gpus) + 1, np.int64)
    np.cumsum(columns.num_blocks, out=first[1:])
    parent = columns.document.blocks.parent
    order = np.lexsort((columns.block_id, parent))
    awaited = order[np.where(_depended(columns), first[parent[columns.block]] + columns.depend_block, 0)]
    absent = columns.depend_step >= columns.num_steps[awaited]
    return (_depended(columns) & absent) | ((columns.depend_block >= 0) & ~_depended(columns))


def _absent_message(columns: Columns, _profile: Profile, row: int) -> str:
    block, step = columns.depend_block[row], columns.depend_step[row]
    if not _depended(columns)[row]:
        return f'depid="{block}" is out of range: there is no such thread block on this gpu'
    return f'deps="{step}" is out of range: thread block {block} has no such step'


def _after_nop(columns: Columns) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Nops that carry a dependency, and the next real step after each step in its block (-1: none)."""
    real = np.append(np.flatnonzero(columns.real), -1)
    after = real[np.searchsorted(real[:-1], np.arange(len(columns.block)))]
    after = np.where(columns.block[after] == columns.block, after, -1) if len(after) else after
    return ~columns.real & (columns.depend_block >= 0), after


def _unguarded_send(columns: Columns, profile: Profile) -> NDArray[np.bool_]:
    over_ll = profile.name is ProfileName.RCCL and columns.document.algorithm.text("proto", 0) == "LL"
    sends: NDArray[np.bool_] = (columns.type == TYPES.index(StepType.SEND)) & (columns.has_dependents == 1)
    return sends & over_ll


def _last_nop(columns: Columns, _profile: Profile) -> NDArray[np.bool_]:
    nops, after = _after_nop(columns)
    return nops & (after < 0)


def _late_nop(columns: Columns, _profile: Profile) -> NDArray[np.bool_]:
    nops, after = _after_nop(columns)
    return nops & (after >= 0) & columns.continues[after]


def _unequal(columns: Columns, _profile: Profile) -> NDArray[np.bool_]:
    real = np.flatnonzero(columns.real)
    unequal = np.zeros(len(columns.block), bool)
    unequal[real[1:]] = columns.continues[real[1:]] & (columns.count[real[1:]] != columns.count[real[:-1]])
    return unequal


def _fused_sources(columns: Columns) -> NDArray[np.int64]:
    """Sources of the reduction that each step belongs to so far."""
    real = np.flatnonzero(columns.real)
    continues = columns.continues[real]
    at = np.arange(len(real))
    begun = np.maximum.accumulate(np.where(continues, -1, at)) if len(real) else at
    sources = np.ones(len(columns.block), np.int64)
    sources[real] = at - begun + 1
    return sources


STEP_RULES: list[Rule] = [
    block_rule(
        "step number",
        Severity.REJECT,
        lambda columns, profile: _largest_number(columns) >= profile.max_steps,
        lambda columns, profile, row: f"{_largest_number(columns)[row] + 1} steps, limit {profile.max_steps}",
        "use more channels or fewer chunks",
    ),
    step_rule(
        "negative number",
        Severity.REJECT,
        lambda columns, _: columns.document.steps.number("s") < 0,
        lambda columns, _, row: f's="{columns.document.steps.text("s", row)}" is negative',
        "number steps 0, 1, 2, ...",
        blocks=True,
    ),
    step_rule(
        "step order",
        Severity.SUSPECT,
        lambda columns, _: columns.document.steps.number("s") != columns.position,
        lambda columns, _, row: (
            f's="{columns.document.steps.text("s", row)}" is step {columns.position[row]} of its <tb>; the runtimes '
            "count positions"
        ),
        "number steps 0, 1, 2, ...",
    ),
    block_rule(
        "steps",
        Severity.REJECT,
        lambda columns, profile: (
            (_transfers(columns) > profile.max_steps) & (_largest_number(columns) < profile.max_steps)
        ),
        lambda columns, profile, row: (
            f"{_transfers(columns)[row]} steps, limit {profile.max_steps}: the parser writes beyond its tables"
        ),
        "use more channels or fewer chunks",
    ),
    step_rule(
        "fused step",
        Severity.REJECT,
        _fused,
        lambda columns, profile, row: (
            f"is a fused {_type(columns, row)}, which {profile.name} cannot run: its kernels are built without such"
        ),
        "translate its schedule anew",
    ),
    step_rule(
        "residual add",
        Severity.KERNEL,
        lambda columns, _: columns.type == TYPES.index(RESIDUAL_ADD),
        lambda *_: 'type="ra" is parsed, but the kernel has no code for it and leaves its thread block',
        "use re",
        blocks=True,
    ),
    step_rule(
        "peer",
        Severity.REJECT,
        _lacks_peer,
        lambda columns, _, row: (
            f'type="{_type(columns, row)}" {"sends" if columns.sends[row] else "receives"}, but its <tb> has '
            "no such peer"
        ),
        "give the <tb> send and recv",
        blocks=True,
    ),
    step_rule(
        "count",
        Severity.REJECT,
        lambda columns, profile: columns.real & ((columns.count < 0) | (columns.count > profile.max_count)),
        lambda columns, profile, row: f"moves {columns.count[row]} chunks, limit {profile.max_count}",
        "split the step",
    ),
    step_rule(
        "no chunks",
        lambda columns, profile, row: (
            Severity.REJECT
            if profile.checks_program and (columns.sends[row] or columns.receives[row])
            else Severity.WRONG
        ),
        lambda columns, _: columns.real & (columns.count < 1),
        lambda columns, _, row: f"moves {columns.count[row]} chunks (msccl crashes on a message of none)",
        "remove it",
        blocks=True,
    ),
    _outside_rule("src"),
    _outside_rule("dst"),
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
    step_rule(
        "merged counts",
        Severity.WRONG,
        _unequal,
        lambda columns, _, row: (
            "follows a reduction of another number of chunks into the same place; the runtimes make one reduction of "
            f'both, of cnt="{columns.count[row]}"'
        ),
        "give both the same cnt",
        blocks=True,
    ),
    step_rule(
        "merged sources",
        Severity.WRONG,
        lambda columns, _: _fused_sources(columns) > MAX_FUSED,
        lambda columns, *_: (
            f"is source {MAX_FUSED + 1} of one reduction; the kernels have room for {MAX_FUSED}, the parsers cut only "
            f"after the {MAX_FUSED}th of a thread block"
        ),
        "set hasdep on every 16th reduction",
    ),
]
