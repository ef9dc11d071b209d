"""The same prediction by a peer that simulates, and by Hocket: ASTRA-sim, ns-3, htsim, SimGrid."""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from hocket.base.errors import FormatError, SimulationError
from hocket.base.scratch import scratch_folder
from hocket.bench.astra_sim_equality import Row, predict, setup_of, trace_of
from hocket.bench.astra_sim_speed import slow_rank_row
from hocket.bench.astra_sim_unlike import peer_command, program_of, write_inputs
from hocket.bench.flow_witness import compare, find_simgrid
from hocket.bench.packet_speed import LINKS, permutation
from hocket.bench.peers.child import child_cpu_seconds, run_program
from hocket.bench.peers.figures import PeerProblem, PeerPrograms, cpu_seconds
from hocket.chakra import TraceSet
from hocket.schedule import Collective, Kind
from hocket.simulator import Fidelity, Packets, Prediction, simulate_collective
from hocket.simulator.engine_run import engine_job, run_engine
from hocket.simulator.ns3 import found
from hocket.simulator.ns3_build import built_witness
from hocket.topology import load, routing_of

__all__ = ["simulator_problems"]

_PACKETS = Packets(mtu=4096, header=6)
# As ns-3's devices are: queues that never fill, first come, first served.
_AS_NS3 = Fidelity(
    "packet", switching="store_and_forward", packets=Packets(arbitration="fifo", buffer=2**30, mtu=4096, header=6)
)
_NETWORKS = 4  # random ones that SimGrid and the flow model share


def simulator_problems() -> Iterator[PeerProblem]:
    """One of each size that a peer was run on."""
    for ranks, chunks in ((256, 1), (1024, 1), (1024, 4)):
        row = slow_rank_row("unaware", "Ring", "ring", ranks) | {"splits": str(chunks)}
        yield PeerProblem(
            "ASTRA-sim",
            f"ring of {ranks}" + (f" in {chunks} chunks" if chunks > 1 else ""),
            f"all_reduce of 1 GiB, ring of {ranks} ranks, {chunks} chunk{'s' * (chunks > 1)}, analytical",
            partial(_astra_here, row),
            partial(_astra_there, row),
            "the program that --astra-sim names",
        )
    yield PeerProblem(
        "ns-3",
        "ring of a switch of 64",
        "all_reduce of 16 MiB, ring on a switch of 64, packets of 4 KiB",
        _packets_here,
        _ns3_there,
        "" if (here := found()) is None else f"ns-3 {here.version}, {here.origin}",
    )
    yield PeerProblem(
        "htsim",
        "permutation of 256",
        "4 MiB from each of 256 hosts to another, fat tree of 16x16, packets of 4 KiB (htsim with a transport, NDP)",
        _permutation_here,
        lacks={"time": "each tool drew its own permutation, and NDP adds packets of its own: times do not compare"},
    )
    yield PeerProblem(
        "SimGrid",
        "arrivals of flows",
        "messages on paths of every routing, random networks, max-min fair",
        lambda: {"arrival": 1.0},
        _simgrid_there,
        "SimGrid's Python module",
        lacks={"seconds": "SimGrid's process builds an actor for each stream: its CPU time is not that of its solver"},
    )


def _astra_here(row: Row) -> Mapping[str, float]:
    prediction, seconds = cpu_seconds(lambda: predict(row))
    return {"seconds": seconds, "time": prediction.time_ns * 1e-9}


def _astra_there(row: Row, programs: PeerPrograms) -> Mapping[str, float]:
    if programs.astra_sim is None:
        return {}
    path = programs.astra_sim
    program = program_of(path, row) if path.is_dir() else path.absolute()
    with scratch_folder("bench") as folder:
        write_inputs(folder, TraceSet((trace_of(row),) * setup_of(row).num_ranks), row)
        remedy = "--astra-sim: name ASTRA-sim's congestion-unaware analytical program, or the folder of its programs"
        said, seconds = run_program(peer_command(program, folder), folder, programs.limit_s, remedy)
    finish = [int(cycles) for cycles in re.findall(r"sys\[\d+\] finished, (\d+) cycles", said)]
    if len(finish) != setup_of(row).num_ranks:
        raise FormatError(
            f"{program}: {len(finish)} of {setup_of(row).num_ranks} ranks finished, by its `sys[N] finished, M"
            f" cycles`; {remedy}"
        )
    return {"seconds": seconds, "time": max(finish) * 1e-9}


def _ring(fidelity: Fidelity) -> Prediction:
    topology = load(f"switch:64,{LINKS}")
    return simulate_collective(Collective(Kind.ALL_REDUCE, 64, 2**24), topology, "ring", fidelity=fidelity)


def _packets_here() -> Mapping[str, float]:
    prediction, seconds = cpu_seconds(lambda: _ring(_AS_NS3))
    return {"seconds": seconds, "time": prediction.time_ps * 1e-12}


def _ns3_there(programs: PeerPrograms) -> Mapping[str, float]:
    del programs  # ns-3 is found where it is installed
    if found() is None:
        return {}
    try:
        built_witness()  # what it takes to compile is not ns-3's time
    except SimulationError:
        return {}
    before = child_cpu_seconds()
    prediction = _ring(Fidelity("ns3", packets=_PACKETS))
    return {"seconds": child_cpu_seconds() - before, "time": prediction.time_ps * 1e-12}


def _permutation_here() -> Mapping[str, float]:
    topology = load(f"fat_tree:16x16,spines=16,{LINKS}")
    job = engine_job(permutation(topology.num_ranks), topology, routing_of(topology, "ecmp"))
    fidelity = Fidelity("packet", packets=Packets(), routing="ecmp")
    _, seconds = cpu_seconds(lambda: run_engine(job, [], topology, fidelity))
    return {"seconds": seconds}


def _simgrid_there(programs: PeerPrograms) -> Mapping[str, float]:
    del programs  # SimGrid is found where it is installed
    python = find_simgrid()
    if python is None:
        return {}
    compared, _, _ = compare(python, _NETWORKS, 0)
    return {"arrival": 1 + max(each.worst for each in compared.values())}
