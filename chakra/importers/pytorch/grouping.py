"""Which process groups the operations of gloo are in, which no profile tells: what all evidence together leaves."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hocket.chakra.importers.pytorch.host import MONITORED_BARRIER, ProcessGroup
from hocket.chakra.importers.pytorch.issues import Issue
from hocket.chakra.importers.pytorch.workers import groups_of_workers

__all__ = ["RankIssues", "find_groups", "share_sizes"]

# Kinds whose size may differ by rank.
_UNEVEN = ("all_to_all", "all_gather")
_Signature = tuple[str, int, int]


@dataclass
class RankIssues:
    """What a rank issued, and the world ranks of each of its groups; `threads` are the system's numbers of
    its threads, `possible` the names of the groups that an issue may be in."""

    issues: Sequence[Issue]
    groups: dict[str, tuple[int, ...]]
    threads: Mapping[int, int] = field(default_factory=dict)
    possible: dict[Issue, set[str]] = field(default_factory=dict)

    def members(self, issue: Issue) -> tuple[int, ...] | None:
        """World ranks of the one group that is possible."""
        names = self.possible[issue]
        return self.groups.get(next(iter(names))) if len(names) == 1 else None


def find_groups(ranks: Mapping[int, RankIssues]) -> None:
    """Names the group of each issue for which but one remains possible.

    A group must have as many ranks as the sizes of tensors show, and a root's or peer's number; a worker thread of
    gloo serves one group, and was started with the group's other one, in the order in which groups were made; what is
    the k-th of its kind and size on one member is so on the others; a message needs its other end. Where the group
    does not matter, since all that are possible have the same ranks or, of a message, name one peer, it is the first
    of them.
    """
    for rank in ranks.values():
        _by_own_evidence(rank)
    while any([_by_other_members(ranks), _by_partners(ranks)]):
        pass
    for rank in ranks.values():
        for issue, names in rank.possible.items():
            peers = {_peer(rank, issue, name) for name in names}
            same = len({rank.groups.get(name) for name in names}) == 1
            if same or (_is_message(issue) and len(peers) == 1 and names):
                issue.group = next(name for name in rank.groups if name in names)


def share_sizes(ranks: Mapping[int, RankIssues]) -> int:
    """Gives collectives without a size that of the same one on another member of their group, the k-th of its kind
    where both have as many; how many there were."""
    of_group: dict[tuple[str, tuple[int, ...]], dict[int, list[Issue]]] = defaultdict(lambda: defaultdict(list))
    for number, rank in ranks.items():
        for issue in rank.issues:
            members = rank.groups.get(issue.group or "")
            if members is not None and not _is_message(issue) and issue.described.kind not in _UNEVEN:
                of_group[issue.described.kind, members][number].append(issue)
    shared = 0
    for own in of_group.values():
        alike = list(own.values())
        for same in zip(*alike, strict=True) if len({*map(len, alike)}) == 1 else ():
            sizes = {issue.described.num_bytes for issue in same} - {-1}
            for issue in same if len(sizes) == 1 else ():
                if issue.described.num_bytes < 0:
                    known = next(other.described for other in same if other.described.num_bytes >= 0)
                    issue.described = replace(
                        issue.described, num_bytes=known.num_bytes, per_member=known.per_member, dtype=known.dtype
                    )
                    shared += 1
    return shared


def _by_own_evidence(rank: RankIssues) -> None:
    groups = [ProcessGroup(name, "", len(members), members) for name, members in rank.groups.items()]
    issuing = {issue.event.thread for issue in rank.issues}
    of_worker: dict[int, set[str]] = {}
    for issue in rank.issues:
        described = issue.described
        members = described.members or _members_by_spans(issue)
        fitting = {group.name for group in groups if members in (0, group.size) and group.size >= described.least}
        possible = rank.possible[issue] = fitting if issue.group is None else {issue.group}
        for span in issue.spans:
            if span.thread not in issuing:
                of_worker[span.thread] = of_worker.get(span.thread, possible) & possible
    of_worker = groups_of_workers(of_worker, rank.threads, list(rank.groups))
    for issue in rank.issues:
        for span in issue.spans:
            rank.possible[issue] &= of_worker.get(span.thread, rank.possible[issue])


def _members_by_spans(issue: Issue) -> int:
    """How many ranks the messages of a monitored barrier show: its first rank receives one of each other."""
    received = sum(span.name == "gloo:recv" for span in issue.spans)
    return received + 1 if issue.event.name == MONITORED_BARRIER and received > 1 else 0


def _is_message(issue: Issue) -> bool:
    return issue.described.kind in ("send", "recv")


def _by_other_members(ranks: Mapping[int, RankIssues]) -> bool:
    """Gives issues the group that another member knows them to be in; whether there were any."""
    alike: dict[int, dict[_Signature, list[Issue]]] = {number: defaultdict(list) for number in ranks}
    for number, rank in ranks.items():
        for issue in rank.issues:
            described = issue.described
            if not _is_message(issue):
                size = 0 if described.kind in _UNEVEN else described.num_bytes
                alike[number][described.kind, size, described.root].append(issue)
    changed = False
    for number, rank in ranks.items():
        for signature, own in alike[number].items():
            for at, issue in enumerate(own):
                members = rank.members(issue)
                for other in members or ():
                    theirs = alike[other].get(signature, []) if other in alike and other != number else []
                    if members is not None and len(theirs) == len(own):
                        changed |= _assign(ranks[other], theirs[at], members)
    return changed


def _assign(rank: RankIssues, issue: Issue, members: tuple[int, ...]) -> bool:
    """Leaves the groups of these members to an issue, if it has such; whether that is news."""
    same = {name for name in rank.possible[issue] if rank.groups.get(name) == members}
    if not same or same == rank.possible[issue]:
        return False
    rank.possible[issue] = same
    return True


def _by_partners(ranks: Mapping[int, RankIssues]) -> bool:
    """Takes from messages the groups in which their other end, the rank's profile being there, is missing; gives an
    only partner the other's group. Whether there were any."""
    ends: dict[tuple[int, int, int, int], dict[str, list[tuple[int, Issue]]]] = defaultdict(lambda: defaultdict(list))
    for number, rank, issue, name in _messages(ranks):
        ends[_channel(number, rank, issue, name)][issue.described.kind].append((number, issue))
    changed = False
    for number, rank, issue, name in _messages(ranks):
        other = "recv" if issue.described.kind == "send" else "send"
        partners = ends[_channel(number, rank, issue, name)][other]
        if not partners and (peer := _peer(rank, issue, name)) in ranks and len(rank.possible[issue]) > 1 and peer >= 0:
            rank.possible[issue].discard(name)
            changed = True
        elif len(partners) == 1 and len(rank.possible[issue]) == 1:
            partner, theirs = partners[0]
            changed |= _assign(ranks[partner], theirs, rank.groups.get(name, ()))
    return changed


def _messages(ranks: Mapping[int, RankIssues]) -> Iterator[tuple[int, RankIssues, Issue, str]]:
    for number, rank in ranks.items():
        for issue in rank.issues:
            if _is_message(issue):
                for name in sorted(rank.possible[issue]):
                    yield number, rank, issue, name


def _peer(rank: RankIssues, issue: Issue, name: str) -> int:
    """The world rank of a message's other end if it is in this group, -1 where there is none."""
    members, peer = rank.groups.get(name, ()), issue.described.peer
    return members[peer] if 0 <= peer < len(members) else -1


def _channel(number: int, rank: RankIssues, issue: Issue, name: str) -> tuple[int, int, int, int]:
    """Source, destination, tag and bytes."""
    peer, described = _peer(rank, issue, name), issue.described
    source, destination = (number, peer) if described.kind == "send" else (peer, number)
    return source, destination, described.tag, described.num_bytes
