"""Into how many chunks a rank's part is best cut."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from math import log2

from hocket.base.errors import ScheduleError, Stopped
from hocket.schedule import AnySchedule
from hocket.synthesizer.engine import Engine
from hocket.synthesizer.portfolio import AUTO, AskedEngines, best_schedule, cheapest_s, share_of_worth
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["ChunkChoice", "choose_chunks"]

# All trials together may cost so much (estimated, the same on any machine): more for a collective that takes long, most
# where much can be gained of it. With a time limit, half of that.
_TRIALS_S, _LONG_TRIALS_S, _GAINFUL_TRIALS_S = 0.12, 0.5, 1.0
_PART_OF_LIMIT = 0.5
# An engine that would cost more at its usual length is not asked in a trial, which costs a part of that where chunks
# are few enough; the same where they are not.
_TRIAL_S, _COSTLY_TRIAL_S = 10.0, 0.5
# Nothing is tried where even the cheapest engine costs more.
_CHEAP_S = 2.0
_LARGE_GAIN = 0.2
_TRIAL_ATTEMPTS = 4
# After all others the native algorithms alone are tried with more chunks, for so long each.
_CHEAPEST_ENGINE, _CHEAPEST_LOOK_S = "native", 0.5
_SECONDS_PER_DELIVERY = 1.5e-6
# All engines are asked at these numbers (at the last where a collective takes long, from this share of worth on),
# elsewhere the three best at the nearest of these if they came within so much of the best, of engines that search the
# best within more: some are good with many chunks only.
_LOOKS, _LAST_LOOK, _WORTH_LAST_LOOK = (1, 4, 16), 16, 0.05
_NEAR_PERCENT, _MOST_NEAR, _SEARCHING_NEAR_PERCENT = 104, 3, 120
# Of a search at length those take part that came so near in the trial.
_IN_THE_RUNNING_PERCENT = 103
# Doublings end after this many in a row that did not help, or that bounds say cannot.
_PATIENCE, _MOST_SKIPPED = 2, 4
# Numbers of chunks between the powers of two that are tried, if they are expected to save two per mille.
_MOST_BETWEEN = 8
_EXPECTED_PER_MILLE = 998
# Numbers that cannot save one per mille are not tried.
_WORTH_IT_PER_MILLE = 999
# Chunks cost what no model of time here counts (instructions, synchronization): more of them must save three per mille.
_HELPED_PER_MILLE = 997
_FEW = 16


@dataclass(frozen=True)
class ChunkChoice:
    """The quickest schedule of a short search, whose number of chunks is the choice, and the engines that are worth a
    longer search for that number (None: all)."""

    schedule: AnySchedule
    engines: frozenset[Engine] | None


def choose_chunks(cut: Callable[[int], Problem], search: Search, engine: str = AUTO) -> ChunkChoice:
    """What short searches find for the problem `cut` into so many chunks per rank, for whichever number is the best.

    First 1, 2, 4, 8, 16, then numbers between, in the order of what their bounds and their neighbours promise, then on
    with 32, 64, ... in the same way, at last the native algorithms alone with twice the best and more. Numbers whose
    bound (which counts whole chunks on every link and over every cut) says that they cannot be better are left out.
    More chunks fill more links at once, and pay more latency. Of numbers within three per mille of the quickest the
    smallest is taken.

    Deterministic without a time limit, of which half is for this; ends with the quickest so far when asked to stop;
    raises what `best_schedule` does.
    """
    trials = _Trials(cut, search, engine)
    trials.ask(1)
    with suppress(Stopped):
        trials.double(1, _FEW)
        trials.refine(_FEW)
        trials.double(_FEW, None)
        trials.refine(None)
        trials.double_cheaply()
    return trials.choice()


@dataclass
class _Trials:
    """Short searches for several numbers of chunks: the quickest schedule of each, and how far each engine came."""

    cut: Callable[[int], Problem]
    search: Search
    engine: str
    found: dict[int, AnySchedule] = field(default_factory=dict)
    contests: dict[int, AskedEngines] = field(default_factory=dict)
    problems: dict[int, Problem] = field(default_factory=dict)
    cheapest: dict[int, float] = field(default_factory=dict)
    spent_s: float = 0.0
    until_s: float = field(init=False)

    def __post_init__(self) -> None:
        self.until_s = time.monotonic() + _PART_OF_LIMIT * self.search.progress.seconds_left

    @property
    def limited(self) -> bool:
        return self.until_s < float("inf")

    @property
    def best_ps(self) -> int:
        return min(schedule.time_ps for schedule in self.found.values())

    @property
    def best(self) -> int:
        return min(number for number, schedule in self.found.items() if schedule.time_ps == self.best_ps)

    def problem(self, number: int) -> Problem:
        if number not in self.problems:
            self.problems[number] = self.cut(number)
        return self.problems[number]

    def cheapest_s(self, number: int) -> float:
        if number not in self.cheapest:
            self.cheapest[number] = cheapest_s(self.problem(number), self.engine)
        return self.cheapest[number]

    def bound_ps(self, number: int) -> int:
        return self.problem(number).bound.time_ps

    def least_ps(self) -> int:
        """What no number beats; of conditions, whose chunks are what they are, nothing is known."""
        problem = self.problem(1)
        return 0 if problem.collective.conditions is not None else problem.bound_any_chunks.time_ps

    def ask(self, number: int) -> None:
        problem, contest = self.problem(number), AskedEngines(self._among(number) if self.found else None)
        attempts = min(_TRIAL_ATTEMPTS, self.search.attempts or _TRIAL_ATTEMPTS)
        self.spent_s += self._cost_s(number)
        trial = replace(self.search, attempts=attempts)
        trial_s = _COSTLY_TRIAL_S if self._is_costly(number) else _TRIAL_S
        try:
            found = best_schedule(problem, trial, self.engine, trial_s, None, contest)
        except ScheduleError:
            if contest.among is None:
                raise
            contest = AskedEngines()  # none of those can cut it into so many chunks
            found = best_schedule(problem, trial, self.engine, trial_s, None, contest)
        self.found[number], self.contests[number] = found, contest

    def may_help(self, number: int) -> bool:
        return self.bound_ps(number) < self.best_ps * _WORTH_IT_PER_MILLE // 1000

    def affordable(self, number: int) -> bool:
        if self.limited:
            return time.monotonic() < self.until_s and not self.search.stop.asked
        allowed_s = self._trials_s()
        if self.spent_s + self._cost_s(number) > allowed_s:
            return False
        return self.cheapest_s(number) <= _CHEAP_S

    def double(self, after: int, last: int | None) -> None:
        """Tries `after` times powers of two, up to `last`."""
        failures, skipped = 0, 0
        for number in (after << power for power in count(1)):
            if last is not None and number > last:
                return
            if self._done() or failures >= _PATIENCE or skipped >= _MOST_SKIPPED or self._too_many(number):
                return
            if not self.may_help(number):
                skipped += 1
                continue
            if not self.affordable(number):
                return
            before_ps = self.best_ps
            self.ask(number)
            helped = self.best_ps <= before_ps * _HELPED_PER_MILLE // 1000
            failures, skipped = (0, 0) if helped else (failures + 1, skipped)

    def double_cheaply(self) -> None:
        """Tries powers of two with the native algorithms alone, which cost next to nothing, where they were not asked,
        as long as that makes them quicker."""
        quickest_ps = None
        for number in (1 << power for power in count()):
            problem = self.problem(number)
            if self.engine != AUTO or self._done() or self._too_many(number):
                return
            if self.limited and not self.affordable(number):
                return
            if cheapest_s(problem, _CHEAPEST_ENGINE) > _CHEAPEST_LOOK_S:
                return
            contest = self.contests.setdefault(number, AskedEngines(frozenset()))
            if all(way.name != _CHEAPEST_ENGINE for way in contest.times):
                with suppress(ScheduleError):
                    alone = AskedEngines()
                    found = best_schedule(problem, self.search, _CHEAPEST_ENGINE, asked_engines=alone)
                    contest.times.update(alone.times)
                    if number not in self.found or found.time_ps < self.found[number].time_ps:
                        self.found[number] = found
            native_ps = min((ps for way, ps in contest.times.items() if way.name == _CHEAPEST_ENGINE), default=None)
            if native_ps is None or (quickest_ps is not None and native_ps > quickest_ps * _HELPED_PER_MILLE // 1000):
                return
            quickest_ps = native_ps

    def refine(self, last: int | None) -> None:
        """Tries what lies between (up to `last`), the most promising first."""
        most = None if self.limited else _MOST_BETWEEN
        for _ in range(most) if most is not None else count():
            if self._done():
                return
            promising = [number for number in self._between(last) if self.affordable(number) and self.may_help(number)]
            expected = [(self._expected_ps(number), number) for number in promising]
            expected = [one for one in expected if one[0] <= self.best_ps * _EXPECTED_PER_MILLE // 1000]
            if not expected:
                return
            self.ask(min(expected)[1])

    def choice(self) -> ChunkChoice:
        enough_ps = self.best_ps * 1000 // _HELPED_PER_MILLE
        number = min(number for number, schedule in self.found.items() if schedule.time_ps <= enough_ps)
        # After a costly trial those are in the running, too, that were not asked.
        all_run = self.limited or self._is_costly(number)
        running = None if all_run else _within(self.contests[number], _IN_THE_RUNNING_PERCENT)
        if running is not None and (look := self._nearest_look(number)) is not None:
            running |= _within(self.contests[look], _IN_THE_RUNNING_PERCENT)
        return ChunkChoice(self.found[number], running)

    def _between(self, last: int | None) -> Iterator[int]:
        """The numbers up to `last` that are not yet asked: all few, and around the best, the finer the smaller."""
        best = self.best
        step = max(1, best // _FEW)
        for number in sorted({*range(1, _FEW + 1), *range(max(1, best // 2), 2 * best + 1, step)}):
            if number not in self.found and (last is None or number <= last) and not self._too_many(number):
                yield number

    def _expected_ps(self, number: int) -> float:
        """The number's bound, times what schedules of its neighbours take of theirs."""
        asked = sorted(self.found)
        below = max((one for one in asked if one < number), default=asked[0])
        above = min((one for one in asked if one > number), default=asked[-1])
        ratios = [self.found[one].time_ps / max(1, self.bound_ps(one)) for one in (below, above)]
        share = 0.0 if below == above else (log2(number) - log2(below)) / (log2(above) - log2(below))
        return self.bound_ps(number) * (ratios[0] + share * (ratios[1] - ratios[0]))

    def _nearest_look(self, number: int) -> int | None:
        """The nearest number at which all engines were asked."""
        looks = [look for look in _LOOKS if look in self.contests and self.contests[look].among is None]
        return min(looks, key=lambda look: abs(log2(look) - log2(number)), default=None)

    def _among(self, number: int) -> frozenset[Engine] | None:
        """The engines to ask; None: all."""
        if number in _LOOKS and (number < _LAST_LOOK or share_of_worth(self.best_ps) >= _WORTH_LAST_LOOK):
            return None
        nearest = self._nearest_look(number)
        if self.limited or nearest is None:
            return None
        near, times = _within(self.contests[nearest], _NEAR_PERCENT), self.contests[nearest].times
        problem = self.problem(nearest).alone or self.problem(nearest)
        order = sorted(near, key=lambda way: (times[way], way.seconds(problem), way.name))
        # Natives put their pieces in order with few chunks as well; what searches for trees gains by many.
        searching = {way: ps for way, ps in times.items() if way.name != _CHEAPEST_ENGINE}
        best = min(searching, key=lambda way: (times[way], way.seconds(problem), way.name), default=None)
        within = best is not None and times[best] * 100 <= min(times.values()) * _SEARCHING_NEAR_PERCENT
        return frozenset([*order[:_MOST_NEAR], *([best] if within and best is not None else [])])

    def _cost_s(self, number: int) -> float:
        collective = self.problem(number).collective
        cost_s = collective.num_deliveries * _SECONDS_PER_DELIVERY * _TRIAL_ATTEMPTS
        if collective.reducing or collective.spreads:
            return cost_s
        return max(cost_s, min(_CHEAP_S, self.cheapest_s(number)))  # ways are looked for besides

    def _is_costly(self, number: int) -> bool:
        return self._cost_s(number) > _TRIALS_S + _LONG_TRIALS_S

    def _trials_s(self) -> float:
        least_ps = max(1, self.least_ps())
        gain = min(1.0, (self.best_ps - least_ps) / least_ps / _LARGE_GAIN)
        return _TRIALS_S + (_LONG_TRIALS_S + _GAINFUL_TRIALS_S * gain) * share_of_worth(self.best_ps)

    def _done(self) -> bool:
        return self.best_ps * _WORTH_IT_PER_MILLE // 1000 <= self.least_ps() or self.search.stop.asked

    def _too_many(self, number: int) -> bool:
        """Whether chunks would be empty, or more than can be numbered."""
        collective = self.problem(1).collective
        return number > max(1, collective.largest_chunk_bytes) or number * collective.num_chunks >= 2**31


def _within(contest: AskedEngines, percent: int) -> frozenset[Engine]:
    least_ps = min(contest.times.values(), default=0)
    return frozenset(way for way, ps in contest.times.items() if ps * 100 <= least_ps * percent)
