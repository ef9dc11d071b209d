"""Lowering: from a schedule to thread blocks that cannot deadlock, however little their connections hold."""

from collections.abc import Sequence
from functools import lru_cache

from hocket.base.errors import ScheduleError
from hocket.schedule import Gpu, Kind, Program, Schedule
from hocket.translator.lowering.fitting import Known, fit, fit_one, with_remedy
from hocket.translator.lowering.grain import coarsest
from hocket.translator.lowering.levels import levelled
from hocket.translator.lowering.lowering import Lowering, Strategy
from hocket.translator.lowering.messages import Messages, merge
from hocket.translator.lowering.own import OwnParts
from hocket.translator.lowering.placement import LocalCopy, Placement
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.msccl.xml_write import LimitError, check_limits

__all__ = ["lower", "lower_by", "require_sayable"]


def lower(schedule: Schedule, profile: str | Profile, lowering: Lowering | None = None) -> Program:
    """The schedule as a program for one runtime, right for in-place calls (all_to_all: out-of-place) unless said; where
    `lowering` leaves a choice, the plainest.

    Every pair of ranks that talks has a thread block at both ends of each of its connections; steps keep the schedule's
    order, not its times. All blocks list their steps in one global order in which a message is sent only after the one
    `slots` before it on its connection is received, so with connections that hold `slots` messages it cannot deadlock;
    with 1 at no size and no FIFO depth. With more, a connection into a rank shares a thread block with the one out of
    it along which its chunks go on, and what is received and sent on becomes one step. Where a block would have more
    steps than the runtime takes, the pairs' messages are spread over more connections.

    Raises ScheduleError naming rank, thread block, number, limit and remedy when the program cannot fit.
    """
    asked, chosen = lowering or Lowering(), find_profile(profile)
    try:
        program = lower_by(schedule, chosen, asked, asked.plainest)
        if chosen.reads_xml:
            check_limits(program, chosen)
    except LimitError as error:
        raise error if asked.paired else with_remedy(error) from error
    return program


def lower_by(
    schedule: Schedule,
    profile: Profile,
    lowering: Lowering,
    strategy: Strategy,
    known: dict[bool, Known] | None = None,
    *,
    one: bool = False,
) -> Program:
    """The same by one strategy, whose `merged` has been done; its limits are not checked. `known` as in `fit`: of one
    schedule, profile and lowering. `one`: as `fit_one`, of its instances one."""
    if strategy.levelled:
        schedule = _in_steps(schedule)
    require_sayable(schedule)
    collective = schedule.collective
    in_place = collective.kind is not Kind.ALL_TO_ALL if lowering.in_place is None else lowering.in_place
    placement = Placement(collective, in_place)
    shape = Program(
        name=f"{collective.kind}_{schedule.generator}" if lowering.name is None else lowering.name,
        kind=collective.kind,
        chunks_per_loop=collective.slots,
        num_channels=0,
        protocol=strategy.protocol,
        in_place=in_place,
        out_of_place=not in_place,
        min_bytes=lowering.min_bytes,
        max_bytes=lowering.max_bytes,
        gpus=tuple(Gpu(*placement.user_chunks(rank), 0, ()) for rank in range(collective.num_ranks)),
        root=collective.root,
    )

    def fitted(meanwhile: bool) -> Program:
        own = OwnParts.of(schedule, placement, one_sided=profile.one_sided, meanwhile=meanwhile)
        messages = merge(schedule, placement, own, one_sided=profile.one_sided)
        found = None if known is None else known.setdefault(meanwhile, {})
        made: tuple[Program, Messages, Sequence[LocalCopy]] = shape, messages, [*placement.copies(), *own.copies]
        if collective.kind.shares_buffer and schedule.is_own.any():  # ranks send all that they have
            made = coarsest(*made)
        return (fit_one if one else fit)(*made, profile, lowering, strategy, found)

    if not (profile.one_sided and schedule.is_own.any()):
        return fitted(meanwhile=True)
    try:
        return fitted(meanwhile=False)
    except ScheduleError:  # a rank may have to send several messages before the first is taken
        return fitted(meanwhile=True)


def require_sayable(schedule: Schedule) -> None:
    """Raises ScheduleError for what no MSCCL program can say."""
    collective = schedule.collective
    blocks = set(collective.block_bytes or ())
    if blocks == {0}:
        raise ScheduleError(f"{collective.kind} of empty blocks: no runtime starts a kernel for a call without bytes")
    if len(blocks) > 1:
        raise ScheduleError(
            f"{collective.kind} of uneven blocks: MSCCL programs cut buffers into equal chunks, and the calls that run "
            "them have equal blocks"
        )
    helpers = schedule.relay_nodes[schedule.dst[schedule.dst >= collective.num_ranks] - collective.num_ranks]
    if (helpers < schedule.topology.num_ranks).any():
        raise ScheduleError(
            f"rank {helpers.min()}, which is not in the group, passes chunks on: a program runs on the ranks of its "
            "group only; synthesize without --relays"
        )
    if len(helpers):
        raise ScheduleError(
            f"{schedule.generator} lets switches of {schedule.topology.name} add and copy chunks: no MSCCL program can "
            "say that; use an algorithm or schedule that only the ranks take part in"
        )


@lru_cache(maxsize=16)
def _in_steps(schedule: Schedule) -> Schedule:
    return levelled(schedule) or schedule
