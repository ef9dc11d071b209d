"""Which native algorithms `auto` tries: judged by their numbers of messages before these are made."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective
from hocket.schedule.algorithms import ALGORITHMS
from hocket.schedule.algorithms.place import Place
from hocket.simulator.collective_plan import CollectivePlan

__all__ = ["MAX_MESSAGES", "auto_candidates"]

MAX_MESSAGES = 2**22
"""Where more are to be simulated an algorithm is not tried: each would take seconds and hundreds of MiB."""


def auto_candidates(
    collective: Collective, place: Place, native: Callable[[str], CollectivePlan]
) -> Iterator[CollectivePlan]:
    """What native algorithms do, by name, that can do the collective in its place, in the order of ALGORITHMS: those
    with up to MAX_MESSAGES to simulate. If there are none, the one in which ranks do alike and the busiest link has the
    least to do, of those with the fewest messages. A note names what is left out.

    `native` raises ScheduleError where an algorithm cannot do it. What ranks that do alike do is small and made at
    once, the rest when asked for.
    """
    tried: dict[str, CollectivePlan | None] = {}
    left_out: dict[str, CollectivePlan | None] = {}
    for name, algorithm in ALGORITHMS.items():
        if collective.kind not in algorithm.kinds:
            continue
        with suppress(ScheduleError):  # for example not a power of two of ranks
            plan = None
            few = algorithm.num_moves(collective, place) <= MAX_MESSAGES
            if few and not collective.rooted and algorithm.alike(place):
                plan = native(name)
                few = plan.num_messages <= MAX_MESSAGES
            (tried if few else left_out)[name] = plan
    if not tried:
        tried = _cheapest(left_out)
    skipped = [name for name in left_out if name not in tried]
    note = f"auto has not tried {', '.join(skipped)}: more than {MAX_MESSAGES} messages each" if skipped else None
    for name, plan in tried.items():
        with suppress(ScheduleError):
            yield replace(plan or native(name), note=note)


def _cheapest(natives: dict[str, CollectivePlan | None]) -> dict[str, CollectivePlan | None]:
    """The best one to tell without simulating any."""
    made = [plan for plan in natives.values() if plan is not None]
    if not made:
        return dict(list(natives.items())[:1])
    fewest = min(plan.num_messages for plan in made)
    close = [each for each in made if each.num_messages == fewest and each.num_routes <= MAX_MESSAGES]
    best = min(close, key=lambda plan: plan.busiest_link_ps, default=made[0])
    return {best.algorithm: best}
