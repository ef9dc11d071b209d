"""One colour for each part of a step, the same on every page that shows it."""

from collections.abc import Iterable, Mapping

from hocket.simulator.analysis import Activity, StepPart

__all__ = ["part_colors"]

_FIXED = {
    Activity.COMPUTATION: "c0",
    Activity.HOST: "c7",
    Activity.MEMORY: "c6",
    Activity.BUBBLE: "bubble",
    Activity.IDLE: "idle",
}
_COMMUNICATION = ("c1", "c4", "c2", "c5", "h4", "c6")
_SKEW = ("skew", "c3", "wait")


def part_colors(parts: Iterable[StepPart]) -> Mapping[StepPart, str]:
    """The parts in their order, each with the class of its colour."""
    communication, skew = iter(_COMMUNICATION * 4), iter(_SKEW * 8)
    return {
        part: _FIXED.get(part.activity) or next(communication if part.activity is Activity.COMMUNICATION else skew)
        for part in parts
    }
