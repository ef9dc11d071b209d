"""Which of many programs are the quickest somewhere: those that cannot be are not even lowered."""

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from hocket.base.errors import DeadlockError, ScheduleError, placed
from hocket.translator.bundle.sources import Source
from hocket.translator.bundle.target import Lowered

__all__ = ["NEVER_PS", "Close", "Contest"]

NEVER_PS = 1 << 62
"""What a program takes at sizes that it cannot serve."""

Close = set[tuple[Path, Hashable]]
_Member = tuple[Source, Lowered]
_NO_GAIN = 128  # what cannot gain a 128th of the time is not lowered
_ALIKE = 64
_NEAR = 8  # an eighth more than the quickest is near it


class Contest:
    """`time_ps` of a program at a size is asked for where `at_least_ps` leaves it a chance alone."""

    def __init__(self, members: Sequence[_Member], time_ps: Callable[[Lowered, int], int]) -> None:
        self._members = members
        self._time_ps = time_ps
        self._known: dict[tuple[int, int], int] = {}
        self._refused: dict[int, ScheduleError | DeadlockError] = {}

    def winners(self, sizes: Sequence[int]) -> list[_Member]:
        """The proved programs that are the quickest at one of the sizes, those of fewer thread blocks first: each takes
        a multiprocessor from the computation. Raises why, of the last, where no program of any can be."""
        proved: set[int] = set()
        while True:
            found = {at for at in map(self._quickest, sizes) if at is not None}
            if not found and self._members:
                at = max(self._refused)
                raise placed(self._members[at][0].path, self._refused[at]) from self._refused[at]
            for at in found - proved:
                try:
                    self._members[at][1].prove()
                except (ScheduleError, DeadlockError) as error:
                    self._refused[at] = error
                else:
                    proved.add(at)
            if found <= proved:
                return sorted((self._members[at] for at in sorted(found)), key=lambda member: member[1].thread_blocks)

    @property
    def close(self) -> Close:
        """Those that were near the quickest at a size, by their sources and variants."""
        best: dict[int, int] = {}
        for (_, size), time_ps in self._known.items():
            best[size] = min(time_ps, best.get(size, time_ps))
        near = {at for (at, size), time_ps in self._known.items() if time_ps <= best[size] + best[size] // _NEAR}
        return {(self._members[at][0].path, self._members[at][1].variant) for at in near}

    def best_ps(self, size: int) -> int | None:
        """The least of those that were asked for at a size; None where none was."""
        return min((time_ps for (_, at_size), time_ps in self._known.items() if at_size == size), default=None)

    def _quickest(self, size: int) -> int | None:
        """That of the fewest thread blocks among those that are as quick as any, but for a 64th."""
        left = [at for at in range(len(self._members)) if at not in self._refused]
        bounds = [(self._members[at][1].at_least_ps(size), at) for at in left]
        alike = max(1, min((least_ps for least_ps, _ in bounds), default=1) // _ALIKE)
        found: list[tuple[int, int, int]] = []  # time, thread blocks, member
        for least_ps, at in sorted(bounds, key=lambda bound: (bound[0] // alike, bound[1])):
            best_ps = min(found)[0] if found else NEVER_PS
            if least_ps > best_ps - best_ps // _NO_GAIN:
                continue
            try:
                time_ps = self._taken_ps(at, size)
                blocks = self._members[at][1].thread_blocks
            except ScheduleError as error:  # it does not fit the runtime
                self._refused[at] = error
                continue
            if time_ps < NEVER_PS:
                found.append((time_ps, blocks, at))
        if not found:
            return None
        most_ps = min(found)[0] * (_ALIKE + 1) // _ALIKE
        return min((blocks, time_ps, at) for time_ps, blocks, at in found if time_ps <= most_ps)[2]

    def _taken_ps(self, at: int, size: int) -> int:
        if (at, size) not in self._known:
            self._known[at, size] = self._time_ps(self._members[at][1], size)
        return self._known[at, size]
