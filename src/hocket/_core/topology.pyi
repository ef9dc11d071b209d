import numpy as np
from numpy.typing import NDArray

class Graph:
    def __init__(
        self,
        num_ranks: int,
        num_nodes: int,
        src: NDArray[np.int32],
        dst: NDArray[np.int32],
        latency_ps: NDArray[np.int64],
        bandwidth: NDArray[np.int64],
    ) -> None: ...
    @property
    def num_ranks(self) -> int: ...
    @property
    def num_nodes(self) -> int: ...
    def reversed(self) -> Graph: ...

def require_connected(graph: Graph) -> None: ...
