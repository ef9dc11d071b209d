"""Which of many programs are the quickest somewhere: those that cannot be are not even lowered."""

from collections.abc import Callable, Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from math import log2
from pathlib import Path

from hocket.base.errors import DeadlockError, ScheduleError, placed
from hocket.translator.bundle.sources import Source
from hocket.translator.bundle.target import Lowered

__all__ = ["NEVER_PS", "Close", "Compared", "Member", "ProgramContest", "Tried"]

NEVER_PS = 1 << 62
"""What a program takes at sizes that it cannot serve."""

Close = set[tuple[Path, Hashable]]
Member = tuple[Source, Lowered]
_NO_GAIN = 128  # what cannot gain a 128th of the time is not lowered
_ALIKE = 64
_PATIENCE = 3  # so many programs of a source and protocol in a row, the best guesses first, that are no better end it
_FAR = 2  # times the best guess, from which on programs are not tried
_COMES_NEAR = 16  # what stays more than a sixteenth behind by what smaller sizes say is not tried,
_OCTAVES = 6  # up to sizes so many times twice as large
_NEAR = 8  # an eighth more than the quickest is near it


@dataclass(frozen=True, slots=True)
class Tried:
    """A program at a size: `time_ps` by simulation, of so many `instances` and the most thread blocks of a rank."""

    source: str
    protocol: str
    instances: int
    thread_blocks: int
    time_ps: int


@dataclass(frozen=True, slots=True)
class Compared:
    """What was compared at a size: `simulated` of `programs`, and of these the quickest of each source and protocol, in
    the order of their times."""

    simulated: int
    programs: int
    quickest: tuple[Tried, ...]


class ProgramContest:
    """`time_ps` of a program at a size is asked for where `at_least_ps` leaves it a chance alone: to be the quickest,
    and quicker than what runs without programs (`rival_ps`), once the first was asked for."""

    def __init__(
        self,
        members: Sequence[Member],
        time_ps: Callable[[Lowered, int], int],
        rival_ps: Callable[[int], int] | None = None,
    ) -> None:
        self._members = members
        self._time_ps = time_ps
        self._rival_ps = rival_ps or (lambda _: NEVER_PS)
        self._known: dict[tuple[int, int], int] = {}
        self._best: dict[int, int] = {}  # of each size the least that was asked for
        self._sizes: list[int] = []  # that were asked for, ascending
        self._refused: dict[int, ScheduleError | DeadlockError] = {}
        self._proved: set[int] = set()

    def winners(self, sizes: Sequence[int]) -> list[Member]:
        """The programs that are the quickest at one of the sizes, and quicker than the rival; those of fewer thread
        blocks first: each takes a multiprocessor from the computation. Raises why, of the last, where no program of any
        can be."""
        self._sizes = sorted(sizes)
        found: set[int] = set()
        for size in self._sizes:
            found |= {at for at in [self._quickest(size, found)] if at is not None}
        if found:
            return sorted((self._members[at] for at in sorted(found)), key=lambda member: member[1].thread_blocks)
        if not self._refused or len(self._refused) < len(self._members):
            return []  # those that fit serve none of the sizes
        at = max(self._refused)
        raise placed(self._members[at][0].path, self._refused[at]) from self._refused[at]

    def proved(self, members: Sequence[Member]) -> bool:
        """Whether these programs are right; those that are not win no more."""
        all_right = True
        for at, member in enumerate(self._members):
            if at in self._proved or not any(member is one for one in members):
                continue
            try:
                member[1].prove()
                self._proved.add(at)
            except (ScheduleError, DeadlockError) as error:
                self._refuse(at, error)
                all_right = False
        return all_right

    @property
    def close(self) -> Close:
        """Those that were near the quickest at a size, by their sources and variants."""
        limit = {size: self._near_ps(best_ps) for size, best_ps in self._best.items()}
        near = {at for (at, size), time_ps in self._known.items() if time_ps <= limit.get(size, 0)}
        return {(self._members[at][0].path, self._members[at][1].variant) for at in near}

    def compared(self, size: int) -> Compared:
        """What was asked for at a size so far, less what turned out to be wrong."""
        known = {at: time_ps for (at, of), time_ps in self._known.items() if of == size and time_ps < NEVER_PS}
        best: dict[tuple[Path, str], Tried] = {}
        for at, time_ps in sorted(known.items(), key=lambda each: (each[1], each[0])):
            source, lowered = self._members[at]
            tried = Tried(source.path.name, lowered.protocol, lowered.instances, lowered.thread_blocks, time_ps)
            best.setdefault((source.path, lowered.protocol), tried)
        return Compared(len(known), len(self._members), tuple(best.values()))

    def best_ps(self, size: int) -> int | None:
        """The least of those that were asked for at a size; None where none was."""
        return self._best.get(size)

    def _quickest(self, size: int, first: Set[int]) -> int | None:
        """That of the fewest thread blocks among those that were tried and are as quick as any, but for a 64th; None
        where none serves the size, or the rival is quicker than all. `first`: those that were it at other sizes, which
        mostly leave few of the others a chance."""
        left = [at for at in range(len(self._members)) if at not in self._refused]
        refused = len(self._refused)
        found: list[tuple[int, int, int]] = []  # time, thread blocks, member
        in_vain: dict[tuple[Path, str], int] = {}
        rival_ps = self._rival_ps(size)
        for at, is_guessed in self._in_order(left, size, first):
            source, lowered = self._members[at]
            kind = source.path, lowered.protocol
            best_ps = min(min(found)[0], rival_ps) if found else NEVER_PS
            gains = best_ps - best_ps // _NO_GAIN
            if lowered.at_least_ps(size) > gains or (is_guessed and in_vain.get(kind, 0) >= _PATIENCE):
                continue
            # Neither the quickest nor near it: not worth a simulation, which it would lose.
            hopeless = bool(found) and lowered.reached_ps(size) > min(self._near_ps(min(found)[0]), rival_ps)
            if found and (hopeless or self._stays_behind(at, size)):
                in_vain[kind] = in_vain.get(kind, 0) + 1
                continue
            try:
                time_ps = self._taken_ps(at, size)
                blocks = lowered.thread_blocks
            except ScheduleError as error:  # it does not fit the runtime
                self._refuse(at, error)
                continue
            if time_ps >= NEVER_PS:  # which says nothing of the others
                continue
            in_vain[kind] = 0 if time_ps < gains else in_vain.get(kind, 0) + 1
            found.append((time_ps, blocks, at))
        if not found and len(self._refused) > refused:  # their good guesses kept others out
            return self._quickest(size, first)
        if not found or min(found)[0] > rival_ps:
            return None
        most_ps = min(min(found)[0] * (_ALIKE + 1) // _ALIKE, rival_ps)
        return min((blocks, time_ps, at) for time_ps, blocks, at in found if time_ps <= most_ps)[2]

    @staticmethod
    def _near_ps(best_ps: int) -> int:
        return best_ps + best_ps // _NEAR

    def _stays_behind(self, at: int, size: int) -> bool:
        """Whether it was behind the quickest, or the rival, at the last two smaller sizes at which it was tried, and
        does not gain on it between them so that it would come near at this one."""
        behind = []
        for smaller in reversed(self._sizes[: self._sizes.index(size)]):
            time_ps = self._known.get((at, smaller))
            if time_ps is None or time_ps >= NEVER_PS:
                continue
            behind.append((log2(size / smaller), time_ps / min(self._best[smaller], self._rival_ps(smaller))))
            if len(behind) == 2:
                break
        else:
            return False
        (octaves, last), (before, first) = behind
        gain = max(0.0, log2(first / last)) / (before - octaves)
        return octaves <= _OCTAVES and last * 2 ** (-gain * octaves) > 1 + 1 / _COMES_NEAR

    def _in_order(self, left: Sequence[int], size: int, first: Set[int]) -> Iterator[tuple[int, bool]]:
        """The members, those of the source with the best guess first, and whether there is one: as good ones in their
        order, which begins with the plainest."""
        guesses = {at: self._members[at][1].guess_ps(size) for at in left}
        least = min((guess for guess in guesses.values() if guess), default=0)
        alike = max(1, least // _ALIKE)
        of_source: dict[Path, int] = {}
        for at in left:
            path = self._members[at][0].path
            of_source[path] = min(guesses[at], of_source.get(path, guesses[at]))

        def order(at: int) -> tuple[bool, int, int, int]:
            return at not in first, of_source[self._members[at][0].path], guesses[at] // alike, at

        most = _FAR * least  # of those that nothing is known of the guess is 0
        yield from ((at, guesses[at] > 0) for at in sorted(left, key=order) if guesses[at] <= most)

    def _refuse(self, at: int, error: ScheduleError | DeadlockError) -> None:
        """What it would take is forgotten: nothing is compared with a program that is none."""
        self._refused[at] = error
        for size in [size for member, size in self._known if member == at]:
            del self._known[at, size]
            left = [time_ps for (_, of), time_ps in self._known.items() if of == size and time_ps < NEVER_PS]
            self._best.pop(size, None)
            if left:
                self._best[size] = min(left)

    def _taken_ps(self, at: int, size: int) -> int:
        if (at, size) not in self._known:
            found = self._known[at, size] = self._time_ps(self._members[at][1], size)
            if found < NEVER_PS:
                self._best[size] = min(found, self._best.get(size, found))
        return self._known[at, size]
