"""MSCCL++ as a bundle sees it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product

from msgspec import structs

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.base.units import format_limit
from hocket.schedule import MSCCLPP, Kind, Program, Protocol, Schedule
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.plan_readme import plan_readme
from hocket.translator.bundle.plan_registration import REGISTRATION, registration
from hocket.translator.bundle.plan_script import plan_script
from hocket.translator.bundle.sources import Source, Sources
from hocket.translator.bundle.target import README, SCRIPT, Written
from hocket.translator.bundle.windows import SizeWindow
from hocket.translator.lowering.heads import goes_over_switches
from hocket.translator.lowering.least_time import LeastTime
from hocket.translator.lowering.levels import levelled
from hocket.translator.lowering.lowering import Lowering, Strategy
from hocket.translator.msccl.profiles import UNLIMITED
from hocket.translator.mscclpp import (
    PLAN_RUNTIME,
    PlanDraft,
    TranslatedPlan,
    draft_plan,
    from_json,
    to_json,
    verify_plan,
)
from hocket.translator.mscclpp.limits import MAX_OPS
from hocket.translator.mscclpp.node import RankNodes
from hocket.translator.mscclpp.read import unchecked
from hocket.translator.mscclpp.sizes import MAX_BYTES, pipeline_unit
from hocket.translator.program_schedule import program_schedule

__all__ = ["PlanTarget"]


_SMALL_BYTES = 64 << 10  # what a thread block moves in about a microsecond, by the 60 GB/s that NCCL counts for one
_MANY = 2000  # transfers beyond which one channel is tried: plans take long to prove


class PlanTarget:
    """MSCCL++ 0.9, on nodes of `ranks_per_node` ranks (None: the topology's machines).

    What is simulated is the program of sends and receives whose messages the plan puts, with what `protocols` say that
    MSCCL++'s kernels take: a message's signal and wait are its step, the handshake at the beginning is of the launch.
    """

    name = PLAN_RUNTIME
    max_files = None
    pads = False

    def __init__(
        self, sources: Sources, ranks_per_node: int | None, protocols: Mapping[str, Protocol] = MSCCLPP
    ) -> None:
        self._topology = sources.topology
        self.protocols = protocols
        self.ranks_per_node = ranks_per_node
        self._profile = replace(UNLIMITED, name=self.name, protocols=dict(protocols), max_steps=MAX_OPS)

    def lowered(self, source: Source, lowering: Lowering) -> "list[_LoweredPlan]":
        schedule = source.content
        if isinstance(schedule, Program):
            loop = schedule.chunks_per_loop
            schedule = program_schedule(schedule, self._topology, -(-source.size_bytes // loop) * loop)
        asked = replace(lowering, min_bytes=0, max_bytes=0, name=None)
        drafts = _Drafts(schedule, asked, self.ranks_per_node)
        least = LeastTime(schedule, self._profile)
        if goes_over_switches(schedule):
            return [_LoweredPlan(drafts, asked.plainest, None)]
        if not source.has_coarser:  # of what others may take the place of it is drawn up where it might be the quickest
            drafts.of(asked.plainest)
        few = schedule.num_transfers > _MANY
        channels = [asked.channels] if asked.channels else [1] if few else [1, 2, 4]
        protocols = [asked.protocol] if asked.protocol else ["Simple", "LL"]
        strategies = [
            replace(asked.plainest, protocol=protocol, channels=number)
            for protocol, number in product(protocols, channels)
        ]
        alone = len(set(RankNodes.of(schedule, self.ranks_per_node).node)) == 1
        may_be_small = alone and lowering.min_bytes <= _SMALL_BYTES and not few and not asked.channels
        small = list(self._small(schedule, asked, protocols)) if may_be_small else []
        smallest = _SMALL_BYTES + 1 if small else 0
        return [*(_LoweredPlan(drafts, strategy, least, smallest) for strategy in strategies), *small]

    def _small(self, schedule: Schedule, asked: Lowering, protocols: Sequence[str]) -> "Iterator[_LoweredPlan]":
        """For small messages: what may leave together does, and a rank has one thread block."""
        drafts = _Drafts(levelled(schedule) or schedule, asked, self.ranks_per_node, joined=True)
        least = LeastTime(drafts.schedule, self._profile)
        for protocol in protocols:
            with suppress(ScheduleError, DeadlockError):  # packets are not for every schedule
                strategy = replace(asked.plainest, protocol=protocol, levelled=True)
                drafts.of(strategy)
                yield _LoweredPlan(drafts, strategy, least, largest=_SMALL_BYTES)

    def over_switches(self, chunks: int, size_bytes: int, thread_blocks: int) -> tuple[int, int]:
        return 1, thread_blocks

    def companions(self, bundle: Bundle) -> dict[str, str]:
        return {README: plan_readme(bundle), SCRIPT: plan_script(bundle), REGISTRATION: registration(bundle)}


class _Drafts:
    """The plans of a schedule by strategy, made when somebody asks; `joined`: with one thread block per rank."""

    def __init__(
        self, schedule: Schedule, asked: Lowering, ranks_per_node: int | None, *, joined: bool = False
    ) -> None:
        self.schedule, self._asked, self._ranks_per_node, self._joined = schedule, asked, ranks_per_node, joined
        self._programs: dict[int, Program] = {}
        self._made: dict[Strategy, PlanDraft] = {}

    def of(self, strategy: Strategy) -> PlanDraft:
        """Raises ScheduleError where there is none."""
        if strategy not in self._made:
            asked = replace(self._asked, protocol=strategy.protocol, channels=strategy.channels)
            draft: PlanDraft | None = draft_plan(
                self.schedule, asked, ranks_per_node=self._ranks_per_node, lowered=self._programs
            )
            if self._joined and draft is not None:
                draft = draft.joined()
            if draft is None:
                raise ScheduleError(f"{self.schedule.generator}: its ops do not fit one thread block of each rank")
            self._made[strategy] = draft
        return self._made[strategy]


class _LoweredPlan:
    """A schedule's plan by one strategy; `least`: its times that no plan beats, where they are known."""

    def __init__(
        self,
        drafts: _Drafts,
        strategy: Strategy,
        least: LeastTime | None,
        smallest: int = 0,
        largest: int = MAX_BYTES,
    ) -> None:
        self._drafts, self.variant, self._least = drafts, strategy, least
        self._smallest, self._largest = smallest, largest
        self.instances = 1
        self._proved: TranslatedPlan | None = None

    @property
    def draft(self) -> PlanDraft:
        return self._drafts.of(self.variant)

    def prove(self) -> TranslatedPlan:
        """The plan as it is read back, proved once."""
        if self._proved is None:
            self._proved = self.draft.proved()
        return self._proved

    @property
    def one(self) -> Program | Schedule:
        return self.program

    @property
    def program(self) -> Program | Schedule:
        return self.draft.program or self._drafts.schedule

    @property
    def unit_bytes(self) -> int:
        return self.draft.plan.slots * self.draft.plan.buffer_alignment

    @property
    def thread_blocks(self) -> int:
        return max(len(gpu.thread_blocks) for gpu in self.draft.plan.gpus)

    @property
    def largest_bytes(self) -> int:
        return min(self.draft.plan.max_message_size, self._largest)

    def is_for(self, size_bytes: int) -> bool:
        """What no plan can serve is known before it is drafted."""
        return self._smallest <= size_bytes <= self._largest and size_bytes <= self.largest_bytes

    @property
    def protocol(self) -> str:
        return self.variant.protocol

    def at_least_ps(self, size_bytes: int) -> int:
        return 0 if self._least is None else self._least.of(self.variant, size_bytes)

    def reached_ps(self, size_bytes: int) -> int:
        return 0 if self._least is None else self._least.reached(self.variant, size_bytes)

    def guess_ps(self, size_bytes: int) -> int:
        return 0 if self._least is None else self._least.guess(self.variant, size_bytes)

    def written(self, name: str, window: SizeWindow) -> Written:
        proved = self.prove()
        open_plan = proved.plan
        if window.max_bytes > open_plan.max_message_size:
            raise ScheduleError(
                f"messages of {format_limit(window.max_bytes)} do not fit: the runtime's offsets of 32 bits reach "
                f"{format_limit(open_plan.max_message_size)}; give a smaller --max-bytes"
            )
        sized = structs.replace(
            open_plan, name=name, min_message_size=window.min_bytes, max_message_size=window.max_bytes
        )
        text = to_json(sized)
        plan = unchecked(text, name)
        root = self._drafts.schedule.collective.root
        if plan != sized or pipeline_unit(plan) is not None:  # else the proof at all sizes holds for these, too
            verify_plan(from_json(text, name), root=root)
        if plan.kind is Kind.BROADCAST and not plan.in_place:  # serves calls in place, too
            verify_plan(structs.replace(plan, in_place=True), root=root)
        blocks = [block for gpu in plan.gpus for block in gpu.thread_blocks]
        return Written(
            text=text,
            suffix=".json",
            chunks=plan.slots,
            alignment=plan.buffer_alignment,
            protocol=plan.protocol,
            channels=proved.program.num_channels if proved.program else self.thread_blocks,
            thread_blocks=self.thread_blocks,
            steps=max(len(block.ops) for block in blocks),
            scratch_chunks=max(gpu.scratch_chunks for gpu in plan.gpus),
            proofs=1,
        )
