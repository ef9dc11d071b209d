"""Messages and local steps as a program that fits a runtime."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hocket.schedule import FIFO_DEPTH, Program, ThreadBlock
from hocket.translator.lowering.cutting import cut_local_steps, cut_messages
from hocket.translator.lowering.emission import Emission
from hocket.translator.lowering.instances import part_chunks, replicate
from hocket.translator.lowering.lowering import Lowering, Strategy
from hocket.translator.lowering.messages import Messages
from hocket.translator.lowering.operations import operations
from hocket.translator.lowering.placement import LocalCopy
from hocket.translator.lowering.retarget import retarget
from hocket.translator.msccl.profile import Profile
from hocket.translator.msccl.rules import TOO_MANY_BLOCKS
from hocket.translator.msccl.xml_write import LimitError, check_thread_blocks

__all__ = ["Known", "fit", "fit_one", "with_remedy"]

#: Programs of the same messages that strategies have come to, by what decides them, before they are for kernels and
#: after.
Known = dict[tuple[object, ...], tuple[Program, Program]]

_OF_BLOCKS = (TOO_MANY_BLOCKS, "far dependency")  # rules that fewer thread blocks keep


def fit(
    shape: Program,
    messages: Messages,
    local: Sequence[LocalCopy],
    profile: Profile,
    lowering: Lowering,
    strategy: Strategy,
    known: Known | None = None,
) -> Program:
    """`shape`, a program without thread blocks, with such that do the messages and the local steps. Where a block would
    have more steps than the runtime takes, connections are added, and blocks for local steps.

    `known`: what other strategies of the same messages have come to; it grows.

    Whether it fits the runtime is for the caller to check, whose text tells. Raises ScheduleError where no order of the
    messages keeps them from waiting for each other, LimitError where there are too many thread
    blocks.
    """
    plain, ready = _fitted(shape, messages, local, profile, lowering, strategy, known)
    return ready if strategy.instances == 1 else retarget(replicate(plain, strategy.instances), profile)


def fit_one(
    shape: Program,
    messages: Messages,
    local: Sequence[LocalCopy],
    profile: Profile,
    lowering: Lowering,
    strategy: Strategy,
    known: Known | None = None,
) -> Program:
    """One of the strategy's instances, as `fit` puts them beside each other: all of them do what it does. Its thread
    blocks are those of others with the same `known` where both come to the same."""
    return _fitted(shape, messages, local, profile, lowering, strategy, known)[1]


def _fitted(
    shape: Program,
    messages: Messages,
    local: Sequence[LocalCopy],
    profile: Profile,
    lowering: Lowering,
    strategy: Strategy,
    known: Known | None,
) -> tuple[Program, Program]:
    """One instance, before it is for the profile's kernels and after."""
    # each chunk of a message may have to travel as a message of its own, and to wait for the receiver where connections
    # are relied on to hold one only
    room = 1 if strategy.slots == 1 else max(1, FIFO_DEPTH[strategy.protocol] // strategy.slots)
    most = profile.max_count if strategy.slots == 1 else room
    part = part_chunks(shape) if strategy.instances > 1 else None
    messages, local = cut_messages(messages, most, part), cut_local_steps(local, profile.max_count, part)
    shape = replace(
        shape,
        protocol=strategy.protocol,
        min_bytes=lowering.min_bytes,
        max_bytes=lowering.max_bytes or profile.open_max_bytes,
    )

    made = {} if known is None else known

    def assembled(channels: int, most_local: int) -> tuple[Program, Program]:
        key = (
            channels,
            most_local,
            strategy.slots,
            strategy.paired,
            strategy.merged,
            strategy.levelled,
            room,
            most,
            part,
        )
        if key not in made:
            table = operations(
                messages, local, profile, channels, strategy.slots, paired=strategy.paired, most_local=most_local
            )
            blocks = np.bincount(table.blocks[:, 0], minlength=shape.num_ranks) * strategy.instances
            check_thread_blocks(shape.name, blocks.tolist(), profile)
            program = Emission(table, shape, room).program()
            made[key] = program, retarget(program, profile)
        plain, ready = (replace(program, protocol=strategy.protocol) for program in made[key])
        if strategy.instances > 1:
            each = [len(gpu.thread_blocks) * strategy.instances for gpu in plain.gpus]
            check_thread_blocks(shape.name, each, profile)
        return plain, ready

    return _short_enough(assembled, profile, strategy)


def _short_enough(
    assembled: Callable[[int, int], tuple[Program, Program]], profile: Profile, strategy: Strategy
) -> tuple[Program, Program]:
    """What is assembled with as many connections of each pair of ranks and as few local steps of a thread block as it
    takes for all blocks to have no more steps than the runtime takes; the last tried, where nothing does."""
    channels, most_local = strategy.channels, profile.max_steps
    while True:
        plain, program = assembled(channels, most_local)
        talking, alone = _longest(program, peers=True), _longest(program, peers=False)
        more = -(-channels * talking // profile.max_steps)
        if alone > profile.max_steps and most_local > 1:
            most_local = max(1, most_local * profile.max_steps // alone)
        elif talking > profile.max_steps and _can_split(program, profile, channels, more, strategy.instances):
            channels = more
        else:
            return plain, program


def _longest(program: Program, *, peers: bool) -> int:
    """Steps of the longest thread block with or without peers."""
    blocks = (block for gpu in program.gpus for block in gpu.thread_blocks if _talks(block) == peers)
    return max((len(block.steps) for block in blocks), default=0)


def _talks(block: ThreadBlock) -> bool:
    return max(block.send, block.receive) >= 0


def _can_split(program: Program, profile: Profile, channels: int, more: int, instances: int) -> bool:
    """Whether each pair of ranks can have `more` connections instead of `channels` in each of the instances."""
    if more > profile.max_channels:
        return False
    for gpu in program.gpus:
        talking = instances * sum(map(_talks, gpu.thread_blocks))
        alone = instances * len(gpu.thread_blocks) - talking
        if talking * more > (profile.max_thread_blocks - alone) * channels:
            return False
    return True


def with_remedy(error: LimitError) -> LimitError:
    """The error of a program whose connections share no thread blocks, saying so where that would help."""
    if error.rule not in _OF_BLOCKS:
        return error
    return LimitError(f"{error}, or Lowering(paired=True): connections share thread blocks", error.rule)
