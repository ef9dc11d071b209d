"""Rules of `<step>`: numbers, types, counts and places."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule import BUFFERS, StepType
from hocket.translator.msccl.columns import RESIDUAL_ADD, TYPES, DocumentColumns
from hocket.translator.msccl.findings import Severity
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.rules.rule import Rule, block_rule, step_rule

__all__ = ["STEP_RULES"]

# The ends that the parsers look at, by type; of these they check the first chunk only.
_CHECKED = {
    "src": frozenset({"s", "rrs", "rrcs", "cpy", "re", RESIDUAL_ADD}),
    "dst": frozenset({"r", "rcs", "rrcs", "cpy", "re", RESIDUAL_ADD}),
}


def _type(columns: DocumentColumns, row: int) -> str:
    return TYPES[int(columns.type[row])]


def _fused(columns: DocumentColumns, profile: Profile) -> NDArray[np.bool_]:
    runs = [kind in profile.step_types for kind in StepType]
    return ~np.array([*runs, True, True])[columns.type]


def _lacks_peer(columns: DocumentColumns, _profile: Profile) -> NDArray[np.bool_]:
    send, receive = (columns.document.blocks.number(key)[columns.block] for key in ("send", "recv"))
    return (columns.sends & (send < 0)) | (columns.receives & (receive < 0))


def _outside(end: str, columns: DocumentColumns) -> NDArray[np.bool_]:
    """Steps of which some chunk at this end lies outside its buffer."""
    offset = columns.offset(end)
    return columns.uses(end) & ((offset < 0) | (offset + columns.count > columns.size(end)))


def _outside_grade(end: str, columns: DocumentColumns, row: int) -> Severity:
    offset = int(columns.offset(end)[row])
    seen = offset < -1 or offset >= columns.size(end)[row]
    return Severity.REJECT if seen and _type(columns, row) in _CHECKED[end] else Severity.WRONG


def _outside_rule(end: str) -> Rule:
    def message(columns: DocumentColumns, _profile: Profile, row: int) -> str:
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


def _largest_number(columns: DocumentColumns) -> NDArray[np.int64]:
    """The largest `s` in each block; -1 in a block without steps."""
    largest = np.full(len(columns.document.blocks), -1, np.int64)
    np.maximum.at(largest, columns.block, columns.document.steps.number("s"))
    return largest


def _transfers(columns: DocumentColumns) -> NDArray[np.int64]:
    """The most entries that the parser makes of each block's steps in one of its tables."""
    tables = (columns.starts, columns.depend_block >= 0, columns.reduces)
    largest: NDArray[np.int64] = np.maximum.reduce([columns.per_block(table) for table in tables])
    return largest


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
]
