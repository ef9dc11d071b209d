import numpy as np
from numpy.typing import NDArray

class Program:
    def __init__(
        self,
        chunks: NDArray[np.int64],
        endpoints: NDArray[np.int32],
        blocks: NDArray[np.int32],
        steps: NDArray[np.int32],
    ) -> None: ...

class Mesh:
    def __init__(self, rank: int, host: str, token: int, nearby: int) -> None: ...
    @property
    def port(self) -> int: ...
    @property
    def lost(self) -> int: ...
    def open(
        self,
        program: Program,
        hosts: list[str],
        ports: list[int],
        tokens: list[int],
        nearby: list[int],
        timeout_ms: int,
    ) -> None: ...
    def close(self) -> None: ...

def run(
    program: Program,
    mesh: Mesh,
    input: int,
    output: int,
    chunk_bytes: int,
    type: int,
    op: int,
    signature: int,
    timeout_ms: int,
) -> None: ...
def reduce(type: int, op: int, left: int, right: int, out: int, count: int) -> None: ...
