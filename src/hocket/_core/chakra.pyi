from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.trace import Trace

def read(file: NDArray[np.uint8], source: str) -> tuple[dict[str, Any], tuple[str, ...], bytes]: ...
def find_dependency_faults(
    trace: Trace, max_cycles: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], list[list[int]]]: ...

class Encoder:
    def __init__(self, trace: Trace) -> None: ...
    def encode(self, begin: int, end: int) -> bytes: ...
