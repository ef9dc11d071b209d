"""What RCCL takes for a call: the quickest by its model, then what its rules by size put in its place; and on how many
channels: src/enqueue.cc, src/rccl_wrap.cc and src/collectives.cc of 2.28.3."""

from dataclasses import dataclass

import numpy as np

from hocket.base.units import format_bytes
from hocket.nccl.names import COLLECTIVES, PROTOCOLS
from hocket.nccl.rccl.tables import SizeRange
from hocket.nccl.rccl.terms import RING, TREE, Cluster, time_us

__all__ = ["DIRECT", "RcclChoice", "choose"]

DIRECT = 7
"""AllGather as a group of sends and receives, each rank with every other: RCCL's own number of it."""

_LL, _LL128, _SIMPLE = range(len(PROTOCOLS))
_BYTES_PER_THREAD = (8, 8, 64)
_WAVEFRONT = 64
_LL_ON_A_NODE = {
    ("gfx942", "ReduceScatter"): 352_128,
    ("gfx950", "ReduceScatter"): 1_048_576,
    ("gfx950", "AllGather"): 88_448,
}
"""Bytes a rank up to which LL is taken inside a node, whatever the model says."""
_TREE_ON_A_NODE = range(64, 262_144 + 1)  # bytes of an AllReduce inside a node of gfx950


@dataclass(frozen=True, slots=True)
class RcclChoice:
    """`algorithm` and `protocol` as RCCL numbers them; `quickest`: those that its model finds the quickest, in
    `time_us`, before its rules; `rule`: which rule put others in their place, "" where none did."""

    algorithm: int
    protocol: int
    channels: int
    warps: int
    quickest: tuple[int, int]
    time_us: np.float32
    rule: str


def choose(arch: str, channels: int, cluster: Cluster, collective: int, size: int, operations: int = 1) -> RcclChoice:
    """For a call of `size` bytes (of AllGather and ReduceScatter the whole buffer) on up to `channels` channels."""
    name = COLLECTIVES[collective]
    algorithm, protocol, time = _quickest(cluster, collective, size, operations)
    quickest = algorithm, protocol
    if name == "AllGather" and cluster.ranks % 8 == 0 and size <= (most := _most_direct(arch, cluster)):
        rule = f"AllGather up to {format_bytes(most)} is sends and receives"
        return RcclChoice(DIRECT, _SIMPLE, channels, 4, quickest, time, rule)
    protocol = _by_rule(arch, cluster, name, size, protocol)
    rule = _rule_of(arch, cluster, name) if protocol != quickest[1] else ""
    threads = _threads(arch, protocol)
    taken = _channels(channels, cluster, name, size, algorithm, protocol, threads)
    threads = _threads_of_block(arch, cluster, name, size, algorithm, protocol)
    if (arch, cluster.nodes, name) == ("gfx950", 1, "AllReduce") and size in _TREE_ON_A_NODE:
        algorithm, protocol = TREE, _LL
        most = _TREE_ON_A_NODE[-1]
        rule = f"AllReduce from {_TREE_ON_A_NODE[0]} B to {format_bytes(most)} inside a node of gfx950 is trees with LL"
    changed = (algorithm, protocol) != quickest
    return RcclChoice(algorithm, protocol, taken, threads // _WAVEFRONT, quickest, time, rule if changed else "")


def _quickest(cluster: Cluster, collective: int, size: int, operations: int) -> tuple[int, int, np.float32]:
    """The first of the least time; rings with Simple where nothing is left."""
    best = RING, _SIMPLE, np.float32(np.inf)
    for algorithm in (TREE, RING):
        for protocol in range(len(PROTOCOLS)):
            time = time_us(cluster, collective, algorithm, protocol, size, operations)
            if time < best[2]:
                best = algorithm, protocol, time
    return best


def _most_direct(arch: str, cluster: Cluster) -> int:
    """Bytes up to which AllGather is direct."""
    if arch == "gfx942":
        return 4_194_304
    if cluster.nodes == 1:
        return 8_388_608
    return cluster.nodes * 2_097_152 if cluster.nodes < 64 else 75_497_472


def _per_rank(cluster: Cluster, name: str, size: int) -> int:
    return size if name == "AllReduce" else size // cluster.ranks


def _by_rule(arch: str, cluster: Cluster, name: str, size: int, protocol: int) -> int:
    each = _per_rank(cluster, name, size)
    if cluster.nodes == 1:
        return _LL if each <= _LL_ON_A_NODE.get((arch, name), -1) else protocol
    ll, ll128 = cluster.table.protocols[name]
    found = _LL if ll.above < each <= ll.most else _SIMPLE
    most = int(ll128.most * 3.8) if name == "AllReduce" and cluster.nodes > 2 else ll128.most
    return _LL128 if cluster.ll128 and ll128.above < each <= most else found


def _rule_of(arch: str, cluster: Cluster, name: str) -> str:
    """What `_by_rule` goes by."""
    if cluster.nodes == 1:
        return f"{name} up to {_LL_ON_A_NODE[arch, name]} B a rank inside a node is LL"
    return f"over several nodes the protocol of {name} goes by the bytes per rank"


def _threads(arch: str, protocol: int) -> int:
    """The most of a block."""
    return 512 if arch == "gfx950" and protocol != _LL else 256


def _bytes_per_thread(cluster: Cluster, name: str, algorithm: int, protocol: int) -> int:
    if cluster.nodes > 1 and name in ("ReduceScatter", "AllGather"):
        rows: list[SizeRange] = list(cluster.table.protocols[name])
        # Of Simple there is no row: RCCL reads on, and finds the next collective's.
        rows.append(cluster.table.protocols["AllGather" if name == "ReduceScatter" else "AllReduce"][0])
        if rows[protocol].bytes_per_thread:
            return rows[protocol].bytes_per_thread * cluster.ranks
    found = _BYTES_PER_THREAD[protocol]
    return found * cluster.ranks if (algorithm, protocol) == (RING, _LL) else found


def _channels(
    channels: int, cluster: Cluster, name: str, size: int, algorithm: int, protocol: int, threads: int
) -> int:
    work = threads * _bytes_per_thread(cluster, name, algorithm, protocol)
    found = channels if size >= channels * work else max(1, size // work)
    if cluster.nodes == 1:
        return found
    each = -(-size // cluster.ranks)
    rows = cluster.table.channels.get(name, ())
    row = next((row for row in rows if row[0] < each <= row[1]), None)
    return row[2] if row is not None and row[2] <= channels else found


def _threads_of_block(arch: str, cluster: Cluster, name: str, size: int, algorithm: int, protocol: int) -> int:
    if cluster.nodes == 1 or protocol == _LL:
        return 256
    if name == "ReduceScatter" and -(-size // cluster.ranks) <= 524_288:
        return 256
    return _threads(arch, _SIMPLE if algorithm == TREE else protocol)
