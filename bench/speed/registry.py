"""All rates that are measured."""

from hocket.base.errors import RequestError
from hocket.base.strict_yaml import nearest
from hocket.bench.speed import collector_case, schedule_cases, simulator_cases, trace_cases
from hocket.bench.speed.case import SpeedCase

__all__ = ["CASES", "chosen", "names"]

CASES: tuple[SpeedCase, ...] = (
    *simulator_cases.CASES,
    *trace_cases.CASES,
    *schedule_cases.CASES,
    *collector_case.CASES,
)


def names() -> list[str]:
    return [case.name for case in CASES]


def chosen(wanted: tuple[str, ...]) -> list[SpeedCase]:
    """Those of these names, in the order of the registry; all for none. Raises RequestError for an unknown name."""
    for name in wanted:
        if name not in names():
            raise RequestError(f"--only {name}: no such rate; {nearest(name, names())}")
    return [case for case in CASES if not wanted or case.name in wanted]
