"""What claims are measured with: ASTRA-sim's rules, Hocket's models, its synthesizer. Times are kept: many claims ask
for the same."""

from functools import cache

from hocket.api.simulate.request import Simulation
from hocket.base.errors import Stopped
from hocket.bench.astra_sim_equality import trace_of
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.schedule import AnySchedule, Collective, Kind, Schedule
from hocket.simulator import simulate_traces
from hocket.simulator.astra import AstraDimension, AstraSetup, SystemFile, simulate_astra
from hocket.synthesizer import Problem, Search, solve
from hocket.topology import load
from hocket.topology.failures import without

__all__ = [
    "Dimensions",
    "astra_ns",
    "bound_ps",
    "full_per_dimension_ps",
    "search",
    "simulated_ps",
    "synthesized",
    "synthesized_ps",
    "transfers_of",
]

#: Of each: ASTRA-sim's word, ranks, bandwidth in GB/s (2^30), latency in ns.
Dimensions = tuple[tuple[str, int, float, float], ...]


@cache
def astra_ns(
    collective: str,
    dimensions: Dimensions,
    size_bytes: int,
    implementation: tuple[str, ...],
    *,
    splits: int = 4,
    active_chunks: int = 1,
    localized: bool = True,
) -> int:
    """ASTRA-sim's time in ns of `allreduce`, `allgather` and the like; `localized`: its `localBWAware`."""
    system = SystemFile(
        scheduling_policy="LIFO",
        collective_optimization="localBWAware" if localized else "baseline",
        all_reduce_implementation=implementation,
        all_gather_implementation=implementation,
        reduce_scatter_implementation=implementation,
        all_to_all_implementation=implementation,
        preferred_dataset_splits=splits,
        active_chunks_per_dimension=active_chunks,
        endpoint_delay=10.0,
        local_mem_bw=1600.0,
    )
    setup = AstraSetup(tuple(AstraDimension(*each) for each in dimensions), system)
    trace = trace_of({"collective": collective, "size_bytes": str(size_bytes)})
    return simulate_astra(TraceSet((trace,) * setup.num_ranks), setup).time_ns


@cache
def simulated_ps(
    collective: str, topology: str, size_bytes: int, algorithm: str, *, chunks: int = 1, model: str = "congestion"
) -> int:
    """`hocket.simulate`'s time of a native algorithm."""
    request = Simulation.of(
        collective, topology, size_bytes, algorithm=algorithm, chunks=chunks, model=model, library="none"
    )
    time_ps: int = request.perform().time_ps
    return time_ps


def bound_ps(collective: str, topology: str, size_bytes: int) -> int:
    """The time that nothing can beat on these links."""
    return int(Simulation.of(collective, topology, size_bytes, model="bound").perform().bound_ps)


def search(
    collective: str,
    topology: str,
    size_bytes: int,
    *,
    chunks: int | None = None,
    engine: str = "auto",
    failed: tuple[str, ...] = (),
) -> AnySchedule:
    """The synthesizer's proved schedule, links blocked during their latency as in TACOS; `chunks` a rank, None: the
    best number. Raises KeyboardInterrupt on Ctrl-C, where a search by itself takes what it has found by then."""
    network = load(topology)
    network = without(network, failed) if failed else network
    problem = Problem(Collective(Kind(collective), network.num_ranks, size_bytes, chunks or 1), network, blocking=True)
    attended = Search(threads=1)
    try:
        found = solve(problem, attended, engine=engine, free_chunks=chunks is None)
    except Stopped as error:
        raise KeyboardInterrupt from error
    if attended.progress.interrupted:
        raise KeyboardInterrupt
    return found.schedule


synthesized = cache(search)


def synthesized_ps(collective: str, topology: str, size_bytes: int, *, chunks: int | None = None) -> int:
    """The time of that schedule."""
    return synthesized(collective, topology, size_bytes, chunks=chunks).time_ps


def transfers_of(schedule: AnySchedule) -> Schedule:
    """The schedule with all its transfers."""
    return schedule if isinstance(schedule, Schedule) else schedule.expand()


@cache
def full_per_dimension_ps(topology: str, inner: int, outer: int, size_bytes: int, chunks: int) -> int:
    """The time of what ASTRA-sim's `baseline` does, in Hocket's congestion model: each chunk of the whole buffer is
    reduced among the inner ranks and then among the outer ones, a chunk after the other in both."""
    inside = {f"inside {row}": tuple(range(row * inner, (row + 1) * inner)) for row in range(outer)}
    across = {f"across {column}": tuple(range(column, inner * outer, inner)) for column in range(inner)}
    traces = []
    for rank in range(inner * outer):
        builder = TraceBuilder()
        before: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        for chunk in range(chunks):
            share = size_bytes // chunks
            group = f"inside {rank // inner}"
            first = builder.add_collective(
                f"inside {chunk}", CollectiveType.ALL_REDUCE, share, group=group, deps=before[0]
            )
            group = f"across {rank % inner}"
            second = builder.add_collective(
                f"across {chunk}", CollectiveType.ALL_REDUCE, share, group=group, deps=(first, *before[1])
            )
            before = (first,), (second,)
        traces.append(builder.build())
    return simulate_traces(TraceSet(tuple(traces), inside | across), load(topology), folded=True).time_ps
