"""What is best: at the size that is asked for, for the smallest messages, or for the largest."""

from dataclasses import replace

from hocket.base.enums import StrEnum, assert_never
from hocket.schedule import AnySchedule, FoldedSchedule, retime
from hocket.synthesizer.problem import Problem

__all__ = ["Objective", "aim", "resize"]

# Where the whole buffer crosses the slowest link in this many of the longest latencies, latency hardly counts.
_LARGE = 10_000


class Objective(StrEnum):
    """`auto`: the least time at the size that is asked for. `latency`: the least time of the smallest messages, thus
    the fewest and shortest hops. `bandwidth`: of the largest."""

    AUTO = "auto"
    LATENCY = "latency"
    BANDWIDTH = "bandwidth"


def aim(problem: Problem, objective: Objective) -> Problem:
    """The problem at the size that the objective looks at."""
    collective, topology = problem.collective, problem.topology
    if not collective.even:
        return problem
    match objective:
        case Objective.AUTO:
            return problem
        case Objective.LATENCY:
            size_bytes = collective.slots
        case Objective.BANDWIDTH:
            latency_ps, bandwidth = int(topology.latency_ps.max()), int(topology.bandwidth.min())
            size_bytes = max(collective.size_bytes, _LARGE * latency_ps * bandwidth // 10**12)
        case _:
            assert_never(objective)
    return replace(problem, collective=replace(collective, size_bytes=size_bytes))


def resize(schedule: AnySchedule, size_bytes: int) -> AnySchedule:
    """The same transfers in the same order, timed for another size, spelled out. Raises ScheduleError where summing
    would go another way then (`retime`), and where memory does not suffice."""
    if size_bytes == schedule.collective.size_bytes:
        return schedule
    if isinstance(schedule, FoldedSchedule):
        schedule = schedule.expand()
    collective = replace(schedule.collective, size_bytes=size_bytes)
    return retime(replace(schedule, collective=collective, bound=None), schedule.blocking)
