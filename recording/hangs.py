"""What the groups of a job that hangs wait for: who is in which collective, who has not come, and where these are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hocket.base.collectives import whole_size
from hocket.base.rank_names import name_ranks
from hocket.base.units import format_bytes, format_time
from hocket.recording.stream_follower import Follower, Issued

__all__ = ["Elsewhere", "Hang", "Report", "Waiting", "examine"]


@dataclass(frozen=True)
class Waiting:
    """A rank that is in a collective or message, for how many ns."""

    rank: int
    what: str
    line: str
    for_ns: int


@dataclass(frozen=True)
class Elsewhere:
    """A rank that has not come: `where` it is instead, `for_ns` since when, None where that is not known."""

    rank: int
    where: str
    line: str
    for_ns: int | None


@dataclass(frozen=True)
class Hang:
    """A collective (`place` names it) or message that ranks are in and others are not."""

    group: str
    place: str
    waiting: tuple[Waiting, ...]
    elsewhere: tuple[Elsewhere, ...]

    def text(self, is_over: bool = False) -> Iterator[str]:
        """Lines for people; where it `is_over` the ranks that were in it are gone."""
        alike: dict[tuple[str, str], list[Waiting]] = {}
        for row in self.waiting:
            alike.setdefault((row.what, row.line), []).append(row)
        yield f"{'not done: ' * is_over}{self.place} of {self.group}:"
        for (what, line), rows in alike.items():
            since = "at the end" if is_over else f"for {_time(min(row.for_ns for row in rows))}"
            yield f"  waiting {since}: {name_ranks([row.rank for row in rows])}, {what}{_at(line)}"
        for missing in self.elsewhere:
            since = "" if missing.for_ns is None else f" for {_time(missing.for_ns)}"
            yield f"  not arrived: rank {missing.rank}: {missing.where}{since}{_at(missing.line)}"
        if not self.elsewhere:
            differ = "; they issued it differently" if len({what for what, _ in alike}) > 1 else ""
            yield f"  all {'had' if is_over else 'have'} arrived, none {'was' if is_over else 'is'} done{differ}"


@dataclass(frozen=True)
class Report:
    """What hangs now, ranks whose process is gone without an end, and a cycle of ranks that wait for each other; what
    was not done when those in it ended (`left`); ranks that have long been outside of any collective, and of which
    this machine cannot tell whether they are there (`silent`)."""

    hangs: tuple[Hang, ...]
    gone: tuple[int, ...]
    cycle: tuple[str, ...]
    left: tuple[Hang, ...] = ()
    silent: tuple[Waiting, ...] = ()

    @property
    def identity(self) -> object:
        """The same as long as nothing changes but time, and who is silent, which comes and goes while a job runs."""
        hangs = [
            (
                hang.place,
                hang.group,
                [row.rank for row in hang.waiting],
                [(row.rank, row.where) for row in hang.elsewhere],
            )
            for hang in (*self.hangs, *self.left)
        ]
        return repr((hangs, self.gone))

    def text(self) -> Iterator[str]:
        """Lines for people."""
        for rank in self.gone:
            yield f"gone: rank {rank}: its process ended without a word; its stream stops there"
        for hang in self.hangs:
            yield from hang.text()
        if self.cycle:
            yield f"deadlock: {', '.join(self.cycle)}"
        for hang in self.left:
            yield from hang.text(is_over=True)
        if self.silent:
            ranks = name_ranks([row.rank for row in self.silent])
            since = _time(min(row.for_ns for row in self.silent))
            yield (
                f"silent: {ranks}: nothing was heard for {since}, outside of any collective; their processes ran on"
                " another machine or before this one began anew: look there whether they are gone"
            )
        if not (self.hangs or self.gone or self.left):
            yield "nothing hangs"


def examine(followers: Mapping[int, Follower], now: int, timeout: int) -> Report:
    """What hangs at `now`, ns since the epoch: a rank that is in a collective or message and of which nothing was heard
    for `timeout` ns."""
    gone = tuple(rank for rank, follower in sorted(followers.items()) if follower.ended is None and follower.is_gone())
    stuck = {
        rank: follower
        for rank, follower in followers.items()
        if follower.open and follower.ended is None and rank not in gone and now - follower.last_t >= timeout
    }
    hangs = _hangs(stuck, followers, set(gone), now)
    over = {rank: one for rank, one in followers.items() if one.open and (rank in gone or one.ended is False)}
    left = {name: hang for name, hang in _hangs(over, followers, set(gone), now).items() if name not in hangs}
    found = tuple(hangs.values())
    return Report(found, gone, _cycle(found), tuple(left.values()), tuple(_silent(followers, now, timeout)))


def _hangs(
    inside: Mapping[int, Follower], followers: Mapping[int, Follower], gone: set[int], now: int
) -> dict[object, Hang]:
    """The first thing of each group, and with each peer, that the ranks `inside` have not done."""
    hangs: dict[object, Hang] = {}
    for rank in sorted(inside):
        firsts: dict[object, Issued] = {}
        for issued in inside[rank].open.values():
            firsts.setdefault(issued.group.key if not issued.is_message else (issued.kind, issued.peer), issued)
        for name, issued in firsts.items():
            identity = (rank, name) if issued.is_message else (name, issued.sequence)
            if identity not in hangs:
                hangs[identity] = _hang(rank, issued, followers, inside, gone, now)
    return hangs


def _silent(followers: Mapping[int, Follower], now: int, timeout: int) -> Iterator[Waiting]:
    for rank, follower in sorted(followers.items()):
        if follower.ended is None and not follower.open and not follower.is_here and now - follower.last_t >= timeout:
            last = follower.last_issued
            yield Waiting(rank, _name(last) if last else "", last.line if last else "", now - follower.last_t)


def _hang(
    rank: int,
    issued: Issued,
    followers: Mapping[int, Follower],
    stuck: Mapping[int, Follower],
    gone: set[int],
    now: int,
) -> Hang:
    if issued.is_message:
        peers = [] if issued.peer is None else [issued.peer]
        partner = any(
            other.is_message and other.peer == rank and other.kind != issued.kind
            for peer in peers
            if peer in stuck
            for other in stuck[peer].open.values()
        )
        missing = [] if partner else peers
        inside = {rank: issued}
        place = f"{issued.kind} of rank {rank} and {'anyone' if issued.peer is None else f'rank {issued.peer}'}"
    else:
        inside = {
            member: other
            for member in issued.group.ranks
            if member in stuck
            for other in stuck[member].open.values()
            if not other.is_message and (other.group.key, other.sequence) == (issued.group.key, issued.sequence)
        }
        missing = [
            member
            for member in issued.group.ranks
            if member not in inside and not _has_come(followers.get(member), issued)
        ]
        place = f"{issued.kind} #{issued.sequence}"
    waiting = tuple(
        Waiting(member, f"{other.kind}, {format_bytes(_size(other))}", other.line, now - other.t)
        for member, other in inside.items()
    )
    elsewhere = tuple(_elsewhere(member, followers.get(member), stuck, gone, now) for member in missing)
    return Hang(issued.group.title, place, waiting, elsewhere)


def _size(issued: Issued) -> int:
    """What nccl-tests counts; of a scatter only its root tells."""
    return whole_size(issued.kind, issued.num_bytes, 0, len(issued.group.ranks))


def _has_come(follower: Follower | None, issued: Issued) -> bool:
    last = follower.last.get(issued.group.key) if follower else None
    return last is not None and last.sequence >= issued.sequence


def _elsewhere(
    rank: int, follower: Follower | None, stuck: Mapping[int, Follower], gone: set[int], now: int
) -> Elsewhere:
    if follower is None:
        return Elsewhere(rank, "it has no stream: it never issued a collective, or never began", "", None)
    last = follower.last_issued
    after = f", after {_name(last)}" if last else ""
    line = last.line if last else ""
    if follower.ended is not None:
        return Elsewhere(rank, f"its script has ended{after}", line, now - follower.last_t)
    if rank in gone:
        return Elsewhere(rank, f"its process is gone{after}", line, now - follower.last_t)
    if rank in stuck:
        first = next(iter(follower.open.values()))
        return Elsewhere(rank, f"in {_name(first)}", first.line, now - first.t)
    return Elsewhere(rank, f"outside of any collective{after}", line, now - follower.last_t)


def _name(issued: Issued) -> str:
    number = "" if issued.is_message else f" #{issued.sequence}"
    return f"{issued.kind}{number} of {issued.group.title}"


def _cycle(hangs: Sequence[Hang]) -> tuple[str, ...]:
    """Ranks each of which waits for the next, the last for the first; a phrase per rank."""
    waits: dict[int, dict[int, str]] = {}
    for hang in hangs:
        for waiting in hang.waiting:
            for missing in hang.elsewhere:
                waits.setdefault(waiting.rank, {}).setdefault(missing.rank, f"{hang.place} of {hang.group}")
    for start in waits:
        path = _path_back(start, waits)
        if path:
            pairs = zip(path, [*path[1:], path[0]], strict=True)
            return tuple(f"rank {rank} in {waits[rank][other]} waits for rank {other}" for rank, other in pairs)
    return ()


def _path_back(start: int, waits: Mapping[int, Mapping[int, str]]) -> list[int]:
    """The shortest way from a rank back to itself, by breadth-first search; empty where there is none."""
    paths = [[start]]
    seen: set[int] = set()
    for path in paths:
        for other in waits.get(path[-1], {}):
            if other == start:
                return path
            if other not in seen:
                seen.add(other)
                paths.append([*path, other])
    return []


def _time(nanoseconds: int) -> str:
    return format_time(nanoseconds * 1000)


def _at(line: str) -> str:
    return f" ({line})" if line else ""
