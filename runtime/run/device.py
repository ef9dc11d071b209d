"""One process' end of a world whose ranks run programs by the device interpreter, on threads."""

import pickle
from collections.abc import Callable
from pathlib import Path

from hocket._core import device as native
from hocket._core import executor
from hocket.runtime.device.threads import ThreadRank
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.connections import Connections
from hocket.runtime.engine.elements import ELEMENT_NUMBER, REDUCTION_NUMBER
from hocket.runtime.run.buffers import Buffers
from hocket.runtime.run.job import RunTask
from hocket.runtime.run.local import telling
from hocket.runtime.run.ranks import EngineRanks

__all__ = ["DeviceRanks", "join_device"]


def join_device(task: RunTask, here: Connections, folder: Path, timeout_s: float) -> "DeviceRanks":
    """This process' end, by what the launcher left in the folder."""
    wiring: Wiring = pickle.loads((folder / "wiring.pickle").read_bytes())
    device = ThreadRank(wiring, here.rank, telling(folder, here.rank, task.num_ranks, "window"))
    return DeviceRanks(task, here, wiring, device, folder, timeout_s)


class DeviceRanks(EngineRanks):
    """As `EngineRanks`, whose connections keep the ranks in step here; programs run on `device`."""

    def __init__(
        self, task: RunTask, here: Connections, wiring: Wiring, device: ThreadRank, folder: Path, timeout_s: float
    ) -> None:
        rank, limit_ms = here.rank, int(timeout_s * 1000)
        super().__init__(task, rank, here.mesh, folder, timeout_s, lambda part: here.open(part, limit_ms))
        self._wiring, self._device = wiring, device
        self._tables: dict[int, native.Tables | native.SwitchTables] = {}

    def runner(self, size_bytes: int, in_place: bool) -> Callable[[Buffers], None] | None:
        task, share = self._task, size_bytes // self._task.shares
        choice = self._library.find(task.kind, self.size, task.root, share, task.reduced_bytes, in_place)
        if choice is None:
            return None
        number = choice[0]
        if number not in self._tables:
            path = self._folder / f"{number}.{self.rank}"
            part = None if self._wiring.switched[number] else executor.Program(path.read_text(), str(path))
            self._tables[number] = self._device.tables(number, part)
        element, reduction = ELEMENT_NUMBER[task.reduced_type], REDUCTION_NUMBER[task.op]
        way = self._wiring.way(number, element, reduction, (size_bytes,), self._timeout_ms)

        def run(buffers: Buffers) -> None:
            places = *self._addresses(buffers), buffers.are_one
            self._device.serve(self._library, choice, self._tables[number], places, share, task.reduced_bytes, way)

        return run
