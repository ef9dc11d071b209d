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

def gpu_elements(
    chunks: NDArray[np.int64],
    first_block: NDArray[np.int64],
    send: NDArray[np.int32],
    receive: NDArray[np.int32],
    channel: NDArray[np.int32],
    first_step: NDArray[np.int64],
    type: NDArray[np.uint8],
    source_buffer: NDArray[np.uint8],
    source_offset: NDArray[np.int32],
    target_buffer: NDArray[np.uint8],
    target_offset: NDArray[np.int32],
    count: NDArray[np.int32],
    depend_block: NDArray[np.int32],
    depend_step: NDArray[np.int32],
    has_dependents: NDArray[np.uint8],
    types: list[str],
    buffers: list[str],
) -> str: ...

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
