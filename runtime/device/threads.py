"""A rank whose programs run on threads of this machine's processors, by the source that GPUs run."""

import os
from collections.abc import Callable
from pathlib import Path

from hocket._core import device as native
from hocket._core import executor
from hocket.base.errors import HocketError
from hocket.runtime.device.wiring import Wiring

__all__ = ["ThreadRank"]


class ThreadRank:
    """Making it is collective: `tell` gives every rank's words for this rank's, by rank; all are processes of one
    machine, or threads of one process. `lanes`: threads of each thread block; with a `seed` they stop at random.

    Raises HocketError where the ranks cannot share memory.
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
        own = native.SharedWindow(window.bytes)
        here = _machine()
        answers = [words.split("|") for words in tell(f"{here}|{os.getpid()}|{own.descriptor}")]
        if any(machine != here for machine, _, _ in answers):
            raise HocketError("the device engine is for ranks of one machine that see each other's processes")
        places = [(int(process), int(descriptor)) for _, process, descriptor in answers]
        # what is mapped stays, whoever ends
        self._windows = [
            own if other == rank else native.SharedWindow(window.bytes, *place) for other, place in enumerate(places)
        ]
        addresses = [one.address for one in self._windows]
        self._threads = native.Threads(rank, addresses, window, wiring.most_blocks, lanes, seed)
        tell("mapped")  # nobody closes its own before

    @property
    def lost(self) -> int:
        """The rank that this one waited for in vain, -1 where it did not."""
        return self._threads.lost

    def close(self) -> None:
        """Tells the others that this rank gives up."""
        self._threads.close()

    def tables(self, number: int, part: executor.Program) -> native.Tables:
        """This rank's part of the program at that position of the library, ready to be run."""
        return self._wiring.tables(number, self._rank, part)

    def run(
        self,
        library: executor.Library,
        number: int,
        tables: native.Tables,
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
        tables: native.Tables,
        buffers: tuple[int, int, bool],
        share_bytes: int,
        element_bytes: int,
        way: native.Way,
    ) -> None:
        """As `run`, on a caller's own buffers (0: none), which are one or two, by a program for either way."""
        native.serve(self._threads, library, choice, tables, self._rank, *buffers, share_bytes, element_bytes, way)


def _machine() -> str:
    """Of this boot of this machine, and what of its processes can be seen from here."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink("/proc/self/ns/pid")
