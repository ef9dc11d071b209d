"""One colour for each part of a step, the same on every page that shows it."""

from collections.abc import Iterable, Mapping

from hocket.report.figures import PALETTE
from hocket.simulator.analysis import Activity, StepPart

__all__ = ["part_colors"]

_FIXED = {
    Activity.COMPUTATION: PALETTE[0],
    Activity.HOST: PALETTE[7],
    Activity.MEMORY: PALETTE[6],
    Activity.BUBBLE: "#c9d1d9",
    Activity.IDLE: "#eef1f4",
}
_COMMUNICATION = (PALETTE[1], PALETTE[4], PALETTE[2], PALETTE[5], "#e8a15f", "#8fb996", "#d48fa5")
_SKEW = ("#b9a7d1", "#cbbfe0", "#a58fc4", "#ded6ec")


def part_colors(parts: Iterable[StepPart]) -> Mapping[StepPart, str]:
    """The parts in their order, each with its colour."""
    communication, skew = iter(_COMMUNICATION * 4), iter(_SKEW * 4)
    return {
        part: _FIXED.get(part.activity) or next(communication if part.activity is Activity.COMMUNICATION else skew)
        for part in parts
    }
