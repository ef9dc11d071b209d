"""MSCCL++ as a bundle sees it."""

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product

from msgspec import structs

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import NVIDIA, Program
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.plan_files import REGISTRATION, plan_readme, plan_script, registration
from hocket.translator.bundle.sources import Source, Sources
from hocket.translator.bundle.target import README, SCRIPT, Written
from hocket.translator.bundle.windows import SizeWindow
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.mscclpp import PLAN_RUNTIME, TranslatedPlan, from_json, lower_to_plan, to_json, verify_plan
from hocket.translator.program_schedule import program_schedule

__all__ = ["PlanTarget"]


_MANY = 2000  # transfers beyond which one channel is tried: plans take long to prove


class PlanTarget:
    """MSCCL++ 0.9, on nodes of `ranks_per_node` ranks (None: the topology's machines).

    What is simulated is the program of sends and receives whose messages the plan puts: handshakes cost nothing there.
    """

    name = PLAN_RUNTIME
    suffix = ".json"
    max_files = None
    protocols = NVIDIA

    def __init__(self, sources: Sources, ranks_per_node: int | None) -> None:
        self._topology = sources.topology
        self.ranks_per_node = ranks_per_node

    def lowered(self, source: Source, lowering: Lowering) -> "list[_LoweredPlan]":
        schedule = source.content
        if isinstance(schedule, Program):
            loop = schedule.chunks_per_loop
            schedule = program_schedule(schedule, self._topology, -(-source.size_bytes // loop) * loop)
        asked = replace(lowering, min_bytes=0, max_bytes=0, name=None)
        plans = [_LoweredPlan(lower_to_plan(schedule, asked, ranks_per_node=self.ranks_per_node))]
        few = schedule.num_transfers > _MANY
        channels = [asked.channels] if asked.channels else [1] if few else [1, 2, 4]
        protocols = [asked.protocol] if asked.protocol else ["Simple", "LL"]
        for protocol, number in list(product(protocols, channels))[1:]:
            with suppress(ScheduleError, DeadlockError):  # packets and more connections are not for every schedule
                other = replace(asked, protocol=protocol, channels=number)
                plans.append(_LoweredPlan(lower_to_plan(schedule, other, ranks_per_node=self.ranks_per_node)))
        return plans

    def companions(self, bundle: Bundle) -> dict[str, str]:
        return {README: plan_readme(bundle), SCRIPT: plan_script(bundle), REGISTRATION: registration(bundle)}


@dataclass(frozen=True, slots=True)
class _LoweredPlan:
    translation: TranslatedPlan

    @property
    def program(self) -> Program:
        return self.translation.program

    @property
    def unit_bytes(self) -> int:
        return self.translation.plan.slots * self.translation.plan.buffer_alignment

    @property
    def thread_blocks(self) -> int:
        return max(len(gpu.thread_blocks) for gpu in self.translation.plan.gpus)

    @property
    def largest_bytes(self) -> int:
        return self.translation.plan.max_message_size

    def written(self, name: str, window: SizeWindow) -> Written:
        open_plan = self.translation.plan
        if window.max_bytes > open_plan.max_message_size:
            raise ScheduleError(
                f"messages of {window.max_bytes} bytes do not fit: the runtime's offsets of 32 bits reach "
                f"{open_plan.max_message_size}; give a smaller --max-bytes"
            )
        sized = structs.replace(
            open_plan, name=name, min_message_size=window.min_bytes, max_message_size=window.max_bytes
        )
        text = to_json(sized)
        plan = from_json(text, name)
        verify_plan(plan, root=self.program.root)
        blocks = [block for gpu in plan.gpus for block in gpu.thread_blocks]
        return Written(
            text=text,
            chunks=plan.slots,
            alignment=plan.buffer_alignment,
            protocol=plan.protocol,
            channels=self.program.num_channels,
            thread_blocks=self.thread_blocks,
            steps=max(len(block.ops) for block in blocks),
            scratch_chunks=max(gpu.scratch_chunks for gpu in plan.gpus),
            proofs=1,
        )
