"""Runs traces as ASTRA-sim does."""

from typing import Any

from numpy.typing import NDArray

from hocket._core import astra as engine
from hocket.chakra import TraceSet
from hocket.chakra.messages import read_messages
from hocket.core.errors import SimulationError, TraceError
from hocket.simulator.astra.artefacts import artefacts
from hocket.simulator.astra.collectives import Collectives
from hocket.simulator.astra.deadlock import explain
from hocket.simulator.astra.prediction import AstraPrediction
from hocket.simulator.astra.program import Action, Nodes, Resource, columns_of
from hocket.simulator.astra.setup import AstraSetup
from hocket.simulator.astra.system import Backend

__all__ = ["simulate_astra"]

# The engine's numbers.
_SHAPES = ("Ring", "FullyConnected", "Switch")
_POLICIES = ("FIFO", "LIFO", "EXPLICIT")
_MEMORIES = ("NO_MEMORY_EXPANSION", "PER_NPU_MEMORY_EXPANSION", "PER_NODE_MEMORY_EXPANSION", "MEMORY_POOL")


def simulate_astra(traces: TraceSet, setup: AstraSetup) -> AstraPrediction:
    """ASTRA-sim's finish and exposed cycles of every rank, with notes where they are artefacts of its model.

    Raises TraceError, FormatError or SimulationError, naming file and node, where ASTRA-sim crashes or hangs on the
    input, and DeadlockError with the chain of waits where ranks do not finish.
    """
    if traces.num_ranks != setup.num_ranks:
        raise TraceError(
            f"{traces.num_ranks} ranks have traces, the network has {setup.num_ranks}: they must be as many"
        )
    nodes = Nodes(traces)
    replay_only = bool(setup.system.replay_only)
    columns = columns_of(nodes, setup.num_ranks, replay_only)
    if setup.system.roofline_enabled and not replay_only:
        _apply_roofline(nodes, columns)
    _check_memory(nodes, columns, setup)
    if setup.system.track_local_mem:
        _check_tensors(traces)
    collectives = Collectives(nodes, columns, setup)
    outcome = _run(columns, collectives, setup)
    if (outcome["finish_ns"] < 0).any():
        explain(nodes, outcome)
    if len(outcome["crashed"]):
        raise SimulationError(
            f"rank {outcome['crashed'][0]}: ASTRA-sim aborts in its statistics when a rank that ran CPU or"
            " remote-memory nodes ends with a message's arrival; simulate without --compat"
        )
    return AstraPrediction(
        backend=str(setup.backend),
        finish_ns=outcome["finish_ns"],
        compute_ns=outcome["compute_ns"],
        notes=tuple(artefacts(nodes, columns, setup, outcome)),
        messages=outcome["messages"],
        events=outcome["events"],
    )


def _apply_roofline(nodes: Nodes, columns: dict[str, NDArray[Any]]) -> None:
    """Computations of the accelerator last as long as the roofline says; those without a tensor are skipped."""
    computes = (columns["action"] == Action.REPLAY) & (columns["resource"] == Resource.ACCELERATOR)
    for column, attribute in (("num_ops", "num_ops"), ("tensor_bytes", "tensor_size")):
        nodes.require(~computes | (columns[column] >= 0), f"{attribute} is missing; roofline-enabled needs it")
    columns["action"][computes] = Action.ROOFLINE
    columns["action"][computes & (columns["tensor_bytes"] == 0)] = Action.SKIP


def _check_memory(nodes: Nodes, columns: dict[str, NDArray[Any]], setup: AstraSetup) -> None:
    accesses = columns["action"] == Action.MEMORY
    if setup.memory.memory_type == "NO_MEMORY_EXPANSION":
        nodes.require(~accesses, "remote memory is accessed, and there is none; give --memory")
    nodes.require(~accesses | (columns["tensor_bytes"] >= 0), "tensor_size is missing; a memory node needs it")
    if setup.memory.memory_type == "PER_NODE_MEMORY_EXPANSION":
        on_node = nodes.rank // setup.memory.num_npus_per_node < setup.memory.num_nodes
        nodes.require(~accesses | on_node, "its rank is on none of the memory file's num-nodes nodes")


def _check_tensors(traces: TraceSet) -> None:
    """With track-local-mem every node must list its tensors, or ASTRA-sim does not get beyond it."""
    for path in traces.paths:
        _, *messages = read_messages(path)
        message: Any
        for message in messages:
            missing = {"inputs", "outputs"} - {attribute.name for attribute in message.attr}
            if missing:
                raise TraceError(
                    f"{path}: node {message.id} '{message.name}': attribute {min(missing)} is missing, which"
                    " track-local-mem needs; set it to 0: it changes no times"
                )


def _run(columns: dict[str, NDArray[Any]], collectives: Collectives, setup: AstraSetup) -> dict[str, Any]:
    system, memory = setup.system, setup.memory
    return engine.simulate(
        dimensions=[
            (_SHAPES.index(dimension.shape), dimension.size, dimension.bytes_per_ns, dimension.latency_ns)
            for dimension in setup.dimensions
        ],
        memory=(
            _MEMORIES.index(memory.memory_type),
            memory.remote_mem_latency,
            float(memory.remote_mem_bw),
            memory.num_npus_per_node,
        ),
        groups=collectives.groups,
        workload=engine.Program(**columns),
        custom=[engine.Program(**graph) for graph in collectives.custom],
        implementations=[[(one.algorithm, one.window, one.flat) for one in kind] for kind in setup.implementations],
        policy=_POLICIES.index(system.scheduling_policy or "EXPLICIT"),
        shrinking=system.collective_optimization == "localBWAware",
        congestion=setup.backend is Backend.CONGESTION,
        rendezvous=setup.rendezvous,
        splits=system.preferred_dataset_splits or 1,
        active_chunks=system.active_chunks_per_dimension,
        queues_per_dimension=setup.queues_per_dimension,
        endpoint_delay=setup.endpoint_delay_ns,
        local_memory_bandwidth=system.local_mem_bw * 1e9,
        peak_performance=system.peak_perf * 1e12,
    )
