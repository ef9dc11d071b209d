"""A rank whose programs run on threads of this machine's processors, by the source that GPUs run."""

import os
from collections.abc import Callable

from hocket._core import device as native
from hocket._core import executor
from hocket.base.errors import HocketError
from hocket.runtime.device.sharing import machine_word, require_no_objection, require_one_machine
from hocket.runtime.device.wiring import Wiring

__all__ = ["ThreadRank"]


class ThreadRank:
    """Making it is collective: `tell` gives every rank's words for this rank's, by rank; all are processes of one
    machine, or threads of one process. `lanes`: threads of each thread block; with a `seed` they stop at random.

    Raises NoSharedMemory, on all ranks alike, where they cannot share memory.
    """

    def __init__(
        self,
        wiring: Wiring,
        rank: int,
        tell: Callable[[str], list[str]],
        *,
        lanes: int = 1,
        seed: int | None = None,
        window: native.Window | None = None,
    ) -> None:
        self._wiring, self._rank = wiring, rank
        window = window or wiring.window()
        switches = wiring.switch_window(lanes, window)
        size = window.bytes if switches is None else switches.bytes
        own = native.SharedWindow(size)
        answers = [words.split("|") for words in tell(f"{machine_word()}|{os.getpid()}|{own.descriptor}")]
        require_one_machine([machine for machine, _, _ in answers])
        places = [(int(process), int(descriptor)) for _, process, descriptor in answers]
        self._windows: list[native.SharedWindow] = []  # what is mapped stays, whoever ends
        objection = ""
        try:
            for other, place in enumerate(places):
                self._windows.append(own if other == rank else native.SharedWindow(size, *place))
        except HocketError as error:
            objection = str(error)
        require_no_objection(tell(objection))  # nobody closes its own before
        addresses, processes = [one.address for one in self._windows], [process for process, _ in places]
        blocks = wiring.most_blocks
        self._threads = native.Threads(rank, addresses, processes, window, blocks, switches, lanes, seed)

    @property
    def lost(self) -> int:
        """The rank that this one waited for in vain, -1 where it did not."""
        return self._threads.lost

    def close(self) -> None:
        """Tells the others that this rank gives up."""
        self._threads.close()

    def tables(self, number: int, part: executor.Program | None) -> native.Tables | native.SwitchTables:
        """This rank's part of the program at that position of the library (None: it goes over switches), ready to be
        run."""
        return self._wiring.tables(number, self._rank, part)

    def run(
        self,
        library: executor.Library,
        number: int,
        tables: native.Tables | native.SwitchTables,
        buffers: tuple[int, int],
        share_bytes: int,
        element_bytes: int,
        way: native.Way,
    ) -> None:
        """Runs a program on memory that it may use as its input and output (addresses), of shares of whole chunks.

        Raises HocketError, naming thread block, step and peer, where a rank did not do its part, and so does every
        later call.
        """
        native.run(self._threads, library, number, tables, *buffers, share_bytes, element_bytes, way)

    def serve(
        self,
        library: executor.Library,
        choice: tuple[int, bool],
        tables: native.Tables | native.SwitchTables,
        buffers: tuple[int, int, bool],
        share_bytes: int,
        element_bytes: int,
        way: native.Way,
    ) -> None:
        """As `run`, on a caller's own buffers (0: none), which are one or two, by a program for either way."""
        native.serve(self._threads, library, choice, tables, self._rank, *buffers, share_bytes, element_bytes, way)
