from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

def lower(
    num_ranks: int,
    num_blocks: int,
    block: NDArray[np.int32],
    rank: NDArray[np.int32],
    count: NDArray[np.int32],
    reads: NDArray[np.int64],
    writes: NDArray[np.int64],
    message: NDArray[np.int64],
    after: NDArray[np.int64],
    priority: NDArray[np.int64],
    max_clock_entries: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...

class Markup(TypedDict):
    level: NDArray[np.uint8]
    parent: NDArray[np.int64]
    start: NDArray[np.int64]
    flaws: NDArray[np.uint8]
    element: NDArray[np.int64]
    key: NDArray[np.int32]
    value: NDArray[np.int32]
    strings: list[bytes]
    depth: int
    stop: int
    stopped_at: int

def read_markup(text: bytes) -> Markup: ...
