"""Schedule or program to MSCCL XML file: written only when the very text has been read back, executed and proved."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from hocket.base.errors import ScheduleError
from hocket.schedule import Program, Schedule
from hocket.translator.lowering.coarser import coarsen
from hocket.translator.lowering.fitting import Known
from hocket.translator.lowering.least_time import LeastTime
from hocket.translator.lowering.lower import lower_by, require_sayable
from hocket.translator.lowering.lowering import Lowering, Strategy
from hocket.translator.lowering.proving import Translated, prove
from hocket.translator.lowering.retarget import retarget
from hocket.translator.lowering.strategies import fewer_chunks, predictor, quickest, rounds
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.xml_write import LimitError

__all__ = ["MANY_TRANSFERS", "lower_best", "rewrite", "translate"]

MANY_TRANSFERS = 20_000
"""Beyond which few strategies are tried."""


def translate(
    schedule: Schedule,
    path: Path | str,
    profile: str | Profile,
    lowering: Lowering | None = None,
) -> Translated:
    """Writes the schedule as MSCCL XML for one runtime: what `lower_best` makes of it, with its errors; with these
    nothing is written."""
    translation = lower_best(schedule, profile, lowering)
    translation.write(path)
    return translation


def lower_best(schedule: Schedule, profile: str | Profile, lowering: Lowering | None = None) -> Translated:
    """The schedule as the quickest program for one runtime that could be proved, by simulation at the schedule's size
    on its topology: where `lowering` leaves a choice, several are tried.

    The text is read back as that runtime reads it and executed symbolically, with connections of `slots` messages (or
    1, the least there can be) of one chunk each, so that every size is covered, and with those of the protocol. Raises
    ScheduleError or DeadlockError when the schedule does not fit the runtime or the proof fails. Where no way of
    lowering it fits, chunks that go the same way are made one, then connections share thread blocks.
    """
    chosen, asked = find_profile(profile), lowering or Lowering()
    require_sayable(schedule)

    @cache
    def coarser(factor: int) -> Schedule:
        return schedule if factor == 1 else coarsen(schedule, factor)

    known: dict[bool, Known] = {}

    def lowered(strategy: Strategy) -> Program:
        return lower_by(coarser(strategy.merged), chosen, asked, strategy, known)

    plain = asked.strategies(few=schedule.num_transfers > MANY_TRANSFERS, priced=chosen.priced)
    predict = predictor(chosen, schedule.topology, schedule.collective.size_bytes, schedule.ranks.tolist())
    size, least = schedule.collective.size_bytes, LeastTime(schedule, chosen)
    try:
        return quickest(
            chosen, rounds(plain, asked, schedule), lowered, predict, lambda strategy: least.of(strategy, size)
        )
    except LimitError as error:
        chunks = fewer_chunks(schedule, chosen)
        hint = f"; synthesize the schedule with --chunks {chunks} or fewer" if chunks else ""
        raise LimitError(f"{error}{hint}", error.rule) from error


def rewrite(
    program: Program,
    path: Path | str,
    profile: str | Profile,
    *,
    name: str | None = None,
    min_bytes: int | None = None,
    max_bytes: int | None = None,
) -> Translated:
    """Writes a program (of another runtime, say) as MSCCL XML for one runtime, for the same sizes unless said.

    Steps that the runtime cannot run are taken apart; order and messages stay. Proved as `translate` proves, with
    connections as deep as the protocol's, at every splitting of steps into messages in the window; the same errors.
    """
    chosen = find_profile(profile)
    asked = Lowering(name=name, min_bytes=min_bytes or 0, max_bytes=max_bytes or 0)
    if program.max_bytes < 0 and max_bytes is None:
        raise ScheduleError(f"{program.name}: its maxBytes selects no call; give --max-bytes, or 0 for any size")
    changed = replace(
        retarget(program, chosen),
        name=program.name or str(program.kind) if asked.name is None else asked.name,
        min_bytes=program.min_bytes if min_bytes is None else asked.min_bytes,
        max_bytes=(program.max_bytes if max_bytes is None else asked.max_bytes) or chosen.open_max_bytes,
    )
    translation = prove(changed, chosen)
    translation.write(path)
    return translation
