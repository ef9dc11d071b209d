"""Hocket's own engine for devices as a bundle sees it: MSCCL XML, and programs over NVLink's switches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hocket.schedule import STRIPE_BYTES, Schedule, SwitchProgram, execute_switches, slice_bytes
from hocket.translator.bundle.device_files import device_readme, device_script
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.sources import Source
from hocket.translator.bundle.target import README, SCRIPT, Lowered, Written, XmlTarget
from hocket.translator.bundle.windows import SizeWindow
from hocket.translator.formats.switch_json import from_switch_json, to_switch_json
from hocket.translator.lowering.heads import goes_over_switches
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.lowering.over_switches import lower_over_switches

__all__ = ["DeviceTarget"]

_BLOCKS = (8, 16, 32, 64)  # of a program over switches: more copy sooner


class DeviceTarget(XmlTarget):
    """The device engine, by its profile."""

    def lowered(self, source: Source, lowering: Lowering) -> Sequence[Lowered]:
        content = source.content
        if isinstance(content, Schedule) and goes_over_switches(content):
            asked = replace(lowering, min_bytes=0, max_bytes=0, name=None)
            blocks = [asked.channels] if asked.channels else _BLOCKS
            made = (lower_over_switches(content, replace(asked, channels=each)) for each in blocks)
            return [_LoweredOverSwitches(each, content) for each in made]
        return super().lowered(source, lowering)

    def over_switches(self, chunks: int, size_bytes: int, thread_blocks: int) -> tuple[int, int]:
        at_once = slice_bytes(chunks)
        return max(1, -(-size_bytes // (chunks * at_once))), min(thread_blocks, at_once // STRIPE_BYTES)

    def companions(self, bundle: Bundle) -> dict[str, str]:
        return {README: device_readme(bundle), SCRIPT: device_script(bundle)}


@dataclass(frozen=True, slots=True)
class _LoweredOverSwitches:
    """Simulated as its schedule: no program of sends and receives does the same."""

    switch_program: SwitchProgram
    program: Schedule
    largest_bytes: None = None
    instances: int = 1
    protocol: str = "NVLS"

    @property
    def one(self) -> Schedule:
        return self.program

    @property
    def variant(self) -> int:
        return self.thread_blocks

    @property
    def unit_bytes(self) -> int:
        return self.switch_program.chunks_per_loop

    @property
    def thread_blocks(self) -> int:
        return self.switch_program.thread_blocks

    def is_for(self, size_bytes: int) -> bool:
        return True

    def at_least_ps(self, size_bytes: int) -> int:
        return 0

    def reached_ps(self, size_bytes: int) -> int:
        return 0

    def guess_ps(self, size_bytes: int) -> int:
        return 0

    def prove(self) -> None:
        execute_switches(self.switch_program)

    def written(self, name: str, window: SizeWindow) -> Written:
        sized = replace(self.switch_program, name=name, min_bytes=window.min_bytes, max_bytes=window.max_bytes)
        text = to_switch_json(sized)
        execute_switches(from_switch_json(text, name))
        return Written(
            text=text,
            suffix=".json",
            chunks=sized.chunks_per_loop,
            alignment=1,
            protocol=self.protocol,
            channels=sized.thread_blocks,
            thread_blocks=sized.thread_blocks,
            steps=len(sized.runs),
            scratch_chunks=0,
            proofs=1,
        )
