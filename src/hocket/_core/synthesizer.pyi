import numpy as np
from numpy.typing import NDArray

from hocket._core.topology import Graph

Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]

class Network:
    def __init__(
        self,
        graph: Graph,
        route_offset: NDArray[np.int64],
        route_links: NDArray[np.int32],
        chunk_bytes: int,
        blocking: bool,
    ) -> None: ...
    @property
    def num_ranks(self) -> int: ...
    @property
    def num_links(self) -> int: ...
    @property
    def uniform(self) -> bool: ...
    @property
    def rounds_per_hop(self) -> int: ...

def matching(network: Network, origin: NDArray[np.int32], seed: int, attempts: int, target_ps: int) -> Columns: ...
def rounds(
    network: Network, origin: NDArray[np.int32], seed: int, attempts: int, target_ps: int, threads: int = 1
) -> Columns: ...
