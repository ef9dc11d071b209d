"""From a schedule of one machine whose switches add and copy to a program for the device engine's kernel over them."""

from hocket.base.errors import ScheduleError
from hocket.schedule import Schedule, SwitchProgram
from hocket.translator.lowering.heads import switch_runs
from hocket.translator.lowering.lowering import Lowering

__all__ = ["lower_over_switches"]

_BLOCKS = 32  # they copy in and out, beside what they put through the switches


def lower_over_switches(schedule: Schedule, lowering: Lowering) -> SwitchProgram:
    """Of the calls in place, unless the lowering says that they are not, in as many thread blocks as its `channels`
    says. Raises ScheduleError where the kernel cannot do what the schedule, or the lowering, asks for."""
    collective = schedule.collective
    if lowering.wire_protocol != "Simple":
        raise ScheduleError(
            f"{schedule.generator}: no packets go over switches that add and copy; use Simple, not "
            f"{lowering.wire_protocol}"
        )
    nodes = schedule.topology.machine[schedule.ranks].tolist()
    return SwitchProgram(
        name=lowering.name or f"{collective.kind}_{schedule.generator}",
        kind=collective.kind,
        num_ranks=collective.num_ranks,
        root=collective.root,
        chunks_per_loop=collective.slots,
        thread_blocks=lowering.channels or _BLOCKS,
        in_place=lowering.in_place is not False,
        min_bytes=lowering.min_bytes,
        max_bytes=lowering.max_bytes,
        runs=tuple(switch_runs(schedule, "a program over switches", nodes)),
    )
