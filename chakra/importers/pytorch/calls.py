"""Issues of a rank as calls of its job: ranks translated, sizes in full; those that lack something are left out."""

from collections.abc import Mapping, Sequence

from hocket.base.collectives import NAMED_KINDS
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.rank import IssuedCall, LaneWait, Notes

__all__ = ["call_of", "calls_of"]

_ROOTED = [kind for kind in NAMED_KINDS if kind.rooted]


def calls_of(
    issues: Sequence[Issue], groups: Mapping[str, tuple[int, ...]], waits: Mapping[Issue, LaneWait], notes: Notes
) -> list[IssuedCall]:
    """A call for each issue whose group, size and peer are known; `notes` counts the others. `groups` has the world
    ranks of each group of the rank."""
    calls = []
    for issue in issues:
        call = call_of(issue, groups, waits.get(issue), notes)
        if call is not None:
            calls.append(call)
    return calls


def call_of(
    issue: Issue, groups: Mapping[str, tuple[int, ...]], wait: LaneWait | None, notes: Notes
) -> IssuedCall | None:
    """The call, or None where something that it needs is not known."""
    described = issue.described
    kind = described.kind
    members = groups.get(issue.group) if issue.group is not None else None
    if members is None:
        among = "" if issue.group is not None else f" (one of {', '.join(sorted(groups))})" if groups else ""
        shown = f", the sizes show {described.members} ranks: --group {kind}=SIZE" if described.members else ""
        notes[f"{kind}: its group, which no profile tells{among}{shown}: left out; hocket collect records it"] += 1
        return None
    if described.num_bytes < 0:
        remedy = f"record_shapes=True does, --size {kind}=BYTES tells it"
        notes[f"{kind}: its size, which was not recorded ({remedy}): left out"] += 1
        return None
    if kind in ("send", "recv") and not 0 <= described.peer < len(members):
        notes[f"{kind}: its other end, which was not recorded: left out"] += 1
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
