"""MSCCL++ as a bundle sees it."""

from collections import Counter
from dataclasses import dataclass, replace

from msgspec import structs

from hocket.core.errors import ScheduleError
from hocket.schedule import NVIDIA, Program
from hocket.translator.bundle.manifest import BundleRuntime
from hocket.translator.bundle.sources import Source, Sources
from hocket.translator.bundle.target import Written
from hocket.translator.bundle.windows import Window
from hocket.translator.lowering import Lowering
from hocket.translator.mscclpp import PlanTranslation, from_json, lower_to_plan, to_json, verify_plan
from hocket.translator.program_schedule import program_schedule

__all__ = ["PlanTarget"]


class PlanTarget:
    """MSCCL++ 0.9, on nodes of `ranks_per_node` ranks (None: the topology's machines).

    What is simulated is the program of sends and receives whose messages the plan puts: handshakes cost nothing there.
    """

    name = BundleRuntime.MSCCLPP
    suffix = ".json"
    max_files = 1024  # it has no limit; a bundle that needs more is none
    protocols = NVIDIA

    def __init__(self, sources: Sources, ranks_per_node: int | None) -> None:
        self._topology = sources.topology
        self._given = ranks_per_node
        sizes = set(Counter(sources.topology.machine[list(sources.ranks)].tolist()).values())
        self.ranks_per_node = ranks_per_node or (sizes.pop() if len(sizes) == 1 else 0)

    def lowered(self, source: Source, lowering: Lowering) -> "_LoweredPlan":
        schedule = source.content
        if isinstance(schedule, Program):
            loop = schedule.chunks_per_loop
            schedule = program_schedule(schedule, self._topology, -(-source.size_bytes // loop) * loop)
        open_lowering = replace(lowering, min_bytes=0, max_bytes=0, name=None)
        return _LoweredPlan(lower_to_plan(schedule, open_lowering, ranks_per_node=self._given))


@dataclass(frozen=True, slots=True)
class _LoweredPlan:
    translation: PlanTranslation

    @property
    def program(self) -> Program:
        return self.translation.program

    def written(self, name: str, window: Window) -> Written:
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
            thread_blocks=max(len(gpu.thread_blocks) for gpu in plan.gpus),
            steps=max(len(block.ops) for block in blocks),
            scratch_chunks=max(gpu.scratch_chunks for gpu in plan.gpus),
            proofs=1,
        )
