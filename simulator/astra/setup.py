"""What a simulation runs on: ASTRA-sim's network, system and remote-memory files, checked against each other."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hocket._core import astra as engine
from hocket.base.errors import FormatError, TopologyError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import read_yaml
from hocket.simulator.astra.system import (
    KIND_NAMES,
    AstraBackend,
    Implementation,
    MemoryFile,
    SystemFile,
    implementations_of,
    read_memory,
    read_system,
)
from hocket.topology.formats.astra_sim import read_network

__all__ = ["AstraDimension", "AstraSetup", "read_setup"]

# The engine's numbers.
_SHAPES = ("Ring", "FullyConnected", "Switch")
_POLICIES = ("FIFO", "LIFO", "EXPLICIT")
_MEMORIES = ("NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL")

_BYTES_PER_GB = 1 << 30  # on links; memories count 1e9
_DEFAULT_ENDPOINT_DELAY_NS = 10  # which the injection scale leaves alone


@dataclass(frozen=True)
class AstraDimension:
    """One dimension of the network; latency in nanoseconds of one link, bandwidth in 2^30 bytes/s."""

    shape: str
    size: int
    bandwidth: float
    latency_ns: float

    @property
    def bytes_per_ns(self) -> float:
        """As ASTRA-sim computes it."""
        return self.bandwidth * _BYTES_PER_GB / 1e9

    @property
    def num_links(self) -> int:
        """Directed links of one instance of the dimension."""
        if self.shape == "FullyConnected":
            return self.size * (self.size - 1)
        return 2 * self.size if self.shape == "Switch" or self.size > 2 else self.size


@dataclass(frozen=True)
class AstraSetup:
    """Files and command-line options together. `system_path` is the system file, for messages and paths beside it.

    Raises FormatError when a collective has more algorithms than there are dimensions.
    """

    dimensions: tuple[AstraDimension, ...]
    system: SystemFile
    memory: MemoryFile = field(default_factory=MemoryFile)
    backend: AstraBackend = AstraBackend.ANALYTICAL
    queues_per_dimension: int = 1
    injection_scale: float = 1.0
    rendezvous: bool = False
    system_path: Path = Path("system.json")

    def __post_init__(self) -> None:
        for name, configured in zip(KIND_NAMES.values(), self.implementations, strict=True):
            if len(configured) > len(self.dimensions) and not configured[0].flat:
                raise FormatError(
                    f"{self.system_path}: {name}-implementation: {len(configured)} algorithms for"
                    f" {len(self.dimensions)} dimensions; give one a dimension"
                )

    @cached_property
    def implementations(self) -> tuple[tuple[Implementation, ...], ...]:
        """The algorithms of each collective of KIND_NAMES, in its order."""
        return tuple(implementations_of(self.system, name, self.system_path) for name in KIND_NAMES.values())

    @property
    def num_ranks(self) -> int:
        """The product of the dimensions' sizes."""
        ranks = 1
        for dimension in self.dimensions:
            ranks *= dimension.size
        return ranks

    @property
    def endpoint_delay_ns(self) -> int:
        """What is paid before the first message of a phase and after every message received."""
        if self.system.endpoint_delay is None:
            return _DEFAULT_ENDPOINT_DELAY_NS
        return int(int(self.system.endpoint_delay) * self.injection_scale)

    @cached_property
    def native(self) -> engine.Setup:
        """All of it as the engine takes it."""
        system, memory = self.system, self.memory
        return engine.Setup(
            dimensions=[
                (_SHAPES.index(dimension.shape), dimension.size, dimension.bytes_per_ns, dimension.latency_ns)
                for dimension in self.dimensions
            ],
            memory=(
                _MEMORIES.index(memory.memory_type),
                memory.remote_mem_latency,
                float(memory.remote_mem_bw),
                memory.num_npus_per_node,
            ),
            implementations=[[(one.algorithm, one.window, one.flat) for one in kind] for kind in self.implementations],
            policy=_POLICIES.index(system.scheduling_policy or "EXPLICIT"),
            shrinking=system.collective_optimization == "localBWAware",
            congestion=self.backend is AstraBackend.CONGESTION,
            rendezvous=self.rendezvous,
            splits=system.preferred_dataset_splits or 1,
            active_chunks=system.active_chunks_per_dimension,
            queues_per_dimension=self.queues_per_dimension,
            endpoint_delay=self.endpoint_delay_ns,
            local_memory_bandwidth=system.local_mem_bw * 1e9,
            peak_performance=system.peak_perf * 1e12,
        )


def read_setup(
    network: Path | str,
    system: Path | str,
    memory: Path | str | None = None,
    *,
    backend: AstraBackend | str = AstraBackend.ANALYTICAL,
    queues_per_dimension: int = 1,
    injection_scale: float = 1.0,
    rendezvous: bool = False,
) -> AstraSetup:
    """Reads ASTRA-sim's files; the rest are its command-line options.

    Raises FormatError or TopologyError, naming the file and the key, for what ASTRA-sim refuses, crashes on or ignores.
    """
    document = read_yaml(read_text(network, YAML), str(network))
    read = read_network(document)
    for at, size in enumerate(read.npus_count):
        if size < 2:
            raise TopologyError(f"{document.where(f'$.npus_count[{at}]')}: a dimension needs at least 2 ranks")
    if AstraBackend(backend) is AstraBackend.CONGESTION and len(read.topology) > 1:
        raise TopologyError(
            f"{network}: ASTRA-sim's congestion-aware backend has one dimension, {len(read.topology)} given;"
            " use --model analytical, or simulate without --compat"
        )
    if AstraBackend(backend) is AstraBackend.CONGESTION and read.topology == ["Ring"] and read.npus_count == [2]:
        raise TopologyError(
            f"{network}: ASTRA-sim's congestion-aware Ring needs 3 ranks; FullyConnected is the same for 2"
        )
    return AstraSetup(
        dimensions=tuple(map(AstraDimension, read.topology, read.npus_count, read.bandwidth, read.latency)),
        system=read_system(system),
        memory=read_memory(memory),
        backend=AstraBackend(backend),
        queues_per_dimension=queues_per_dimension,
        injection_scale=injection_scale,
        rendezvous=rendezvous,
        system_path=Path(system),
    )
