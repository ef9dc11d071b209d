"""The messages of a program, and where in the receiver's memory each is put."""

from collections import defaultdict
from dataclasses import dataclass

from hocket.core.errors import ScheduleError
from hocket.schedule import Program, Step, StepType
from hocket.translator.mscclpp.node import Nodes

__all__ = ["Delivery", "Message", "deliver"]

Place = tuple[int, int]  # thread block of a rank, step


@dataclass(frozen=True, slots=True)
class Message:
    """A send and its receive: `buffer` and `offset` at `dst` are where it is put, `slot` if that is a place of its own
    in scratch from which the receiver takes it. `staged`: the sender's chunk of scratch for packets that a port sends.
    """

    src: int
    dst: int
    count: int
    buffer: str
    offset: int
    slot: bool
    staged: int = -1


@dataclass(frozen=True, slots=True)
class Delivery:
    """All messages by the rank and place of their send (`sent`) and of their receive (`received`), and the chunks of
    scratch that each rank needs for them and for what the program keeps there."""

    sent: dict[tuple[int, Place], Message]
    received: dict[tuple[int, Place], Message]
    scratch_chunks: list[int]


def deliver(program: Program, nodes: Nodes, *, packets: bool) -> Delivery:
    """Where each message goes: what is to be added, and all packets, into a chunk of scratch that no other message of a
    call uses; a copy straight into its place.

    A copy overwrites what its receiver has there only when that has no part in the result, or has left for it, which
    was before the copy came: so nobody reads or writes that place any more, and no word from the receiver is needed.
    """
    scratch = [gpu.scratch_chunks for gpu in program.gpus]
    sent: dict[tuple[int, Place], Message] = {}
    received: dict[tuple[int, Place], Message] = {}
    sends = _by_connection(program, sending=True)
    for connection, arrivals in sorted(_by_connection(program, sending=False).items()):
        src, dst, _ = connection
        for (send, _), (receive, step) in zip(sends[connection], arrivals, strict=True):
            straight = step.type is StepType.RECEIVE and not packets
            buffer, offset, staged = step.dst_buffer, step.dst_offset, -1
            if not straight:
                buffer, offset = "s", scratch[dst]
                scratch[dst] += step.count
            if packets and not nodes.together(src, dst):
                staged = scratch[src]
                scratch[src] += step.count
            message = Message(src, dst, step.count, buffer, offset, not straight, staged)
            sent[src, send] = received[dst, receive] = message
    return Delivery(sent, received, scratch)


def _by_connection(program: Program, sending: bool) -> dict[tuple[int, int, int], list[tuple[Place, Step]]]:
    """The sends, or receives, of each connection (source, destination, channel), in order."""
    found: dict[tuple[int, int, int], list[tuple[Place, Step]]] = defaultdict(list)
    for rank, gpu in enumerate(program.gpus):
        for number, block in enumerate(gpu.thread_blocks):
            for position, step in enumerate(block.steps):
                if step.type.sends and step.type.receives:
                    raise ScheduleError(f"rank {rank} thread block {number} step {position} is a fused {step.type}")
                if step.type.sends and sending:
                    found[rank, block.send, block.channel].append(((number, position), step))
                if step.type.receives and not sending:
                    found[block.receive, rank, block.channel].append(((number, position), step))
    return found
