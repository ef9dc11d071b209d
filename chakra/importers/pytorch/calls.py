"""Issues of a rank as calls of its job: ranks translated, sizes in full; those that lack something are left out."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hocket.base.collectives import NAMED_KINDS
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.rank import IssuedCall, LaneWait, Notes
from hocket.chakra.losses import Loss, Lost

__all__ = ["PROFILES", "Untold", "call_of", "calls_of"]

_ROOTED = [kind for kind in NAMED_KINDS if kind.rooted]


class Untold(NamedTuple):
    """Files in words, of which it is said that they do not tell an operation's group, and what would."""

    files: str
    remedy: str


#: Kineto's profile, with or without the execution trace.
PROFILES = Untold("no profile tells", "hocket collect records it")


def calls_of(
    rank: int,
    issues: Sequence[Issue],
    groups: Mapping[str, tuple[int, ...]],
    waits: Mapping[Issue, LaneWait],
    notes: Notes,
    untold: Untold = PROFILES,
) -> list[IssuedCall]:
    """A call of the rank for each issue whose group, size and peer are known; `notes` counts the others as lost.
    `groups` has the world ranks of each group of the rank."""
    calls = []
    for issue in issues:
        call = call_of(rank, issue, groups, waits.get(issue), notes, untold)
        if call is not None:
            calls.append(call)
    return calls


def call_of(
    rank: int,
    issue: Issue,
    groups: Mapping[str, tuple[int, ...]],
    wait: LaneWait | None,
    notes: Notes,
    untold: Untold = PROFILES,
) -> IssuedCall | None:
    """The call, or None where something that it needs is not known."""
    described = issue.described
    kind = described.kind
    members = groups.get(issue.group) if issue.group is not None else None
    if members is None:
        _lose_group(rank, issue, groups, notes, untold)
        return None
    if described.num_bytes < 0 and len(members) == 1:
        loss = Loss(Lost.NODE, kind, "of a group of one rank, which moves nothing")
        notes.lose(rank, loss, f"{kind} of a group of one rank, whose size was not recorded: left out")
        return None
    if described.num_bytes < 0:
        remedy = f"record_shapes=True does, --size {kind}=BYTES tells it"
        loss = Loss.of_call(kind, "its size, which was not recorded")
        notes.lose(rank, loss, f"{kind}: its size, which was not recorded ({remedy}): left out")
        return None
    if kind in ("send", "recv") and not 0 <= described.peer < len(members):
        loss = Loss.of_call(kind, "its other end, which was not recorded")
        notes.lose(rank, loss, f"{kind}: its other end, which was not recorded: left out")
        return None
    if kind in _ROOTED and not 0 <= described.root < len(members):
        notes[f"{kind} operations with unknown root"] += 1
    return IssuedCall(
        kind,
        issue.group or "",
        described.num_bytes * (len(members) if described.per_member else 1),
        issue.event.start,
        issue.end,
        issue.event.thread,
        members[described.root] if 0 <= described.root < len(members) else -1,
        members[described.peer] if 0 <= described.peer < len(members) else -1,
        described.tag,
        described.in_splits if len(described.in_splits) == len(members) else (),
        dtype=described.dtype,
        wait=wait,
    )


def _lose_group(rank: int, issue: Issue, groups: Mapping[str, tuple[int, ...]], notes: Notes, untold: Untold) -> None:
    kind, members = issue.described.kind, issue.described.members
    if not groups:
        reason = "its group and how many ranks the job has, which no file tells"
        notes.lose(rank, Loss.of_call(kind, reason), f"{kind}: {reason} (--world N tells): left out")
        return
    reason = f"its group, which {untold.files}"
    among = "" if issue.group is not None else f" (one of {', '.join(sorted(groups))})"
    shown = f", the sizes show {members} ranks: --group {kind}=SIZE" if members else ""
    notes.lose(rank, Loss.of_call(kind, reason), f"{kind}: {reason}{among}{shown}: left out; {untold.remedy}")
