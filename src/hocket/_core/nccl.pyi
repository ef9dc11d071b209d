"""What NCCL chooses on a machine: paths, channels, and the model of src/graph/tuning.cc."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

class Settings:
    """NCCL's variables (core/include/hocket/nccl/settings.hpp), -2 where NCCL decides; and its `release`, 3007 of
    2.30.7."""

    release: int
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
    collnet_enable: int
    collnet_threshold: int
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
    def of(self, release: int) -> Settings:
        """The same, read by another release."""

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

class Given:
    """A user's channels, in place of those that would be searched."""

    def __init__(self) -> None: ...
    def add(
        self,
        id: int,
        pattern: int,
        cross_nic: int,
        intra: float,
        inter: float,
        latency: float,
        type_intra: int,
        type_inter: int,
        same_channels: bool,
        channels: int,
        gpus: NDArray[np.int32],
        nets: NDArray[np.int32],
    ) -> None: ...

class Model:
    def __init__(
        self,
        kinds: list[tuple[NDArray[np.int64], int]],
        settings: Settings,
        constants: NDArray[np.float64],
        given: Given = ...,
    ) -> None:
        """Kinds of machines: elements, and how many of them there are."""
    def choose(
        self, function: int, bytes: NDArray[np.int64], operations: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32], NDArray[np.int32], NDArray[np.int32]]:
        """Algorithm, protocol, us, channels and warps of each size."""
    def terms(self, function: int, bytes: int, operations: int = 1) -> list[tuple[int, int, int, float, float, float]]:
        """Algorithm, protocol, why it is out (0: it is not), us of latency, GB/s, us for the size (-1: out)."""
    def steps(self, algorithm: int, protocol: int) -> tuple[float, float, float]:
        """us without any step, of one inside a machine, of one to another."""
    def channels_for(self, algorithm: int, protocol: int, bytes: int) -> int: ...
    def relays(self, kind: int = 0) -> NDArray[np.int32]:
        """Of each GPU and NIC (GPUs x NICs) of a kind of machine, the GPU that sends for it there (PXN): often itself."""
    def graph(self, id: int, kind: int = 0) -> Graph:
        """The channels found on a kind of machine, as many as all have."""
    @property
    def channels(self) -> int: ...
    @property
    def nvls_channels(self) -> int: ...
    @property
    def machines(self) -> int: ...
    @property
    def ranks(self) -> int: ...

class TunerRule:
    """A row of a tuner table (docs/nccl-tuner.md). Ranges are (least, most), both included; -1 is any algorithm or protocol;
    0 channels or bytes of a chunk are NCCL's own."""

    @property
    def line(self) -> int: ...
    @property
    def function(self) -> int: ...
    @property
    def bytes(self) -> tuple[int, int]: ...
    @property
    def bytes_per_rank(self) -> tuple[int, int]: ...
    @property
    def nodes(self) -> tuple[int, int]: ...
    @property
    def ranks(self) -> tuple[int, int]: ...
    @property
    def pipe_operations(self) -> tuple[int, int]: ...
    @property
    def registered(self) -> tuple[int, int]: ...
    @property
    def domains(self) -> tuple[int, int]: ...
    @property
    def least_domain_ranks(self) -> tuple[int, int]: ...
    @property
    def most_domain_ranks(self) -> tuple[int, int]: ...
    @property
    def algorithm(self) -> int: ...
    @property
    def protocol(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def chunk_bytes(self) -> int: ...

class TunerConstant:
    """`index` counts doubles of ncclTunerConstants; `value` is in us or GB/s."""

    @property
    def line(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def value(self) -> float: ...
    @property
    def nodes(self) -> tuple[int, int]: ...
    @property
    def ranks(self) -> tuple[int, int]: ...

class TunerTable:
    def __init__(self, text: bytes) -> None:
        """Never raises on what the text holds: that is in `problems`."""
    @property
    def rules(self) -> list[TunerRule]: ...
    @property
    def constants(self) -> list[TunerConstant]: ...
    @property
    def problems(self) -> list[tuple[int, str]]:
        """Line, and what is wrong there. A table with problems is not used by the plugin."""
    def rewrite_constants(self, nodes: int, ranks: int, constants: NDArray[np.float64]) -> NDArray[np.float64]:
        """The 144 constants as the plugin leaves them on such a communicator."""

class CommunicatorRules:
    def __init__(
        self, table: TunerTable, nodes: int, ranks: int, domains: tuple[int, int, int] | None = None
    ) -> None:
        """`domains`: NVLink domains, least and most ranks of one; None where NCCL does not tell."""
    def choose(
        self, function: int, bytes: int, pipe_operations: int, registered: int, costs: NDArray[np.float32]
    ) -> tuple[int, int, int, int, list[int]]:
        """Index of the rule (-1: none), algorithm, protocol, channels, and the rules before it that cannot be had;
        `costs` are NCCL's us, 7 x 3 flat, negative where not available."""
    def chunk_bytes(self, function: int, bytes: int, algorithm: int, protocol: int, own: int) -> int:
        """Bytes of a chunk where NCCL would take `own`."""

def limits_channels(algorithm: int, nodes: int) -> bool:
    """Whether NCCL limits a tuner's number of channels to those there are; else the plugin passes none on."""
