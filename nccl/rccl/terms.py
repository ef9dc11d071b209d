"""How long RCCL thinks that trees and rings take: its analytical model, src/graph/tuning.cc of 2.28.3, in single
precision as there, as its choices depend on how that rounds."""

from dataclasses import dataclass

import numpy as np

from hocket.nccl.names import COLLECTIVES, PROTOCOLS
from hocket.nccl.rccl.tables import BASE_LATENCY_US, TuningTable

__all__ = ["RING", "TREE", "Cluster", "bandwidth_gbs", "latency_us", "time_us"]

TREE, RING = 0, 1
_ALL_REDUCE = COLLECTIVES.index("AllReduce")
_GATHERING = (COLLECTIVES.index("AllGather"), COLLECTIVES.index("ReduceScatter"))
_SIMPLE = PROTOCOLS.index("Simple")
_XGMI, _NETWORK = 0, 2
_FACTORS = 27
_LL_GAIN = 1.65  # of a broadcast's or a reduction's rings by LL inside a node
_f32 = np.float32


@dataclass(frozen=True)
class Cluster:
    """`nodes` alike, `ranks` GPUs in all; `channels` of trees and of rings, of which all together have `total_gbs`;
    `post_us`: what the CPU takes to post a message of a step between nodes; whether `ll128` is on."""

    table: TuningTable
    nodes: int
    ranks: int
    channels: int
    total_gbs: float
    post_us: float
    ll128: bool

    @property
    def per_node(self) -> int:
        return self.ranks // self.nodes


def _steps(cluster: Cluster, collective: int) -> int:
    if collective == _ALL_REDUCE:
        return 2 * (cluster.ranks - 1)
    return cluster.ranks - 1 if collective in _GATHERING else cluster.ranks


def bandwidth_gbs(cluster: Cluster, collective: int, algorithm: int, protocol: int) -> np.float32:
    """Bytes of the call per ns; 0 where RCCL does not take the algorithm."""
    single = cluster.nodes == 1
    if algorithm == TREE and (collective != _ALL_REDUCE or (single and protocol == _SIMPLE)):
        return _f32(0)
    if PROTOCOLS[protocol] == "LL128" and not cluster.ll128:
        return _f32(0)
    found = _f32(cluster.channels) * (_f32(cluster.total_gbs) / _f32(cluster.channels))
    found *= _f32(cluster.table.bandwidth_ratio[cluster.nodes > 2][algorithm][protocol])
    if single and algorithm == RING and PROTOCOLS[protocol] == "LL" and collective not in (_ALL_REDUCE, *_GATHERING):
        found = _f32(float(found) * _LL_GAIN)
    share = cluster.ranks / _steps(cluster, collective) if algorithm == RING else 0.5
    return found * _f32(share)


def latency_us(cluster: Cluster, collective: int, algorithm: int, protocol: int) -> np.float32:
    """What a call takes however small it is."""
    steps_us = cluster.table.step_us
    inside = _f32(steps_us[_XGMI][algorithm][protocol])
    between = _f32(steps_us[_NETWORK][TREE if cluster.per_node == 1 else algorithm][protocol])
    found = _f32(BASE_LATENCY_US[protocol])
    if algorithm == TREE:
        depth = _f32(cluster.nodes.bit_length() - 1)
        return found + _f32(2) * (_f32(cluster.per_node - 1) * inside + depth * between)
    if collective not in (_ALL_REDUCE, *_GATHERING):
        return found + _f32(steps_us[_NETWORK if cluster.nodes > 1 else _XGMI][RING][protocol])
    between_steps = 0
    if cluster.nodes > 1:
        between_steps = (cluster.nodes - 1) * (2 if collective == _ALL_REDUCE else 1)
        inside = max(inside, _f32(cluster.post_us) * _f32(3 if protocol == _SIMPLE else 1))
    return found + (_f32(_steps(cluster, collective) - between_steps) * inside + _f32(between_steps) * between)


def time_us(
    cluster: Cluster, collective: int, algorithm: int, protocol: int, size: int, operations: int = 1
) -> np.float32:
    """Of a call of `size` bytes; of `operations` like calls of so many bytes together. Infinite where it is out."""
    bandwidth = bandwidth_gbs(cluster, collective, algorithm, protocol)
    if bandwidth == 0:
        return _f32(np.inf)
    at = min(max((size >> 6).bit_length() - 1, 0), _FACTORS - 1)
    if algorithm == TREE:
        bandwidth *= _f32(cluster.table.tree_correction[protocol][at])
    elif cluster.nodes > 1:
        bandwidth *= _f32(cluster.table.ring_correction[protocol][at])
    launches = operations if algorithm == RING else -(-operations // 8)
    latency = latency_us(cluster, collective, algorithm, protocol)
    return latency * _f32(launches) + _f32(size) / (_f32(1000) * bandwidth)
