"""Small inputs in ASTRA-sim's formats, written by the test that needs them."""

import json
from pathlib import Path
from typing import Any

from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.simulator.astra import AstraPrediction, read_setup, simulate_astra

SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 1600,
    "boost-mode": 0,
}
RING4 = "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50.0]\nlatency: [500.0]\n"


def collective(kind: CollectiveType, num_bytes: int, **attributes: Any) -> Trace:
    """A trace of one collective."""
    builder = TraceBuilder()
    builder.add_collective("it", kind, num_bytes, **attributes)
    return builder.build()


class Folder:
    """Writes an input and runs it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write(RING4, SYSTEM)

    def write(self, network: str | None = None, system: dict[str, object] | None = None) -> None:
        if network is not None:
            (self.path / "network.yml").write_text(network)
        if system is not None:
            (self.path / "system.json").write_text(json.dumps(system))

    def write_traces(self, traces: tuple[Trace, ...], groups: dict[str, tuple[int, ...]] | None = None) -> None:
        write_traces(self.path / "t", TraceSet(traces, groups or {}))

    def simulate(self, traces: tuple[Trace, ...], memory: str | None = None, **options: Any) -> AstraPrediction:
        groups = options.pop("groups", {})
        if memory is not None:
            (self.path / "mem.json").write_text(memory)
        self.write_traces(traces, groups)
        setup = read_setup(
            self.path / "network.yml",
            self.path / "system.json",
            None if memory is None else self.path / "mem.json",
            **options,
        )
        return simulate_astra(read_traces(self.path / "t"), setup)
