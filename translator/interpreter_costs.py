"""What the kernels that run programs take on a machine: forks of NCCL and RCCL build them of the stock primitives, so
the stock constants hold for them."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from hocket.base.errors import FormatError, TopologyError
from hocket.nccl.model import NcclModel
from hocket.nccl.names import PROTOCOLS
from hocket.nccl.programs.spec import model_of
from hocket.nccl.rccl import RcclModel
from hocket.nccl.rccl.tables import BASE_LATENCY_US
from hocket.nccl.rccl.terms import RING
from hocket.schedule import AMD, NVIDIA, Pace, Protocol
from hocket.topology import Topology, rank_routes
from hocket.topology.formats.nccl.bandwidth import link_bandwidth
from hocket.topology.machines.hosts import hosts_of

__all__ = ["machines_of", "nccl_protocols", "protocols_on", "rccl_protocols", "reaching"]

_PS = 10**6  # of a us
_MB_OF_GB = 1000
_MB = 10**6
_XGMI, _NETWORK = 0, 2
_COVERED = {"Simple": 0, "LL": 4096, "LL128": 38_400}
"""Bytes that the 512 (LL128: 640) threads of a block pass on in one go."""


def protocols_on(protocols: Mapping[str, Protocol], topology: Topology) -> Mapping[str, Protocol]:
    """The protocols of NCCL's forks (`hocket.schedule.NVIDIA`), or of RCCL (`AMD`), with what kernels take on the
    machines that a topology's name says; without times where it names none of that vendor, or none that is modelled."""
    try:
        if protocols == AMD:
            hosts = hosts_of(machines_of(topology)).times(topology.num_ranks)
            found = rccl_protocols(RcclModel(hosts.machine, hosts.nodes))
        else:
            found = nccl_protocols(model_of(machines_of(topology), topology.num_ranks))
    except (FormatError, TopologyError):
        return protocols
    return reaching(found, topology)


def machines_of(topology: Topology) -> str:
    """Names its machines, also where some of their links have failed."""
    return topology.cluster[0] if len(topology.cluster) == 1 else topology.name


def reaching(protocols: Mapping[str, Protocol], topology: Topology) -> dict[str, Protocol]:
    """The protocols whose kernels reach what NCCL (RCCL) counts of the links of the topology's GPUs, such as 20.6 GB/s
    of an NVLink of 25 (src/graph/topo.h); all of them where no machine is known."""
    wire = _inside_wire(topology)
    return {
        name: one if one.pace is None else replace(one, pace=replace(one.pace, inside_wire=wire))
        for name, one in protocols.items()
    }


def _inside_wire(topology: Topology) -> Fraction:
    """Bandwidth out of a rank into its machine, over what NCCL counts of it."""
    try:
        machine = hosts_of(machines_of(topology)).machine
    except (FormatError, TopologyError):
        return Fraction(1)
    _, gpu = machine.job_gpus()[0]
    counted = sum(link.count for link in gpu.nvlinks) * link_bandwidth(machine.dialect, gpu) * _MB
    routes = rank_routes(topology.graph)
    first, last = routes.links[routes.offset[:-1]], routes.links[routes.offset[1:] - 1]
    inside = (topology.src[first] == 0) & (topology.machine[topology.dst[last]] == topology.machine[0])
    there = int(topology.bandwidth[np.unique(first[inside])].sum())
    return max(Fraction(1), Fraction(there, counted)) if counted and there else Fraction(1)


def nccl_protocols(model: NcclModel) -> dict[str, Protocol]:
    """NCCL's protocols at the pace of its rings (src/graph/tuning.cc, 2.30; as calibrated where that is known): launch,
    steps, and of a thread block the most that NCCL counts for a channel. Of LL it counts all channels together."""
    found = {}
    for name, protocol in NVIDIA.items():
        timed = model.timed_by(name)
        launch, inside, between = timed.steps_us("Ring", name)
        pace = Pace(
            round(launch * _PS),
            round(inside * _PS),
            round(between * _PS),
            _block_mb(timed, name, 1) * _MB,
            between_bandwidth=_block_mb(timed, name, model.machines) * _MB,
            covered=_COVERED[name],
        )
        found[name] = replace(protocol, pace=pace)
    return found


def _block_mb(model: NcclModel, protocol: str, machines: int) -> int:
    """MB/s of a thread block whose messages stay in a machine (1), or go between so many."""
    constants, column = model.constants, min(machines, 3) - 1
    generation = _generation(model)
    if protocol == "LL":
        is_amd = model.machine.cpus[0].vendor == "AuthenticAMD"
        row = generation if machines == 1 else int(is_amd)
        alone = NcclModel(model.machine) if machines < model.machines and model.domain == 1 else model
        return round(float(constants.most_ll[row, column]) * _MB_OF_GB / alone.channels[0])
    most = constants.most_ring_ll128 if protocol == "LL128" else constants.most_tree
    return round(float(most[generation, column]) * _MB_OF_GB)


def _generation(model: NcclModel) -> int:
    """Row of NCCL's tables: Volta, Ampere, Hopper, Blackwell."""
    sm = min(gpu.sm for _, gpu in model.machine.gpus())
    return sum(sm >= first for first in (80, 90, 100))


def rccl_protocols(model: RcclModel) -> dict[str, Protocol]:
    """RCCL's likewise (its src/graph/tuning.cc, 2.28.3): of a thread block the share of a channel in the links."""
    cluster, found = model.cluster, {}
    for name, protocol in AMD.items():
        at = PROTOCOLS.index(name)
        if name == "LL128" and not cluster.ll128:
            found[name] = protocol
            continue
        ratio = cluster.table.bandwidth_ratio[cluster.nodes > 2][RING][at]
        inside, between = (cluster.table.step_us[over][RING][at] for over in (_XGMI, _NETWORK))
        block_mb = round(cluster.total_gbs / cluster.channels * ratio * _MB_OF_GB)
        pace = Pace(round(BASE_LATENCY_US[at] * _PS), round(inside * _PS), round(between * _PS), max(1, block_mb) * _MB)
        found[name] = replace(protocol, pace=pace)
    return found
