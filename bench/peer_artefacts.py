"""Where ASTRA-sim's published kind of result is an artefact of its model, and by how much: the same inputs in
compatibility mode (its exact numbers), next to the bound and to the physical model.

Run: python -m hocket.bench.peer_artefacts
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hocket.base.strict_yaml import read_yaml
from hocket.base.units import format_bytes, format_time
from hocket.bench.astra_sim_equality import trace_of
from hocket.bench.command_line import command_line
from hocket.chakra import TraceSet
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.simulator.astra import AstraDimension, AstraSetup, SystemFile, simulate_astra
from hocket.topology import Topology
from hocket.topology.formats.astra_sim import from_astra_sim

__all__ = ["CASES", "Case", "Verdict", "judge"]

_PICOSECONDS_PER_NANOSECOND = 1000


@dataclass(frozen=True)
class Case:
    """An all_reduce that both simulators run: dimensions as (shape, ranks, GiB/s, latency in ns), ASTRA-sim's system
    parameters, and the algorithm and chunks per rank that are the same in Hocket."""

    claim: str
    dimensions: tuple[tuple[str, int, float, float], ...]
    size_bytes: int
    implementation: tuple[str, ...]
    algorithm: str
    splits: int = 4
    active_chunks: int = 1
    optimization: str = "localBWAware"


@dataclass(frozen=True)
class Verdict:
    """Times of one case: ASTRA-sim's, the physical bound's and the congestion model's."""

    peer_ps: int
    bound_ps: int
    physical_ps: int


def _torus(*, slower: float) -> tuple[tuple[str, int, float, float], ...]:
    return ("Ring", 8, 600.0, 500.0), ("Ring", 8, 600.0 / slower, 500.0)


def _cases() -> Iterator[Case]:
    ring = (("Ring", 64, 50.0, 500.0),)
    for active in (1, 2, 4, 8, 16):
        yield Case(f"{active} active chunks", ring, 2**30, ("ring",), "ring", splits=16, active_chunks=active)
    yield Case("direct on a switch", (("Switch", 64, 50.0, 500.0),), 2**30, ("direct",), "direct")
    for ratio in (1, 48):
        for name, algorithm, implementation, optimization in (
            ("flat ring", "ring", ("oneRing",), "baseline"),
            ("hierarchy", "hierarchical", ("ring", "ring"), "baseline"),
            ("hierarchy, localBWAware", "hierarchical", ("ring", "ring"), "localBWAware"),
        ):
            claim = f"{name}, {ratio}:1"
            yield Case(claim, _torus(slower=ratio), 1000 * 2**20, implementation, algorithm, optimization=optimization)
    for shape in ((("Switch", 64, 50.0, 500.0),), (("Ring", 8, 50.0, 500.0),) * 2):
        algorithm = "ring" if len(shape) == 1 else "hierarchical"
        name = "switch" if len(shape) == 1 else "torus"
        yield Case(f"{name}, latency regime", shape, 1024, ("ring",) * len(shape), algorithm)


CASES = tuple(_cases())


def judge(case: Case) -> Verdict:
    """Runs one case both ways."""
    setup = AstraSetup(
        tuple(AstraDimension(*dimension) for dimension in case.dimensions),
        SystemFile(
            scheduling_policy="LIFO",
            collective_optimization=case.optimization,  # type: ignore[arg-type]  # one of the two literals
            all_reduce_implementation=case.implementation,
            all_gather_implementation=case.implementation,
            reduce_scatter_implementation=case.implementation,
            all_to_all_implementation=case.implementation,
            preferred_dataset_splits=case.splits,
            active_chunks_per_dimension=case.active_chunks,
            endpoint_delay=10.0,
            local_mem_bw=1600.0,
        ),
    )
    trace = trace_of({"collective": "allreduce", "size_bytes": str(case.size_bytes)})
    peer = simulate_astra(TraceSet((trace,) * setup.num_ranks), setup)
    topology = _topology(case)
    collective = Collective(Kind.ALL_REDUCE, setup.num_ranks, case.size_bytes, case.splits)
    physical = simulate_collective(collective, topology, case.algorithm)
    return Verdict(peer.time_ns * _PICOSECONDS_PER_NANOSECOND, physical.bound_ps, physical.time_ps)


def _topology(case: Case) -> Topology:
    """The same network, as the file that describes it to ASTRA-sim."""
    shapes, sizes, bandwidths, latencies = (list(column) for column in zip(*case.dimensions, strict=True))
    text = f"topology: {shapes}\nnpus_count: {sizes}\nbandwidth: {bandwidths}\nlatency: {latencies}\n"
    return from_astra_sim(read_yaml(text, case.claim))


def main() -> None:
    print(
        f"{'all_reduce':<30} {'size':>9}  {'ASTRA-sim':>10} {'bound':>10} {'of bound':>8}  {'physical':>10}"
        f" {'of bound':>8}  verdict"
    )
    for case in CASES:
        verdict = judge(case)
        peer, physical = verdict.peer_ps / verdict.bound_ps, verdict.physical_ps / verdict.bound_ps
        print(
            f"{case.claim:<30} {format_bytes(case.size_bytes):>9}  {format_time(verdict.peer_ps):>10}"
            f" {format_time(verdict.bound_ps):>10} {peer:8.3f}  {format_time(verdict.physical_ps):>10} {physical:8.3f}"
            f"  {'below the bound' if peer < 1 else f'{verdict.peer_ps / verdict.physical_ps:.2f}x the physical time'}"
        )


if __name__ == "__main__":
    command_line().parse_args()
    main()
