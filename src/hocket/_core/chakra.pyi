from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.trace import Trace

def whole_records(bytes: NDArray[np.uint8], source: str, byte: int) -> int: ...
def read_nodes(
    records: NDArray[np.uint8], source: str, byte: int, row: int, keep_rest: bool
) -> tuple[dict[str, Any], tuple[str, ...]]: ...
def find_dependency_faults(
    trace: Trace, max_cycles: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], list[list[int]]]: ...
def chain_threads(
    calls: list[NDArray[np.int64]], spans: list[NDArray[np.int64]], marks: NDArray[np.int64], main: int, end: int
) -> tuple[
    NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]
]: ...

class Encoder:
    def __init__(self, trace: Trace) -> None: ...
    def encode(self, begin: int, end: int) -> bytes: ...
