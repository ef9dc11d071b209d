"""Training steps that nobody ran, for claims about them."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from hocket.schedule import Schedule
from hocket.simulator import Prediction, simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.architecture import to_network
from hocket.workload.plan import HybridPlan
from hocket.workload.presets import PRESETS
from hocket.workload.training import generate_training

__all__ = ["exposed_ratio", "training"]

_BATCH = 32


def training(
    network: str,
    ranks: int,
    topology: str,
    algorithm: str,
    *,
    model_size: int = 1,
    compute_scale: Fraction = Fraction(1),
    steps: int = 1,
    schedules: Mapping[tuple[str, tuple[int, ...]], Schedule] | None = None,
) -> Prediction:
    """Steps of a published network on H100s, data-parallel among groups of `model_size`, all_reduce by `algorithm`."""
    plan = HybridPlan(ranks, model_size)
    layers = to_network(PRESETS[network](), plan, _BATCH)
    traces = generate_training(layers, plan, steps, ACCELERATORS["h100"])
    return simulate_traces(
        traces,
        load(topology),
        algorithms={"all_reduce": algorithm},
        compute_scale=compute_scale,
        schedules=schedules,
    )


@cache
def exposed_ratio(ranks: int, shape: str, compute_scale: Fraction) -> float:
    """Of a ResNet-50 step on a 3-D torus with quick links inside a package: exposed communication over computation."""
    links = "bandwidth=188/23.5/23.5GB/s,latency=90/200/200ns"
    found = training("resnet50", ranks, f"torus:{shape},{links}", "hierarchical", compute_scale=compute_scale)
    return float(max(found.exposed_ps)) / float(max(found.compute_ps))
