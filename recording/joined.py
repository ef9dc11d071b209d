"""Ranks that are joined pair by pair, if only by way of others."""

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["components", "joins_members", "parties"]


def components(pairs: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The ranks of the pairs, those together that pairs join; in order."""
    head: dict[int, int] = {}

    def head_of(rank: int) -> int:
        while head.setdefault(rank, rank) != rank:
            head[rank] = head[head[rank]]
            rank = head[rank]
        return rank

    for one, other in pairs:
        head[head_of(one)] = head_of(other)
    members: dict[int, list[int]] = {}
    for rank in sorted(head):
        members.setdefault(head_of(rank), []).append(rank)
    return list(map(tuple, members.values()))


def parties(messages: Iterable[tuple[int, ...]]) -> dict[int, int]:
    """Of each rank with messages, each between the ranks of a pair, the first of those that messages join it with."""
    return {rank: joined[0] for joined in components(messages) for rank in joined}


def joins_members(members: Sequence[int], party: Mapping[int, int]) -> bool:
    """Whether two of the members are of one party."""
    return len({party.get(member, member) for member in members}) < len(members)
