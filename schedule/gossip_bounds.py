"""What an all_reduce costs where parts of the ranks are far from each other: few transfers between them in many
latencies, or many in few.

Let ranks fall into n parts, with the latency L or more from a rank of one part to a rank of another, and W bytes/s into
all parts together (or out of them). No switch computes and nobody relays. *Transfers* here are those from part to part.
A transfer is on its links at a time t, bit by bit, when its source has what it sends already, and each bit is there at
t + L at the earliest: those at t <= T - L count alone.

For a position of the buffer take any rank of each part, its *delegate*, and only the transfers on ways in time from a
delegate to a delegate of another part. All such pairs need a way. Call transfers at t <= T - 2L *first*, those at
t >= L *second*; a way over two transfers or more begins with a first and ends with a second, as there are L between any
two.

- **T < 2L**: every way is a single transfer; n (n - 1) of them are needed.
- **2L <= T < 3L**: no transfer is both; those between are *direct*. Let p parts get no second. Each of them gets n - 1
  ways of a single transfer, by firsts and directs: a + d >= p (n - 1), for a firsts and d directs in all. In the same
  way let q parts send no first: f + d >= q (n - 1) for f seconds. And a >= n - q, f >= n - p. Of p and q let p be the
  larger (else turn time around). With 2 / n for a direct

      a + f + 2 d / n >= (1 - 2 / n) a + f + 2 p (n - 1) / n >= (1 - 2 / n) (n - q) + n - p + 2 p (n - 1) / n
                       = 2 (n - 1) + (1 - 2 / n) (p - q) >= 2 (n - 1).

- **T >= 3L**: 2 (n - 1) transfers are needed. Take them in order of their finish: the one that first gives some part a
  way from all delegates has n - 2 others before it or more, out of each of the other parts, and after it each other
  part still lacks one.

Transfers at t < L are on a way from the delegate of their own part only, and only where it is within t of where they
start. Transfers at t > T - 2L lead to the delegate of the part that they get to only, and only where it is within
T - t. Directs are both. Let every rank be its part's delegate equally often, each independently: the transfers, counted
by how often they are on a way, and by 2 / n where they are direct, come to 2 (n - 1) for each position or more. The
links carry W bytes/s, and T is the least time at which that is enough.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.reach import FAR_PS, PICOSECONDS, rounded_down, soonest

__all__ = ["Gossip"]

_Times = NDArray[np.int64]


@dataclass(frozen=True)
class Gossip:
    """`parts`, at least `apart_ps` from each other. `before[k]`: when some rank of a part can have what k + 1 ranks of
    its part contribute; `after[k]`: how long before the end a transfer into a part, with its latency, can still matter
    to k + 1 of its ranks. Both ascending, and no part is quicker."""

    parts: int
    apart_ps: int
    before: _Times
    after: _Times

    @classmethod
    def between(cls, part: NDArray[np.intp], far: _Times) -> "Gossip":
        """Of ranks in parts, with the latencies `far` between them."""
        parts = int(part.max()) + 1
        inside = part[:, None] == part[None, :]
        entry = np.where(inside, FAR_PS, far).min(axis=0)
        members = [np.flatnonzero(part == number) for number in range(parts)]
        before = [soonest(far.T[np.ix_(one, one)]) for one in members]
        after = [soonest(entry[one][:, None] + far[np.ix_(one, one)]) for one in members]
        return cls(parts, int(entry.min()), _quickest(before), _quickest(after))

    def time_ps(self, amount: int, bandwidth: int) -> int:
        """The least T for so many bytes at so many bytes/s between all parts."""
        needed_ps = 2.0 * (self.parts - 1) * amount * PICOSECONDS / max(bandwidth, 1.0)
        if amount == 0 or self.parts < 2:
            return 0
        low, high = 0, 3 * self.apart_ps + int(needed_ps) + 1
        while self._moved_ps(high) < needed_ps:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._moved_ps(middle) < needed_ps else (low, middle)
        return rounded_down(float(low))

    def _moved_ps(self, time_ps: int) -> float:
        """How long links carry what counts, each part of it by how much it does, by the time T."""
        apart, before, after = self.apart_ps, self.before, self.after
        window = min(time_ps - 2 * apart, apart)  # of firsts, and of seconds
        first = np.maximum(0, window - before).mean() if window > 0 else 0.0
        second = np.maximum(0, apart + window - np.maximum(after, apart)).mean() if window > 0 else 0.0
        moved_ps = float(first) + float(second) + max(0, time_ps - 3 * apart)
        if window < apart:
            begin, end = np.maximum(max(0, window), before), np.minimum(apart, time_ps - after)
            moved_ps += float(np.maximum(0, np.subtract.outer(end, begin)).mean()) * 2 / self.parts
        return moved_ps


def _quickest(each: list[_Times]) -> _Times:
    """Of parts of any sizes what is true of all: at every time at least the share of each part's ranks."""
    most = max(len(times) for times in each)
    of_most = [times[np.arange(most) * len(times) // most] for times in each]
    least: _Times = np.min(of_most, axis=0)
    return least
