"""Into how many chunks a rank's part is best cut."""

from collections.abc import Callable
from dataclasses import replace

from hocket.synthesizer.portfolio import AUTO, best_schedule, cheapest_s
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["choose_chunks"]

# Trials cost a few seconds at most, and end after this many doublings in a row that did not help.
_TRIAL_S = 0.5
_TRIAL_ATTEMPTS = 4
_PATIENCE = 2
# Chunks cost what no model of time here counts (instructions, synchronization): more of them must save 3 %.
_WORTH_IT = 97


def choose_chunks(cut: Callable[[int], Problem], search: Search, engine: str = AUTO) -> Problem:
    """The problem `cut` into 1, 2, 4, 8, ... chunks a rank, whichever a short search finds the quickest schedule for.

    More chunks fill more links at once, and pay more latency. Deterministic; raises what `best_schedule` does.
    """
    trial = replace(search, attempts=min(_TRIAL_ATTEMPTS, search.attempts or _TRIAL_ATTEMPTS))
    best, best_ps, failures, chunks = cut(1), 0, 0, 1
    while failures < _PATIENCE and not search.stop.asked:
        candidate = cut(chunks)
        if chunks > 1 and cheapest_s(candidate, engine) > _TRIAL_S:
            break
        time_ps = best_schedule(candidate, trial, engine, _TRIAL_S).time_ps
        if chunks == 1 or time_ps * 100 <= best_ps * _WORTH_IT:
            best, best_ps, failures = candidate, time_ps, 0
        else:
            failures += 1
        chunks *= 2
        if cut(chunks).bound.time_ps * 100 > best_ps * _WORTH_IT:
            break
    return best
