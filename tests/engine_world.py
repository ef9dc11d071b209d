"""A world in which every rank is a thread of this process that runs programs by the engine."""

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Barrier
from typing import Any

from hocket._core import executor as native
from hocket.runtime.device.threads import ThreadRank
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.connections import Connections
from hocket.runtime.engine.library import Library, ServedProgram
from hocket.runtime.run import Row, RunTask
from hocket.runtime.run.device import DeviceRanks
from hocket.runtime.run.measure import measure
from hocket.runtime.run.ranks import EngineRanks
from hocket.schedule import Program

#: Shared memory, TCP, messages that are only sent and received, and the device interpreter on threads.
CARRIERS = ("shm", "tcp", "messages", "device")
_TIMEOUT_S = 20


class Meeting:
    """Where ranks tell each other words."""

    def __init__(self, size: int) -> None:
        self._words = [""] * size
        self._barrier = Barrier(size)

    def tell(self, rank: int) -> Callable[[str], list[str]]:
        def told(words: str) -> list[str]:
            self._words[rank] = words
            self._barrier.wait(_TIMEOUT_S)
            everyones = list(self._words)
            self._barrier.wait(_TIMEOUT_S)  # before they tell something else
            return everyones

        return told


class Messages:
    """What only sends and receives, as MPI does: queues of this process."""

    def __init__(self, rank: int, queues: dict[tuple[int, int], "SimpleQueue[bytes]"]) -> None:
        self._rank, self._queues = rank, queues

    def exchange(self, sends: Sequence[tuple[int, int, int]], receives: Sequence[tuple[int, int, int]]) -> None:
        for peer, address, count in sends:
            self._queues[self._rank, peer].put(ctypes.string_at(address, count))
        for peer, address, count in receives:
            data = self._queues[peer, self._rank].get(timeout=_TIMEOUT_S)
            assert len(data) == count
            ctypes.memmove(address, data, count)


def run_by_engine(
    programs: Sequence[Program],
    task: RunTask,
    folder: Path,
    carried: str,
    *,
    lanes: int = 1,
    seed: int | None = None,
    slot_bytes: int = 4096,
) -> list[Row]:
    """The rows that all ranks measure alike. `lanes`, `seed` and `slot_bytes` (small, so that calls take several
    slices) are the device's."""
    library = Library("made", [ServedProgram(str(number), program) for number, program in enumerate(programs)])
    library.write(folder, exchanging=carried == "messages")
    size = task.num_ranks
    meeting = Meeting(size)
    wiring = Wiring.of(programs)
    queues: dict[Any, SimpleQueue[bytes]] = {(a, b): SimpleQueue() for a in range(size) for b in range(size)}

    def rank_rows(rank: int) -> list[Row]:
        if carried == "messages":
            transport = native.Messages(Messages(rank, queues), False)
            return list(measure(task, EngineRanks(task, rank, transport, folder, _TIMEOUT_S)))
        here = Connections(rank, meeting.tell(rank), "127.0.0.1", carried in ("shm", "device"))
        try:
            if carried == "device":
                window = wiring.window(slot_bytes, slot_bytes)
                device = ThreadRank(wiring, rank, meeting.tell(rank), lanes=lanes, seed=seed, window=window)
                return list(measure(task, DeviceRanks(task, here, wiring, device, folder, _TIMEOUT_S)))
            ranks = EngineRanks(task, rank, here.mesh, folder, _TIMEOUT_S, lambda part: here.open(part, 20_000))
            rows = list(measure(task, ranks))
            assert here.mesh.transports == {"shm": "shared memory", "tcp": "TCP"}[carried]
            return rows
        finally:
            here.mesh.close()

    with ThreadPoolExecutor(size) as threads:
        rows = list(threads.map(rank_rows, range(size)))
    assert all(other == rows[0] for other in rows)
    return rows[0]
