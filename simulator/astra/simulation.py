"""Runs traces as ASTRA-sim does."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core import astra as engine
from hocket.base.errors import SimulationError, TraceError
from hocket.chakra import TraceSet
from hocket.chakra.messages import read_messages
from hocket.simulator.astra.artefacts import artefacts
from hocket.simulator.astra.collectives import Collectives
from hocket.simulator.astra.deadlock import explain
from hocket.simulator.astra.prediction import AstraPrediction
from hocket.simulator.astra.program import Action, AstraNodes, Resource, are_alike, columns_of, columns_of_one
from hocket.simulator.astra.setup import AstraSetup

__all__ = ["simulate_astra"]


def simulate_astra(traces: TraceSet, setup: AstraSetup) -> AstraPrediction:
    """ASTRA-sim's finish and exposed cycles of every rank, with notes where they are artefacts of its model.

    Where all ranks run the same (one Trace for all, or files of equal content), the time it takes hardly depends on how
    many there are. Setups can be used again, and what is computed from one is kept.

    Raises TraceError, FormatError or SimulationError, naming file and node, where ASTRA-sim crashes or hangs on the
    input, and DeadlockError with the chain of waits where ranks do not finish.
    """
    if traces.num_ranks != setup.num_ranks:
        raise TraceError(
            f"{traces.num_ranks} ranks have traces, the network has {setup.num_ranks}: they must be as many"
        )
    replay_only = bool(setup.system.replay_only)
    if setup.system.track_local_mem:
        _check_tensors(traces)
    if are_alike(tuple(traces.traces)):
        one = _Workload(*columns_of_one(traces.traces[0], traces.paths[:1], replay_only), setup)
        outcome = engine.simulate_alike(setup.native, one.program)
        if outcome is not None:
            return one.prediction(outcome)
    nodes = AstraNodes(traces)
    workload = _Workload(nodes, columns_of(nodes, setup.num_ranks, replay_only), setup)
    groups, custom = workload.collectives.groups, workload.collectives.custom
    outcome = None if custom else engine.simulate_in_convoys(setup.native, groups, workload.program)
    if outcome is None:
        graphs = [engine.Program(**graph) for graph in custom]
        outcome = engine.simulate(setup.native, groups, workload.program, graphs)
    if (outcome["finish_ns"] < 0).any():
        explain(workload.nodes, workload.columns["group"], outcome)
    if len(outcome["crashed"]):
        raise SimulationError(
            f"rank {outcome['crashed'][0]}: ASTRA-sim aborts in its statistics when a rank that ran CPU or"
            " remote-memory nodes ends with a message's arrival; simulate without --compat"
        )
    return workload.prediction(outcome)


class _Workload:
    """Nodes checked for a setup, and as the engine takes them: those of all ranks, or one's that stand for all."""

    def __init__(self, nodes: AstraNodes, columns: Mapping[str, NDArray[Any]], setup: AstraSetup) -> None:
        self.nodes = nodes
        self.setup = setup
        self.columns = dict(columns)
        if setup.system.roofline_enabled and not setup.system.replay_only:
            self.columns["action"] = _with_roofline(nodes, columns)
        _check_memory(nodes, self.columns, setup)
        self.collectives = Collectives(nodes, self.columns, setup)
        self.program = engine.Program(**self.columns)

    def prediction(self, outcome: dict[str, Any]) -> AstraPrediction:
        return AstraPrediction(
            backend=str(self.setup.backend),
            finish_ns=outcome["finish_ns"],
            compute_ns=outcome["compute_ns"],
            notes=tuple(artefacts(self.nodes, self.columns, self.setup, outcome)),
            messages=outcome["messages"],
            events=outcome["events"],
        )


def _with_roofline(nodes: AstraNodes, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Actions: computations of the accelerator last as the roofline says; those without a tensor are skipped."""
    computes = (columns["action"] == Action.REPLAY) & (columns["resource"] == Resource.ACCELERATOR)
    for column, attribute in (("num_ops", "num_ops"), ("tensor_bytes", "tensor_size")):
        nodes.require(~computes | (columns[column] >= 0), f"{attribute} is missing; roofline-enabled needs it")
    skipped = computes & (columns["tensor_bytes"] == 0)
    return np.where(skipped, Action.SKIP, np.where(computes, Action.ROOFLINE, columns["action"])).astype(np.uint8)


def _check_memory(nodes: AstraNodes, columns: dict[str, NDArray[Any]], setup: AstraSetup) -> None:
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
