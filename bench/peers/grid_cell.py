"""Measures a cell of the grid in the process that runs this: a JSON GridCell comes in, a JSON GridOutcome goes out."""

import sys
from typing import Any

import msgspec

from hocket.base.errors import HocketError
from hocket.bench.peers.grid import GridCell, GridOutcome
from hocket.nccl.programs.spec import model_of
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.synthesizer import Problem, Search, solve
from hocket.topology import Topology, load

__all__ = ["measure"]

_NCCL = {
    Kind.ALL_REDUCE: "AllReduce",
    Kind.ALL_GATHER: "AllGather",
    Kind.REDUCE_SCATTER: "ReduceScatter",
    Kind.BROADCAST: "Broadcast",
}


def measure(cell: GridCell) -> GridOutcome:
    """What Hocket refuses, or has no memory for, is the outcome's error."""
    topology = load(cell.topology)
    collective = Collective(cell.kind, topology.num_ranks, cell.size_bytes)
    try:
        found = solve(Problem(collective, topology), Search(), free_chunks=True)
        native = simulate_collective(collective, topology, "auto")
    except (HocketError, MemoryError) as error:
        return GridOutcome(cell=cell, error=str(error) or "more memory than --memory allows")
    bound = found.bound_any_chunks or found.schedule.bound
    assert bound is not None
    return GridOutcome(
        cell=cell,
        time_ps=found.schedule.time_ps,
        bound_ps=bound.time_ps,
        chunks=found.schedule.collective.chunks_per_rank,
        engine=found.schedule.generator,
        seconds=found.seconds,
        native=str(native.collectives[0].algorithm),
        native_ps=native.time_ps,
        **_by_nccl(cell, topology),
    )


def _by_nccl(cell: GridCell, topology: Topology) -> dict[str, Any]:
    """What NCCL's model chooses and how long it says that takes; nothing where it knows no such machine."""
    if cell.kind not in _NCCL:
        return {}
    try:
        model = model_of(topology.name, topology.num_ranks)
        choices = model.choose(_NCCL[cell.kind], [cell.size_bytes])
    except HocketError:
        return {}
    return {"nccl": choices.name(0), "nccl_ps": round(float(choices.time_us[0]) * 10**6)}


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(measure(msgspec.json.decode(sys.stdin.buffer.read(), type=GridCell))))
