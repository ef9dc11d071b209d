"""A runtime as a bundle sees it: how a source becomes a program of its, and what is to be said of a file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from hocket.schedule import Program, Schedule
from hocket.schedule import Protocol as WireProtocol
from hocket.translator.bundle.manifest import BundleRuntime
from hocket.translator.bundle.sources import Source
from hocket.translator.bundle.windows import Window
from hocket.translator.lowering import Lowering
from hocket.translator.profiles import Profile
from hocket.translator.proving import Translation, prove
from hocket.translator.retarget import retarget
from hocket.translator.translate import lower_best

__all__ = ["Lowered", "Target", "Written", "XmlTarget"]


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
    """A source's proved program for one kind of call, of any size."""

    @property
    def program(self) -> Program:
        """What is simulated."""

    def written(self, name: str, window: Window) -> Written:
        """It as a file for a window of sizes. Raises ScheduleError or DeadlockError when that cannot be proved."""


class Target(Protocol):
    """A runtime: its name, the ending of its files, how many it loads, and its protocols on the wire; ranks of a node
    where its programs depend on that (0: they do not, or nodes differ)."""

    @property
    def name(self) -> BundleRuntime: ...
    @property
    def suffix(self) -> str: ...
    @property
    def max_files(self) -> int: ...
    @property
    def protocols(self) -> Mapping[str, WireProtocol]: ...
    @property
    def ranks_per_node(self) -> int: ...

    def lowered(self, source: Source, lowering: Lowering) -> Lowered | None:
        """The source's program for the lowering's kind of call; None: the source is not for such calls.

        Raises ScheduleError or DeadlockError when there is none that is right.
        """


class XmlTarget:
    """A runtime that loads MSCCL XML."""

    suffix = ".xml"
    ranks_per_node = 0

    def __init__(self, profile: Profile) -> None:
        self.name = BundleRuntime(profile.name)
        self.max_files = profile.max_files
        self.protocols = profile.protocols
        self._profile = profile

    def lowered(self, source: Source, lowering: Lowering) -> "_LoweredXml | None":
        content, in_place = source.content, bool(lowering.in_place)
        if isinstance(content, Schedule):
            open_lowering = replace(lowering, min_bytes=0, max_bytes=0, name=None)
            return _LoweredXml(lower_best(content, self._profile, open_lowering))
        if not (content.in_place if in_place else content.out_of_place):
            return None
        name = content.name or source.path.stem
        only = replace(content, in_place=in_place, out_of_place=not in_place, name=name)
        return _LoweredXml(prove(retarget(only, self._profile), self._profile))


@dataclass(frozen=True, slots=True)
class _LoweredXml:
    translation: Translation

    @property
    def program(self) -> Program:
        return self.translation.program

    def written(self, name: str, window: Window) -> Written:
        sized = replace(self.program, name=name, min_bytes=window.min_bytes, max_bytes=window.max_bytes)
        proved = prove(sized, self.translation.profile, self.translation.slots)
        program = proved.program
        return Written(
            text=proved.text,
            chunks=program.chunks_per_loop,
            alignment=1,
            protocol=program.protocol,
            channels=program.num_channels,
            thread_blocks=max(len(gpu.thread_blocks) for gpu in program.gpus),
            steps=max((len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks), default=0),
            scratch_chunks=max(gpu.scratch_chunks for gpu in program.gpus),
            proofs=len(proved.proofs),
        )
