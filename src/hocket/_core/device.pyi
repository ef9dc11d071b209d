from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hocket._core.executor import Library, Program


class Window:
    def __init__(self, connections: int, plain_slots: int, slot_bytes: int, packet_bytes: int) -> None: ...

    @property
    def connections(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class Tables:
    def __init__(self, program: Program, numbers: NDArray[np.int32], largest_count: int) -> None: ...

    @property
    def num_blocks(self) -> int: ...

    @property
    def scratch_chunks(self) -> int: ...

    @property
    def blocks(self) -> bytes: ...

    @property
    def steps(self) -> bytes: ...

class SwitchWindow:
    def __init__(self, place: int, chunk_bytes: int, stripe_bytes: int, chunks: int, blocks: int, ranks: int) -> None: ...

    @property
    def num_blocks(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class SwitchTables:
    def __init__(self, rows: NDArray[np.int32], adds: bool, spreads: bool) -> None: ...

    @property
    def runs(self) -> bytes: ...

class Way:
    def __init__(self, element: int, reduction: int, is_mean: bool, depth: int, packets: bool, signature: int, timeout_ms: int) -> None: ...

class SharedWindow:
    @overload
    def __init__(self, bytes: int) -> None: ...

    @overload
    def __init__(self, bytes: int, process: int, descriptor: int) -> None: ...

    @property
    def address(self) -> int: ...

    @property
    def descriptor(self) -> int: ...

class Threads:
    def __init__(self, rank: int, windows: Sequence[int], processes: Sequence[int], window: Window, most_blocks: int, switches: SwitchWindow | None, lanes: int, seed: int | None) -> None: ...

    @property
    def lost(self) -> int: ...

    def close(self) -> None: ...

def serve(threads: Threads, library: Library, choice: tuple[int, bool], tables: Tables | SwitchTables, rank: int, input: int, output: int, are_one: bool, share_bytes: int, element_bytes: int, way: Way) -> None: ...

def run(
    threads: Threads,
    library: Library,
    number: int,
    tables: Tables | SwitchTables,
    input: int,
    output: int,
    share_bytes: int,
    element_bytes: int,
    way: Way,
) -> None: ...
def launch_bytes(tables: Tables, window: Window, library: Library, number: int, rank: int, input: int, output: int, share_bytes: int, element_bytes: int, way: Way, windows: int, blocks: int, steps: int, scratch: int, state: Sequence[int]) -> bytes: ...

def switch_launch_bytes(tables: SwitchTables, window: SwitchWindow, library: Library, number: int, rank: int, input: int, output: int, share_bytes: int, element_bytes: int, way: Way, windows: int, multicast: int, runs: int, failure: int, met: int) -> bytes: ...

def failure_of(word: int) -> tuple[int, str] | None: ...

LINE_BYTES: int = 128
