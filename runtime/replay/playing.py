"""A rank's part in a replay, and what rank 0 makes of all parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.runtime.replay.compute import Compute, spender
from hocket.runtime.replay.fabric import Fabric
from hocket.runtime.replay.measured import Measured
from hocket.runtime.replay.operation import RankProgram
from hocket.runtime.replay.player import Player

__all__ = ["Part", "ReplaySettings", "measured", "play"]

_Times = tuple[NDArray[np.int64], NDArray[np.int64]]
_Encoded = tuple[str, list[int], list[tuple[bytes, bytes]]]


@dataclass(frozen=True)
class ReplaySettings:
    """How a replay goes: `iterations` timed ones after `warmup`, each of the whole trace."""

    backend: str
    iterations: int
    warmup: int
    compute: Compute
    timeout_s: float


@dataclass(frozen=True)
class Part:
    """What rank 0 gets from each rank: its machine, its nodes' rows, their times in each iteration."""

    machine: str
    row: list[int]
    times: list[_Times]

    def encode(self) -> bytes:
        """As MessagePack: what comes over a network that others may reach is not unpickled."""
        times = [tuple(column.tobytes() for column in columns) for columns in self.times]
        return msgspec.msgpack.encode((self.machine, self.row, times))

    @classmethod
    def decode(cls, data: bytes) -> "Part":
        machine, row, times = msgspec.msgpack.decode(data, type=_Encoded)
        return cls(
            machine, row, [(np.frombuffer(start, np.int64), np.frombuffer(end, np.int64)) for start, end in times]
        )


def play(
    program: RankProgram,
    fabric: Fabric,
    settings: ReplaySettings,
    abort: Callable[[BaseException], None],
    iteration_done: Callable[[int], None],
) -> list[Part]:
    """Plays on this rank; on rank 0 the parts of all ranks, else none."""
    player = Player(program, fabric, spender(settings.compute), abort, settings.timeout_s)
    times = []
    for number in range(settings.warmup + settings.iterations):
        fabric.gather(b"")  # nobody begins before all are there
        times.append(player.play())
        iteration_done(number)
    own = Part(_machine(), program.row, times[settings.warmup :])
    return [Part.decode(part) for part in fabric.gather(own.encode())]


def measured(parts: Sequence[Part]) -> Measured:
    """The parts of all ranks, by rank, as one."""
    num_nodes, num_iterations = sum(len(part.row) for part in parts), len(parts[0].times)
    one_clock = len({part.machine for part in parts}) == 1
    columns = np.zeros((2, num_iterations, num_nodes), np.int64)
    for number in range(num_iterations):
        origins = [int(part.times[number][0].min(initial=2**62)) for part in parts]
        origin = min(origins)
        for part, own in zip(parts, origins, strict=True):
            for column, times in zip(columns[:, number], part.times[number], strict=True):
                column[part.row] = times - (origin if one_clock else own)
    return Measured(columns[0], columns[1], one_clock)


def _machine() -> str:
    """Since when which machine runs: ranks with the same share a clock."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
