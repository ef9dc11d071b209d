"""Messages and local steps as a program that fits a runtime."""

from collections.abc import Sequence
from dataclasses import replace

from hocket.schedule import FIFO_DEPTH, Program
from hocket.translator.cutting import cut_local_steps, cut_messages
from hocket.translator.emission import Emission
from hocket.translator.instances import part_chunks, replicate
from hocket.translator.lowering import Lowering, Strategy
from hocket.translator.messages import Messages
from hocket.translator.operations import operations
from hocket.translator.placement import LocalStep
from hocket.translator.profiles import Profile
from hocket.translator.unfuse import retarget
from hocket.translator.xml_write import LimitError, check_limits

__all__ = ["fit", "with_remedy"]

_OF_BLOCKS = ("too many thread blocks", "far dependency")  # rules that fewer thread blocks keep


def fit(
    shape: Program,
    messages: Messages,
    local: Sequence[LocalStep],
    profile: Profile,
    lowering: Lowering,
    strategy: Strategy,
) -> Program:
    """`shape`, a program without thread blocks, with such that do the messages and the local steps. Where a block would
    have more steps than the runtime takes, connections are added.

    Raises LimitError when the program does not fit the runtime.
    """
    channels, slots, instances = strategy.channels, strategy.slots, lowering.instances
    # each chunk of a message may have to travel as a message of its own, and to wait for the receiver where connections
    # are relied on to hold one only
    room = 1 if slots == 1 else max(1, FIFO_DEPTH[lowering.protocol] // slots)
    most = profile.max_count if slots == 1 else room
    part = part_chunks(shape) if instances > 1 else None
    messages, local = cut_messages(messages, most, part), cut_local_steps(local, profile.max_count, part)
    buffers = [(gpu.input_chunks, gpu.output_chunks) for gpu in shape.gpus]
    while True:
        table = operations(messages, local, profile, channels, slots, paired=strategy.paired)
        emission = Emission(table, buffers, room)
        single = replace(
            shape,
            num_channels=1 + max((block.channel for block in table.blocks), default=0),
            protocol=lowering.protocol,
            min_bytes=lowering.min_bytes,
            max_bytes=lowering.max_bytes or profile.open_max_bytes,
            gpus=tuple(map(emission.gpu, range(len(buffers)))),
        )
        program = retarget(replicate(single, instances) if instances > 1 else single, profile)
        longest = max((len(block.steps) for gpu in program.gpus for block in gpu.thread_blocks), default=0)
        more = -(-channels * longest // profile.max_steps)
        if longest <= profile.max_steps or not _can_split(program, profile, channels, more):
            if profile.reads_xml:
                check_limits(program, profile)
            return program
        channels = more


def with_remedy(error: LimitError) -> LimitError:
    """The error of a program whose connections share no thread blocks, saying so where that would help."""
    if error.rule not in _OF_BLOCKS:
        return error
    return LimitError(f"{error}, or Lowering(paired=True): connections share thread blocks", error.rule)


def _can_split(program: Program, profile: Profile, channels: int, more: int) -> bool:
    """Whether each pair of ranks can have `more` connections instead of `channels`."""
    most_blocks = max(len(gpu.thread_blocks) for gpu in program.gpus)
    return more <= profile.max_channels and most_blocks * more <= profile.max_thread_blocks * channels
