"""ASTRA-sim's system and remote-memory files: all keys that version 518bd51 reads."""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from hocket.base.enums import StrEnum
from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest
from hocket.chakra import CollectiveType
from hocket.simulator.astra.strict_json import read_json

__all__ = [
    "KIND_NAMES",
    "AstraAlgorithm",
    "AstraBackend",
    "Implementation",
    "MemoryFile",
    "SystemFile",
    "implementations_of",
    "read_memory",
    "read_system",
]

# ASTRA-sim's collectives in the engine's order, with the word that its keys begin with.
KIND_NAMES = {
    CollectiveType.ALL_REDUCE: "all-reduce",
    CollectiveType.ALL_GATHER: "all-gather",
    CollectiveType.REDUCE_SCATTER: "reduce-scatter",
    CollectiveType.ALL_TO_ALL: "all-to-all",
}

_Switch = Literal[0, 1] | bool
_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e18)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=2**20)]


class AstraBackend(StrEnum):
    """ASTRA-sim's analytical network backends."""

    ANALYTICAL = "analytical"  # congestion-unaware
    CONGESTION = "congestion"  # congestion-aware


class AstraAlgorithm(IntEnum):
    """The engine's numbers."""

    RING = 0
    DIRECT = 1
    HALVING_DOUBLING = 2
    DOUBLE_BINARY_TREE = 3


@dataclass(frozen=True)
class Implementation:
    """How one dimension does its part of a collective; `window` is that of direct, -1: all messages at once."""

    name: str
    algorithm: AstraAlgorithm
    window: int
    flat: bool


class SystemFile(msgspec.Struct, forbid_unknown_fields=True, rename="kebab", frozen=True):
    """`boost-mode` is in all of ASTRA-sim's examples, which does not read it; the rest is as it reads them."""

    scheduling_policy: Literal["LIFO", "FIFO", "EXPLICIT"] | None = None
    collective_optimization: Literal["baseline", "localBWAware"] | None = None
    all_reduce_implementation: tuple[str, ...] = ()
    all_gather_implementation: tuple[str, ...] = ()
    reduce_scatter_implementation: tuple[str, ...] = ()
    all_to_all_implementation: tuple[str, ...] = ()
    all_reduce_implementation_custom: tuple[str, ...] | None = None
    all_gather_implementation_custom: tuple[str, ...] | None = None
    reduce_scatter_implementation_custom: tuple[str, ...] | None = None
    all_to_all_implementation_custom: tuple[str, ...] | None = None
    per_node_custom_implementation: str | None = None
    preferred_dataset_splits: _Count | None = None
    active_chunks_per_dimension: _Count = 1
    endpoint_delay: _Amount | None = None
    local_mem_bw: _Amount = 0
    peak_perf: _Amount = 0
    roofline_enabled: _Switch = 0
    replay_only: _Switch = 0
    trace_enabled: _Switch = 0
    track_local_mem: _Switch = 0
    local_mem_trace_filename: str = "local_mem_trace"
    model_shared_bus: _Switch = 0
    local_reduction_delay: _Amount = 1
    latency: _Amount = msgspec.field(default=0, name="L")
    overhead: _Amount = msgspec.field(default=0, name="o")
    gap: _Amount = msgspec.field(default=0, name="g")
    gap_per_byte: _Amount = msgspec.field(default=0, name="G")
    boost_mode: int = 0


class MemoryFile(msgspec.Struct, forbid_unknown_fields=True, rename="kebab", frozen=True):
    """Remote memory: latency in nanoseconds, bandwidth in bytes per nanosecond (1e9 bytes/s)."""

    memory_type: Literal[
        "NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL"
    ] = "NO_MEMORY_EXPANSION"
    remote_mem_latency: Annotated[int, msgspec.Meta(ge=0, le=2**50)] = 0
    remote_mem_bw: Annotated[int, msgspec.Meta(ge=0, le=2**50)] = 0
    num_nodes: int = 0
    num_npus_per_node: int = 0


def read_system(path: Path | str) -> SystemFile:
    """A system file. Raises FormatError, naming file and key, also for what has no meaning without another key."""
    system = read_json(path, SystemFile)
    for name in KIND_NAMES.values():
        custom = getattr(system, f"{name.replace('-', '_')}_implementation_custom")
        if custom is not None and len(custom) != 1:
            raise FormatError(f"{path}: {name}-implementation-custom: expected one path prefix, {len(custom)} given")
        implementations_of(system, name, path)
    if system.model_shared_bus:
        raise FormatError(
            f"{path}: model-shared-bus: the memory bus model (L, o, g, G) is not simulated; set it to 0 or leave it out"
        )
    if system.roofline_enabled and not (system.local_mem_bw and system.peak_perf):
        raise FormatError(f"{path}: roofline-enabled needs local-mem-bw (1e9 bytes/s) and peak-perf (TFLOP/s)")
    return system


def implementations_of(system: SystemFile, name: str, source: Path | str) -> tuple[Implementation, ...]:
    """The algorithms of a collective, one a dimension. Raises FormatError for an unknown name."""
    texts: tuple[str, ...] = getattr(system, f"{name.replace('-', '_')}_implementation")
    return tuple(_implementation(text, f"{source}: {name}-implementation") for text in texts)


def read_memory(path: Path | str | None) -> MemoryFile:
    """A remote-memory file; no remote memory without one. Raises FormatError, naming file and key."""
    if path is None:
        return MemoryFile()
    memory = read_json(path, MemoryFile)
    if memory.memory_type != "NO_MEMORY_EXPANSION" and memory.remote_mem_bw == 0:
        raise FormatError(f"{path}: remote-mem-bw: expected bytes per nanosecond, at least 1")
    if memory.memory_type == "PER_NODE_MEMORY_EXPANSION" and memory.num_npus_per_node < 1:
        raise FormatError(f"{path}: num-npus-per-node: expected ranks per node, at least 1")
    return memory


_ALGORITHMS = {
    "ring": (AstraAlgorithm.RING, False),
    "oneRing": (AstraAlgorithm.RING, True),
    "direct": (AstraAlgorithm.DIRECT, False),
    "oneDirect": (AstraAlgorithm.DIRECT, True),
    "halvingDoubling": (AstraAlgorithm.HALVING_DOUBLING, False),
    "oneHalvingDoubling": (AstraAlgorithm.HALVING_DOUBLING, True),
    "doubleBinaryTree": (AstraAlgorithm.DOUBLE_BINARY_TREE, False),
}
_WINDOWED = re.compile(r"((?:one)?[dD]irect)([1-9][0-9]{0,4})")


@cache
def _implementation(text: str, where: str) -> Implementation:
    window = -1
    name = text
    if match := _WINDOWED.fullmatch(text):
        name, window = match[1], int(match[2])
    if name not in _ALGORITHMS:
        raise FormatError(f"{where}: unknown algorithm '{text}'; {nearest(text, _ALGORITHMS)}, direct<window>")
    algorithm, flat = _ALGORITHMS[name]
    return Implementation(text, algorithm, window, flat)
