"""What all ranks must know of a library's programs alike: its connections, with their numbers at both ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hocket._core import device as native
from hocket._core import executor
from hocket.schedule import FIFO_DEPTH, STRIPE_BYTES, Program, StepType, SwitchProgram, slice_bytes

__all__ = ["SLOT_BYTES", "Wiring"]

AnyProgram = Program | SwitchProgram

#: Data of a message. Smaller ones would cost a wait more often; two of a connection still fit a core's cache. Packets
#: are for what takes no longer than its latency.
SLOT_BYTES = 512 << 10
PACKET_BYTES = 16 << 10
_PACK_BYTES = 16

_SENDS = np.array([kind.sends for kind in StepType])
_Connection = tuple[int, int, int]  # sender, receiver, channel


@dataclass(frozen=True, slots=True)
class Wiring:
    """Of `num_ranks` ranks and their windows. `numbers` of each program and rank, a row of four for each thread block:
    of the connection that leaves, among this rank's and among its receiver's, then of the one that comes, here and at
    its sender; -1 where it has none. `depths`: messages that each program's connections hold; `packets`: whether its
    messages are packets; `largest`: chunks of a message, at most; `switched`: the programs themselves that go over
    switches, which have no connections, None in place of the others."""

    num_ranks: int
    connections: int
    most_blocks: int
    depths: tuple[int, ...]
    packets: tuple[bool, ...]
    largest: tuple[int, ...]
    numbers: tuple[tuple[NDArray[np.int32], ...], ...]
    switched: tuple[SwitchProgram | None, ...]

    @classmethod
    def of(cls, programs: Sequence[AnyProgram]) -> "Wiring":
        """Those of all programs, which share connections: they run one after another."""
        most_ranks = max(program.num_ranks for program in programs)
        connections = sorted({found for program in programs for found in _connections(program)})
        leaving, coming = [0] * most_ranks, [0] * most_ranks
        ends = {}
        for connection in connections:
            sender, receiver, _ = connection
            ends[connection] = leaving[sender], coming[receiver]
            leaving[sender] += 1
            coming[receiver] += 1
        return cls(
            most_ranks,
            max(*leaving, *coming),
            max(1, *map(_most_blocks, programs)),
            tuple(1 if isinstance(one, SwitchProgram) else FIFO_DEPTH[one.protocol] for one in programs),
            tuple(isinstance(program, Program) and program.protocol == "LL" for program in programs),
            tuple(map(_largest_message, programs)),
            tuple(tuple(_numbers(program, rank, ends) for rank in range(program.num_ranks)) for program in programs),
            tuple(program if isinstance(program, SwitchProgram) else None for program in programs),
        )

    def window(self, slot_bytes: int = SLOT_BYTES, packet_bytes: int = PACKET_BYTES) -> native.Window:
        """What each rank needs for its ends of the connections."""
        plain = [depth for depth, packets in zip(self.depths, self.packets, strict=True) if not packets]
        return native.Window(self.connections, max(plain, default=1), slot_bytes, packet_bytes)

    def switch_window(self, lanes: int, window: native.Window) -> native.SwitchWindow | None:
        """What each rank needs behind `window` for programs over switches, by thread blocks of so many lanes; None
        where there is none. It is one for all: each place in it is the same block's in every call."""
        switched = [program for program in self.switched if program is not None]
        if not switched:
            return None
        chunks = max(program.chunks_per_loop for program in switched)
        step = lanes * _PACK_BYTES
        stripe = step * max(1, STRIPE_BYTES // step)
        return native.SwitchWindow(
            place=-(-window.bytes // native.LINE_BYTES) * native.LINE_BYTES,
            chunk_bytes=slice_bytes(chunks, stripe),
            stripe_bytes=stripe,
            chunks=chunks,
            blocks=max(program.thread_blocks for program in switched),
            ranks=self.num_ranks,
        )

    def tables(self, number: int, rank: int, part: executor.Program | None) -> native.Tables | native.SwitchTables:
        """A rank's part of the program at that position (None: it goes over switches), ready to be run."""
        switched = self.switched[number]
        if switched is not None:
            return native.SwitchTables(switched.rows(rank).reshape(-1), switched.adds, switched.spreads)
        assert part is not None
        return native.Tables(part, self.numbers[number][rank], self.largest[number])

    def divides(self, number: int) -> bool:
        """Whether the program at that position makes a mean of a sum itself."""
        return self.switched[number] is None

    def way(
        self, number: int, element: int, reduction: int, size: tuple[int, ...], timeout_ms: int, is_mean: bool = False
    ) -> native.Way:
        """How the program at that position is run; of `size`, the call's, all ranks must have the same."""
        # tuples of integers have one hash everywhere
        signature = hash((number, element, reduction, is_mean, *size)) & (1 << 64) - 1
        return native.Way(element, reduction, is_mean, self.depths[number], self.packets[number], signature, timeout_ms)


def _most_blocks(program: AnyProgram) -> int:
    """Of a rank, at most."""
    if isinstance(program, SwitchProgram):
        return program.thread_blocks
    return max(len(gpu.thread_blocks) for gpu in program.gpus)


def _largest_message(program: AnyProgram) -> int:
    """Chunks of it; 1 where there is none."""
    if isinstance(program, SwitchProgram):
        return 1
    rows = program.rows
    return int(rows["count"][_SENDS[rows["type"]]].max(initial=1))


def _connections(program: AnyProgram) -> Iterable[_Connection]:
    if isinstance(program, SwitchProgram):
        return
    for rank, gpu in enumerate(program.gpus):
        for block in gpu.thread_blocks:
            if block.send >= 0:
                yield rank, block.send, block.channel
            if block.receive >= 0:
                yield block.receive, rank, block.channel


def _numbers(program: AnyProgram, rank: int, ends: dict[_Connection, tuple[int, int]]) -> NDArray[np.int32]:
    rows: list[tuple[int, ...]] = []
    if isinstance(program, SwitchProgram):
        return np.array(rows, np.int32)
    for block in program.gpus[rank].thread_blocks:
        leaves = ends[rank, block.send, block.channel] if block.send >= 0 else (-1, -1)
        comes = ends[block.receive, rank, block.channel] if block.receive >= 0 else (-1, -1)
        rows.append((*leaves, *reversed(comes)))
    return np.array(rows, np.int32).reshape(-1)
