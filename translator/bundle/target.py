"""A runtime as a bundle sees it: how a source becomes a program of its, and what is to be said of a file."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from hocket.base.errors import ScheduleError
from hocket.schedule import Program, Schedule, StepType
from hocket.schedule import Protocol as WireProtocol
from hocket.translator.bundle.manifest import Bundle
from hocket.translator.bundle.readme import readme
from hocket.translator.bundle.script import run_script
from hocket.translator.bundle.sources import Source
from hocket.translator.bundle.windows import SizeWindow
from hocket.translator.lowering.fitting import Known
from hocket.translator.lowering.least_time import LeastTime
from hocket.translator.lowering.lower import lower_by
from hocket.translator.lowering.lowering import Lowering, Strategy
from hocket.translator.lowering.proving import prove
from hocket.translator.lowering.retarget import retarget
from hocket.translator.lowering.strategies import in_steps
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.xml_write import LimitError, check_limits, numbers_fit
from hocket.translator.translate import MANY_TRANSFERS, lower_best

__all__ = ["README", "SCRIPT", "Lowered", "Target", "Written", "XmlTarget"]

README, SCRIPT = "README.md", "run.sh"
_REDUCE = list(StepType).index(StepType.REDUCE)


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a proved file, and what is said of it. `suffix`: the ending of its name. `chunks` of `alignment`
    bytes divide the sizes it serves; `scratch_chunks` of the rank that has most; `proofs`: executions that proved
    it."""

    text: str
    suffix: str
    chunks: int
    alignment: int
    protocol: str
    channels: int
    thread_blocks: int
    steps: int
    scratch_chunks: int
    proofs: int


class Lowered(Protocol):
    """A source's program for one kind of call, lowered in one way."""

    @property
    def program(self) -> Program | Schedule:
        """What is simulated: a schedule where switches do what no program says. Raises ScheduleError where it does not
        fit the runtime."""

    @property
    def instances(self) -> int:
        """So many of one program that stand beside each other."""

    @property
    def one(self) -> Program | Schedule:
        """That program. Raises as `program`."""

    @property
    def variant(self) -> Hashable:
        """In which it was lowered; sources are lowered in the same ways for all kinds of calls."""

    @property
    def protocol(self) -> str: ...

    def at_least_ps(self, size_bytes: int) -> int:
        """A time that it does not beat at a size, known before it is lowered; 0: none is."""

    def reached_ps(self, size_bytes: int) -> int:
        """Such a time, too, not less: of links of which kernels reach a part."""

    def guess_ps(self, size_bytes: int) -> int:
        """About what it takes at a size, known before it is lowered; 0: nothing is."""

    def prove(self) -> object:
        """Raises ScheduleError or DeadlockError where it is not right at every size; what it returns is its own."""

    @property
    def unit_bytes(self) -> int:
        """Sizes that it serves are multiples of this."""

    @property
    def thread_blocks(self) -> int:
        """Of the rank that has the most."""

    def is_for(self, size_bytes: int) -> bool:
        """Whether it is to be compared at a size: the source's other programs serve those that are too small for it."""

    @property
    def largest_bytes(self) -> int | None:
        """Larger sizes it cannot serve. None: it serves any."""

    def written(self, name: str, window: SizeWindow) -> Written:
        """It as a file for a window of sizes. Raises ScheduleError or DeadlockError when that cannot be proved."""


class Target(Protocol):
    """A runtime: its name, how many files it loads (None: any number), its protocols on the wire, and whether it `pads`
    calls that a program's chunks do not divide, which else run its own algorithms; ranks of each node where it was told
    to differ from the topology's machines."""

    @property
    def name(self) -> str: ...
    @property
    def max_files(self) -> int | None: ...
    @property
    def protocols(self) -> Mapping[str, WireProtocol]: ...
    @property
    def pads(self) -> bool: ...
    @property
    def ranks_per_node(self) -> int | None: ...

    def lowered(self, source: Source, lowering: Lowering) -> Sequence[Lowered]:
        """The source's programs for the lowering's kind of call; none: the source is not for such calls.

        Raises ScheduleError or DeadlockError when there is none that is right.
        """

    def over_switches(self, chunks: int, size_bytes: int, thread_blocks: int) -> tuple[int, int]:
        """Of a call in so many chunks whose sums switches make: slices, before and after each of which the ranks meet,
        and thread blocks that have a part of them."""

    def companions(self, bundle: Bundle) -> dict[str, str]:
        """The texts of the files that stand beside the programs, by name: README, SCRIPT and the runtime's own."""


class XmlTarget:
    """A runtime that loads MSCCL XML."""

    ranks_per_node = None

    def __init__(self, profile: Profile) -> None:
        self.name = profile.name
        self.max_files = profile.max_files
        self.protocols = profile.protocols
        self.pads = profile.pads
        self._profile = profile

    def lowered(self, source: Source, lowering: Lowering) -> "Sequence[Lowered]":
        content, in_place = source.content, bool(lowering.in_place)
        if isinstance(content, Schedule):
            asked = replace(lowering, min_bytes=0, max_bytes=0, name=None)
            least, known = LeastTime(content, self._profile), _Known()

            def lowered(strategy: Strategy) -> _LoweredSchedule:
                return _LoweredSchedule(content, self._profile, asked, strategy, least, known)

            if not source.has_coarser:
                try:
                    lowered(asked.plainest).check()
                except LimitError:  # coarser chunks may fit
                    best = lower_best(content, self._profile, asked)
                    return [_LoweredXml(best.program, self._profile, best.slots)]
            strategies = asked.strategies(few=content.num_transfers > MANY_TRANSFERS, priced=self._profile.priced)
            strategies += in_steps(strategies, content)
            return list(map(lowered, strategies))
        if not (content.in_place if in_place else content.out_of_place):
            return []
        name = content.name or source.path.stem
        only = replace(content, in_place=in_place, out_of_place=not in_place, name=name)
        return [_LoweredXml(prove(retarget(only, self._profile), self._profile).program, self._profile)]

    def over_switches(self, chunks: int, size_bytes: int, thread_blocks: int) -> tuple[int, int]:
        return 1, thread_blocks

    def companions(self, bundle: Bundle) -> dict[str, str]:
        return {README: readme(bundle), SCRIPT: run_script(bundle)}


@dataclass(frozen=True, slots=True)
class _LoweredXml:
    """A program as it is."""

    program: Program
    profile: Profile
    slots: int | None = None
    largest_bytes: None = None
    variant: str = ""
    instances: int = 1

    @property
    def one(self) -> Program:
        return self.program

    @property
    def protocol(self) -> str:
        return self.program.protocol

    @property
    def unit_bytes(self) -> int:
        return self.program.chunks_per_loop

    @property
    def thread_blocks(self) -> int:
        return max(len(gpu.thread_blocks) for gpu in self.program.gpus)

    def is_for(self, size_bytes: int) -> bool:
        return True

    def at_least_ps(self, size_bytes: int) -> int:
        return 0

    def reached_ps(self, size_bytes: int) -> int:
        return 0

    def guess_ps(self, size_bytes: int) -> int:
        return 0

    def prove(self) -> None:
        prove(self.program, self.profile, self.slots)

    def written(self, name: str, window: SizeWindow) -> Written:
        sized = replace(self.program, name=name, min_bytes=window.min_bytes, max_bytes=window.max_bytes)
        proved = prove(sized, self.profile, self.slots)
        program = proved.program
        return Written(
            text=proved.text,
            suffix=".xml",
            chunks=program.chunks_per_loop,
            alignment=1,
            protocol=program.protocol,
            channels=program.num_channels,
            thread_blocks=self.thread_blocks,
            steps=max((len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks), default=0),
            scratch_chunks=max(gpu.scratch_chunks for gpu in program.gpus),
            proofs=len(proved.proofs),
        )


class _Known:
    """What strategies of one schedule have come to: programs, and of their thread blocks whether they fit."""

    def __init__(self) -> None:
        self.programs: dict[bool, Known] = {}
        self._fit: dict[int, tuple[Program, bool]] = {}

    def fits(self, program: Program, profile: Profile) -> bool:
        """Whether it fits, its numbers apart: over any protocol, whose name alone is in the text. Local reductions,
        which parsers merge, are looked at; what else could be wrong, proofs of the programs that win find."""
        key = id(program.gpus)
        if key not in self._fit:
            reduces = bool((program.rows["type"] == _REDUCE).any())
            fits = not reduces or _fits(program, profile)
            self._fit[key] = program, fits  # kept, so that no other comes to have that id
        return self._fit[key][1]


def _fits(program: Program, profile: Profile) -> bool:
    try:
        check_limits(program, profile)
    except ScheduleError:
        return False
    return True


class _LoweredSchedule:
    """A schedule by one strategy, lowered when somebody asks for the program."""

    largest_bytes = None

    def __init__(
        self,
        schedule: Schedule,
        profile: Profile,
        lowering: Lowering,
        strategy: Strategy,
        least: LeastTime,
        known: "_Known",
    ) -> None:
        self._schedule, self._profile, self._lowering, self._known = schedule, profile, lowering, known
        self.variant, self._least = strategy, least

    @cached_property
    def _lowered(self) -> _LoweredXml:
        return _LoweredXml(self._by_strategy(one=False), self._profile, self.variant.slots)

    @cached_property
    def one(self) -> Program:
        program = self._by_strategy(one=True)
        if self._profile.reads_xml and not (
            numbers_fit(program, self._profile, self.instances) and self._known.fits(program, self._profile)
        ):
            check_limits(self.program, self._profile)  # says why not, where they do not
        return program

    def _by_strategy(self, *, one: bool) -> Program:
        known = self._known.programs
        return lower_by(self._schedule, self._profile, self._lowering, self.variant, known, one=one)

    def check(self) -> None:
        """Raises ScheduleError where it does not fit the runtime, which its text tells."""
        if self._profile.reads_xml:
            check_limits(self.program, self._profile)

    @property
    def instances(self) -> int:
        return self.variant.instances

    @property
    def program(self) -> Program:
        return self._lowered.program

    @property
    def unit_bytes(self) -> int:
        return self.one.chunks_per_loop * self.instances

    @property
    def thread_blocks(self) -> int:
        return max(len(gpu.thread_blocks) for gpu in self.one.gpus) * self.instances

    @property
    def protocol(self) -> str:
        return self.variant.protocol

    def is_for(self, size_bytes: int) -> bool:
        return True

    def at_least_ps(self, size_bytes: int) -> int:
        return self._least.of(self.variant, size_bytes)

    def reached_ps(self, size_bytes: int) -> int:
        return self._least.reached(self.variant, size_bytes)

    def guess_ps(self, size_bytes: int) -> int:
        return self._least.guess(self.variant, size_bytes)

    def prove(self) -> None:
        self._lowered.prove()

    def written(self, name: str, window: SizeWindow) -> Written:
        return self._lowered.written(name, window)
