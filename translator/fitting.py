"""Messages and local steps as a program that fits a runtime."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hocket.core.errors import ScheduleError
from hocket.schedule import FIFO_DEPTH, Program
from hocket.translator.emission import Emission
from hocket.translator.instances import replicate
from hocket.translator.messages import Messages
from hocket.translator.operations import operations
from hocket.translator.placement import LocalStep
from hocket.translator.profiles import Profile
from hocket.translator.unfuse import retarget
from hocket.translator.xml_write import check_limits

__all__ = ["Fitting"]


@dataclass(frozen=True, slots=True)
class Fitting:
    """How a program is to be made: the arguments of `lower`. Raises ScheduleError when one is out of range."""

    profile: Profile
    protocol: str = "Simple"
    channels: int = 1
    slots: int = 1
    instances: int = 1
    min_bytes: int = 0
    max_bytes: int = 0
    paired: bool = False

    def __post_init__(self) -> None:
        if self.protocol not in FIFO_DEPTH:
            raise ScheduleError(f"no protocol '{self.protocol}'; protocols: {', '.join(FIFO_DEPTH)}")
        if self.channels < 1:
            raise ScheduleError(f"channels must be at least 1, got {self.channels}")
        if self.instances < 1:
            raise ScheduleError(f"instances must be at least 1, got {self.instances}")
        depth = FIFO_DEPTH[self.protocol]
        if not 1 <= self.slots <= depth:
            raise ScheduleError(f"connections hold 1 to {depth} messages of {self.protocol}, not {self.slots}")
        if 0 < self.max_bytes < self.min_bytes:
            raise ScheduleError(
                f"sizes from {self.min_bytes} to {self.max_bytes} bytes: the largest is below the smallest"
            )

    @property
    def max_count(self) -> int:
        """Chunks of a message at most: each may have to travel as a message of its own."""
        return self.profile.max_count if self.slots == 1 else max(1, FIFO_DEPTH[self.protocol] // self.slots)

    def program(self, shape: Program, messages: Messages, local: Sequence[LocalStep]) -> Program:
        """`shape`, a program without thread blocks, with such that do the messages, of at most `max_count` chunks, and
        the local steps. Where a block would have more steps than the runtime takes, connections are added.

        Raises ScheduleError when the program does not fit the runtime.
        """
        profile, channels = self.profile, self.channels
        buffers = [(gpu.input_chunks, gpu.output_chunks) for gpu in shape.gpus]
        while True:
            table = operations(messages, local, profile, channels, self.slots, paired=self.paired)
            emission = Emission(table, buffers)
            single = replace(
                shape,
                num_channels=1 + max((block.channel for block in table.blocks), default=0),
                protocol=self.protocol,
                min_bytes=self.min_bytes,
                max_bytes=profile.max_bytes(self.max_bytes),
                gpus=tuple(map(emission.gpu, range(len(buffers)))),
            )
            program = retarget(replicate(single, self.instances) if self.instances > 1 else single, profile)
            longest = max((len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks), default=0)
            more = -(-channels * longest // profile.max_steps)
            if longest <= profile.max_steps or not _can_split(program, profile, channels, more):
                if profile.reads_xml:
                    check_limits(program, profile)
                return program
            channels = more


def _can_split(program: Program, profile: Profile, channels: int, more: int) -> bool:
    """Whether each pair of ranks can have `more` connections instead of `channels`."""
    most_blocks = max(len(gpu.thread_blocks) for gpu in program.gpus)
    return more <= profile.max_channels and most_blocks * more <= profile.max_thread_blocks * channels
