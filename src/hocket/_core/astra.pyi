from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Program:
    def __init__(
        self,
        rank_offset: NDArray[np.int64],
        action: NDArray[np.uint8],
        resource: NDArray[np.uint8],
        kind: NDArray[np.uint8],
        duration_ns: NDArray[np.int64],
        bytes: NDArray[np.int64],
        tag: NDArray[np.int64],
        priority: NDArray[np.int64],
        num_ops: NDArray[np.int64],
        tensor_bytes: NDArray[np.int64],
        peer: NDArray[np.int32],
        group: NDArray[np.int32],
        custom: NDArray[np.int32],
        dimensions: NDArray[np.uint32],
        dependency_offset: NDArray[np.int64],
        dependency: NDArray[np.int64],
    ) -> None: ...

class Setup:
    def __init__(
        self,
        dimensions: Sequence[tuple[int, int, float, float]],
        memory: tuple[int, int, float, int],
        implementations: Sequence[Sequence[tuple[int, int, bool]]],
        policy: int,
        shrinking: bool,
        congestion: bool,
        rendezvous: bool,
        splits: int,
        active_chunks: int,
        queues_per_dimension: int,
        endpoint_delay: int,
        local_memory_bandwidth: float,
        peak_performance: float,
    ) -> None: ...

def simulate(
    setup: Setup, groups: Sequence[tuple[Sequence[int], int]], workload: Program, custom: Sequence[Program]
) -> dict[str, Any]: ...
def simulate_alike(setup: Setup, workload: Program) -> dict[str, Any] | None: ...
def simulate_in_convoys(
    setup: Setup, groups: Sequence[tuple[Sequence[int], int]], workload: Program
) -> dict[str, Any] | None: ...
