"""The networks of TACOS' evaluation as Hocket names them, and what its baselines take on them."""

from hocket.bench.claims.measures import simulated_ps, synthesized_ps
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.topology import load
from hocket.topology.failures import without

__all__ = [
    "GIB",
    "baseline_ps",
    "failed_ps",
    "fully_connected",
    "geometric_mean",
    "mesh",
    "ring_fc_switch",
    "ring_ps",
    "speedups",
]

GIB, _ALPHA = 2**30, "latency=500ns"


def mesh(shape: str, gib_per_second: int = 50) -> str:
    return f"mesh:{shape},bandwidth={gib_per_second}GiB/s,{_ALPHA}"


def fully_connected(ranks: int) -> str:
    return f"fully_connected:{ranks},bandwidth=50GiB/s,{_ALPHA}"


def ring_fc_switch(ranks: int) -> str:
    """Nodes of 2 x 4 NPUs, [200, 100] GB/s, joined by a switch of 50 GB/s whose ports stay turned to the next node."""
    return f"ring:2xfully_connected:4xunwound_switch:{ranks // 8},bandwidth=200/100/50GiB/s,{_ALPHA}"


def ring_ps(ranks: int, gib_per_second: int = 50, *, both: bool, size: int = GIB) -> int:
    """A ring all_reduce over a circle of links, in one direction or in both at once: on a network with a Hamiltonian
    circuit what a ring laid along it takes."""
    ring = f"ring:{ranks},bandwidth={gib_per_second}GiB/s,{_ALPHA}"
    return simulated_ps("all_reduce", ring, size, "multi_ring", chunks=2 if both else 1)


def baseline_ps(topology: str, algorithm: str, size: int = GIB, *, chunks: int = 1) -> int:
    """A native all_reduce."""
    return simulated_ps("all_reduce", topology, size, algorithm, chunks=chunks)


def failed_ps(topology: str, failed: tuple[str, ...], algorithm: str, size: int = GIB) -> int:
    """A native all_reduce on what is left of a network."""
    left = without(load(topology), failed)
    return simulate_collective(Collective(Kind.ALL_REDUCE, left.num_ranks, size), left, algorithm).time_ps


def speedups(topology: str, algorithms: dict[str, str], size: int = GIB) -> dict[str, float]:
    """Of the synthesized all_reduce over native ones, by the paper's names for them."""
    synthesized = synthesized_ps("all_reduce", topology, size)
    return {name: baseline_ps(topology, algorithm, size) / synthesized for name, algorithm in algorithms.items()}


def geometric_mean(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value
    return float(product ** (1 / len(values)))
