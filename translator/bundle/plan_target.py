"""MSCCL++ as a bundle sees it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
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
from hocket.translator.lowering.levels import levelled
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.mscclpp import (
    PLAN_RUNTIME,
    TranslatedPlan,
    from_json,
    join_blocks,
    lower_to_plan,
    to_json,
    verify_plan,
)
from hocket.translator.mscclpp.plan import OPEN_SIZE
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

    def lowered(self, source: Source, lowering: Lowering) -> "list[_LoweredPlan]":
        schedule = source.content
        if isinstance(schedule, Program):
            loop = schedule.chunks_per_loop
            schedule = program_schedule(schedule, self._topology, -(-source.size_bytes // loop) * loop)
        asked = replace(lowering, min_bytes=0, max_bytes=0, name=None)
        plans = [self._lowered(schedule, asked)]
        if plans[0].translation.program is None:
            return plans
        few = schedule.num_transfers > _MANY
        channels = [asked.channels] if asked.channels else [1] if few else [1, 2, 4]
        protocols = [asked.protocol] if asked.protocol else ["Simple", "LL"]
        for protocol, number in list(product(protocols, channels))[1:]:
            with suppress(ScheduleError, DeadlockError):  # packets and more connections are not for every schedule
                other = replace(asked, protocol=protocol, channels=number)
                plans.append(self._lowered(schedule, other))
        small = [] if few or asked.channels else list(self._small(schedule, asked, protocols))
        return [*(replace(plan, smallest_bytes=_SMALL_BYTES + 1) for plan in plans), *small] if small else plans

    def _small(self, schedule: Schedule, asked: Lowering, protocols: Sequence[str]) -> "Iterator[_LoweredPlan]":
        """For small messages: what may leave together does, and a rank has one thread block."""
        steps = levelled(schedule) or schedule
        for protocol in protocols:
            with suppress(ScheduleError, DeadlockError):
                made = lower_to_plan(steps, replace(asked, protocol=protocol), ranks_per_node=self.ranks_per_node)
                one = join_blocks(made, schedule.collective.root)
                if one is not None:
                    yield _LoweredPlan(one, schedule, best_up_to=_SMALL_BYTES)

    def _lowered(self, schedule: Schedule, asked: Lowering) -> "_LoweredPlan":
        return _LoweredPlan(lower_to_plan(schedule, asked, ranks_per_node=self.ranks_per_node), schedule)

    def over_switches(self, chunks: int, size_bytes: int, thread_blocks: int) -> tuple[int, int]:
        return 1, thread_blocks

    def companions(self, bundle: Bundle) -> dict[str, str]:
        return {README: plan_readme(bundle), SCRIPT: plan_script(bundle), REGISTRATION: registration(bundle)}


@dataclass(frozen=True, slots=True)
class _LoweredPlan:
    translation: TranslatedPlan

    schedule: Schedule
    smallest_bytes: int = 0
    best_up_to: int | None = None
    variant: str = ""
    instances: int = 1

    @property
    def one(self) -> Program | Schedule:
        return self.program

    @property
    def program(self) -> Program | Schedule:
        return self.translation.program or self.schedule

    @property
    def unit_bytes(self) -> int:
        return self.translation.plan.slots * self.translation.plan.buffer_alignment

    @property
    def thread_blocks(self) -> int:
        return max(len(gpu.thread_blocks) for gpu in self.translation.plan.gpus)

    @property
    def largest_bytes(self) -> int:
        return min(self.translation.plan.max_message_size, self.best_up_to or OPEN_SIZE)

    @property
    def protocol(self) -> str:
        return self.translation.plan.protocol

    def at_least_ps(self, size_bytes: int) -> int:
        return 0

    def guess_ps(self, size_bytes: int) -> int:
        return 0

    def prove(self) -> None:
        """It was, when it was lowered."""

    def written(self, name: str, window: SizeWindow) -> Written:
        open_plan = self.translation.plan
        if window.max_bytes > open_plan.max_message_size:
            raise ScheduleError(
                f"messages of {format_limit(window.max_bytes)} do not fit: the runtime's offsets of 32 bits reach "
                f"{format_limit(open_plan.max_message_size)}; give a smaller --max-bytes"
            )
        sized = structs.replace(
            open_plan, name=name, min_message_size=window.min_bytes, max_message_size=window.max_bytes
        )
        text = to_json(sized)
        plan = from_json(text, name)
        root = self.schedule.collective.root
        verify_plan(plan, root=root)
        if plan.kind is Kind.BROADCAST and not plan.in_place:  # serves calls in place, too
            verify_plan(structs.replace(plan, in_place=True), root=root)
        blocks = [block for gpu in plan.gpus for block in gpu.thread_blocks]
        return Written(
            text=text,
            suffix=".json",
            chunks=plan.slots,
            alignment=plan.buffer_alignment,
            protocol=plan.protocol,
            channels=self.translation.program.num_channels if self.translation.program else self.thread_blocks,
            thread_blocks=self.thread_blocks,
            steps=max(len(block.ops) for block in blocks),
            scratch_chunks=max(gpu.scratch_chunks for gpu in plan.gpus),
            proofs=1,
        )
