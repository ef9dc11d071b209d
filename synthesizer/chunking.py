"""Into how many chunks a rank's part is best cut."""

from collections.abc import Callable
from dataclasses import replace

from hocket.base.errors import Stopped
from hocket.schedule import AnySchedule
from hocket.synthesizer.portfolio import AFFORDABLE_S, AUTO, best_schedule, cheapest_s, worth_s
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["choose_chunks"]

# A trial may cost so much, and a quarter of what the gap to the bound is worth; trials end after this many doublings in
# a row that did not help.
_TRIAL_S, _PART_OF_WORTH = 0.5, 0.25
_TRIAL_ATTEMPTS = 4
_PATIENCE = 2
# Chunks cost what no model of time here counts (instructions, synchronization): more of them must save 3 %.
_WORTH_IT = 97


def choose_chunks(cut: Callable[[int], Problem], search: Search, engine: str = AUTO) -> AnySchedule:
    """What a short search finds for the problem `cut` into 1, 2, 4, 8, ... chunks a rank, whichever is the quickest.

    More chunks fill more links at once, and pay more latency. Deterministic; ends with the quickest so far when asked
    to stop; raises what `best_schedule` does.
    """
    trial = replace(search, attempts=min(_TRIAL_ATTEMPTS, search.attempts or _TRIAL_ATTEMPTS))
    best, failures, chunks = best_schedule(cut(1), trial, engine, _TRIAL_S), 0, 2
    while failures < _PATIENCE and best.time_ps > 0:
        candidate, worth_it_ps = cut(chunks), best.time_ps * _WORTH_IT // 100
        trial_s = max(_TRIAL_S, _PART_OF_WORTH * worth_s(best, candidate, AFFORDABLE_S))
        if candidate.bound.time_ps > worth_it_ps or cheapest_s(candidate, engine) > trial_s:
            break
        try:
            found = best_schedule(candidate, trial, engine, trial_s)
        except Stopped:
            break
        best, failures = (found, 0) if found.time_ps <= worth_it_ps else (best, failures + 1)
        chunks *= 2
    return best
