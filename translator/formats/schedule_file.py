"""A schedule as Hocket's own `.schedule`: of a program, or of what others made."""

from pathlib import Path

from hocket.base.units import format_time
from hocket.schedule import Schedule, save
from hocket.translator.formats.format import ScheduleFormat

__all__ = ["FORMATS"]


def _write(schedule: Schedule, path: Path) -> list[str]:
    save(schedule, path)
    time = format_time(schedule.time_ps)
    return [f"{path}: {schedule.collective.describe()}, {schedule.num_transfers} transfers, {time}"]


FORMATS = (
    ScheduleFormat(
        name="schedule",
        summary="a `.schedule`: of a program, or of what others made, what it does",
        source="docs/schedule.md",
        example="hocket translate ar.xml --to schedule -t ring:8,bandwidth=50GB/s -s 1MiB -o ar.schedule",
        write=_write,
    ),
)
