"""What NCCL chooses on a machine: paths, channels, and the model of src/graph/tuning.cc."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

class Settings:
    """NCCL's variables (core/include/hocket/nccl/settings.hpp); -2 where NCCL decides."""

    cross_nic: int
    p2p_level: int
    net_gdr_level: int
    net_gdr_read: int
    net_gdr_c2c: int
    pxn_disable: int
    pxn_c2c: int
    nvb_disable: int
    net_devices: int
    most_net_devices: int
    min_channels: int
    max_channels: int
    min_ctas: int
    max_ctas: int
    nvls_enable: int
    nvls_channels: int
    pat_enable: int
    ll128_c2c: int
    net_overhead_ns: int
    threads: int
    ll128_threads: int
    thread_thresholds: list[list[int]]
    algorithms: list[list[int]]
    protocols: list[list[int]]

    def __init__(self) -> None: ...

class Graph(TypedDict):
    pattern: int
    cross_nic: int
    channels: int
    intra: float
    inter: float
    latency: float
    type_intra: int
    type_inter: int
    same_channels: bool
    gpus: NDArray[np.int32]
    nets: NDArray[np.int32]

def default_constants() -> NDArray[np.float64]:
    """NCCL's 144 (core/include/hocket/nccl/constants.hpp), one after the other."""

class Model:
    def __init__(
        self, elements: NDArray[np.int64], machines: int, settings: Settings, constants: NDArray[np.float64]
    ) -> None: ...
    def choose(
        self, function: int, bytes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
        """Algorithm, protocol, us, channels and warps of each size."""
    def terms(self, function: int, bytes: int) -> list[tuple[int, int, int, float, float, float]]:
        """Algorithm, protocol, why it is out (0: it is not), us of latency, GB/s, us for the size (-1: out)."""
    def steps(self, algorithm: int, protocol: int) -> tuple[float, float, float]:
        """us without any step, of one inside a machine, of one to another."""
    def channels_for(self, algorithm: int, protocol: int, bytes: int) -> int: ...
    @property
    def ring(self) -> Graph: ...
    @property
    def tree(self) -> Graph: ...
    @property
    def nvls(self) -> Graph: ...
    @property
    def channels(self) -> int: ...
    @property
    def nvls_channels(self) -> int: ...
    @property
    def gpus(self) -> int: ...
    @property
    def ranks(self) -> int: ...
