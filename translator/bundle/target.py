"""A runtime as a bundle sees it: how a source becomes a program of its, and what is to be said of a file."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol

from hocket.base.errors import DeadlockError, ScheduleError
from hocket.schedule import Program, Schedule
from hocket.schedule import Protocol as WireProtocol
from hocket.translator.bundle.device_files import device_readme, device_script
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.readme import readme
from hocket.translator.bundle.script import run_script
from hocket.translator.bundle.sources import Source
from hocket.translator.bundle.windows import SizeWindow
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.lowering.proving import prove
from hocket.translator.lowering.retarget import retarget
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.profiles import DEVICE_RUNTIME
from hocket.translator.translate import lower_best

__all__ = ["README", "SCRIPT", "Lowered", "Target", "Written", "XmlTarget"]

README, SCRIPT = "README.md", "run.sh"


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a proved file, and what is said of it. `chunks` of `alignment` bytes divide the sizes it serves;
    `scratch_chunks` of the rank that has most; `proofs`: executions that proved it."""

    text: str
    chunks: int
    alignment: int
    protocol: str
    channels: int
    thread_blocks: int
    steps: int
    scratch_chunks: int
    proofs: int


class Lowered(Protocol):
    """A source's proved program for one kind of call, lowered in one way."""

    @property
    def program(self) -> Program | Schedule:
        """What is simulated: a schedule where switches do what no program says."""

    @property
    def unit_bytes(self) -> int:
        """Sizes that it serves are multiples of this."""

    @property
    def thread_blocks(self) -> int:
        """Of the rank that has the most."""

    @property
    def smallest_bytes(self) -> int:
        """Smaller sizes are left to the source's other programs."""

    @property
    def largest_bytes(self) -> int | None:
        """Larger sizes it cannot serve. None: it serves any."""

    def written(self, name: str, window: SizeWindow) -> Written:
        """It as a file for a window of sizes. Raises ScheduleError or DeadlockError when that cannot be proved."""


class Target(Protocol):
    """A runtime: its name, the ending of its files, how many it loads (None: any number), and its protocols on the
    wire; ranks of each node where it was told to differ from the topology's machines."""

    @property
    def name(self) -> str: ...
    @property
    def suffix(self) -> str: ...
    @property
    def max_files(self) -> int | None: ...
    @property
    def protocols(self) -> Mapping[str, WireProtocol]: ...
    @property
    def ranks_per_node(self) -> int | None: ...

    def lowered(self, source: Source, lowering: Lowering) -> Sequence[Lowered]:
        """The source's proved programs for the lowering's kind of call; none: the source is not for such calls.

        Raises ScheduleError or DeadlockError when there is none that is right.
        """

    def companions(self, bundle: Bundle) -> dict[str, str]:
        """The texts of the files that stand beside the programs, by name: README, SCRIPT and the runtime's own."""


class XmlTarget:
    """A runtime that loads MSCCL XML."""

    suffix = ".xml"
    ranks_per_node = None

    def __init__(self, profile: Profile) -> None:
        self.name = profile.name
        self.max_files = profile.max_files
        self.protocols = profile.protocols
        self._profile = profile

    def lowered(self, source: Source, lowering: Lowering) -> "list[_LoweredXml]":
        content, in_place = source.content, bool(lowering.in_place)
        if isinstance(content, Schedule):
            best = lower_best(content, self._profile, replace(lowering, min_bytes=0, max_bytes=0, name=None))
            lowered = [_LoweredXml(best.program, self._profile, best.slots)]
            for other in best.candidates[1:]:
                with suppress(ScheduleError, DeadlockError):
                    if other.program is not None:
                        prove(other.program, self._profile, other.strategy.slots, other.xml)
                        lowered.append(_LoweredXml(other.program, self._profile, other.strategy.slots))
            return lowered
        if not (content.in_place if in_place else content.out_of_place):
            return []
        name = content.name or source.path.stem
        only = replace(content, in_place=in_place, out_of_place=not in_place, name=name)
        return [_LoweredXml(prove(retarget(only, self._profile), self._profile).program, self._profile)]

    def companions(self, bundle: Bundle) -> dict[str, str]:
        if self.name == DEVICE_RUNTIME.name:
            return {README: device_readme(bundle), SCRIPT: device_script(bundle)}
        return {README: readme(bundle), SCRIPT: run_script(bundle)}


@dataclass(frozen=True, slots=True)
class _LoweredXml:
    program: Program
    profile: Profile
    slots: int | None = None
    smallest_bytes: int = 0
    largest_bytes: None = None

    @property
    def unit_bytes(self) -> int:
        return self.program.chunks_per_loop

    @property
    def thread_blocks(self) -> int:
        return max(len(gpu.thread_blocks) for gpu in self.program.gpus)

    def written(self, name: str, window: SizeWindow) -> Written:
        sized = replace(self.program, name=name, min_bytes=window.min_bytes, max_bytes=window.max_bytes)
        proved = prove(sized, self.profile, self.slots)
        program = proved.program
        return Written(
            text=proved.text,
            chunks=program.chunks_per_loop,
            alignment=1,
            protocol=program.protocol,
            channels=program.num_channels,
            thread_blocks=self.thread_blocks,
            steps=max((len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks), default=0),
            scratch_chunks=max(gpu.scratch_chunks for gpu in program.gpus),
            proofs=len(proved.proofs),
        )
