"""Machines by name. docs/topology.md says where every number comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hocket.core.errors import TopologyError
from hocket.core.units import exact_bandwidth, exact_time
from hocket.topology.model import Topology

__all__ = ["PRESETS"]

_NS = 10**3
_MB = 10**6
_GB = 10**9
_GPUS = 8  # a machine
_NODES = 4096


@dataclass(frozen=True)
class Dgx:
    """A generation of DGX: bandwidths in bytes/s per direction; the fabric's latencies are the same for all."""

    nvlink: int
    pcie: int
    nic: int
    nvls: bool


# NVLink total; PCIe x16 after line coding and headers; one NIC a GPU; whether its NVSwitches can reduce and multicast.
A100 = Dgx(nvlink=300 * _GB, pcie=28_800 * _MB, nic=25 * _GB, nvls=False)
H100 = Dgx(nvlink=450 * _GB, pcie=57_600 * _MB, nic=50 * _GB, nvls=True)

# Assumptions, of the size that published small-message latencies leave (docs/topology.md).
NVLINK_PS = 350 * _NS  # GPU - NVSwitch
PCIE_PS = 600 * _NS  # GPU - NIC, with the NIC's own work
FABRIC_PS = 150 * _NS  # NIC - leaf and leaf - spine: one switch and its cable


def _both(a: int, b: int, latency_ps: int, bandwidth: int) -> list[tuple[int, int, int, int]]:
    return [(a, b, latency_ps, bandwidth), (b, a, latency_ps, bandwidth)]


def dgx(name: str, parts: Dgx, nodes: int = 1, gpus: int = _GPUS, nvls: int = 0, sharp: int = 0) -> Topology:
    """`nodes` machines of `gpus` GPUs on an NVSwitch; from two machines on, a rail-optimised, non-blocking fabric.

    GPU g of every machine reaches through its own NIC the leaf switch of rail g; the leaves meet in one spine whose
    links carry all NICs of a rail at once. Ranks go machine by machine. Nodes after the ranks: an NVSwitch a machine,
    a NIC a GPU, a leaf a rail, the spine. Classes of links: `nvlink`, `pcie` (GPU - NIC) and `fabric`. With `nvls` the
    NVSwitches compute, with `sharp` the leaves and the spine.

    Raises TopologyError when `nodes` or `gpus` is out of range, or the machines lack what is asked for.
    """
    if not 1 <= nodes <= _NODES or not 1 <= gpus <= _GPUS or nodes * gpus < 2:
        raise TopologyError(f"{name} takes nodes from 1 to {_NODES}, gpus from 1 to {_GPUS}, and 2 GPUs or more in all")
    if not {nvls, sharp} <= {0, 1}:
        raise TopologyError(f"{name}: nvls and sharp are 0 or 1")
    if nvls and not parts.nvls:
        raise TopologyError(f"{name}: its NVSwitches cannot reduce; nvls=1 is for dgx-h100")
    if sharp and nodes == 1:
        raise TopologyError(f"{name}: sharp=1 needs a fabric: two nodes or more")
    num_ranks = nodes * gpus
    nvswitch = num_ranks
    nic = nvswitch + nodes
    leaf = nic + num_ranks
    spine = leaf + gpus
    links = [
        link for rank in range(num_ranks) for link in _both(rank, nvswitch + rank // gpus, NVLINK_PS, parts.nvlink)
    ]
    link_class = ["nvlink"] * len(links)
    if nodes > 1:
        for rank in range(num_ranks):
            links += _both(rank, nic + rank, PCIE_PS, parts.pcie)
            links += _both(nic + rank, leaf + rank % gpus, FABRIC_PS, parts.nic)
        for rail in range(gpus):
            links += _both(leaf + rail, spine, FABRIC_PS, parts.nic * nodes)
        link_class += ["pcie", "pcie", "fabric", "fabric"] * num_ranks + ["fabric", "fabric"] * gpus
    return Topology.from_links(
        f"{name}:nodes={nodes},gpus={gpus}" + ",nvls=1" * nvls + ",sharp=1" * sharp,
        num_ranks,
        links,
        num_switches=nodes if nodes == 1 else spine + 1 - num_ranks,
        machine=[rank // gpus for rank in range(num_ranks)],
        link_class=link_class,
        in_network=[*range(nvswitch, nic if nvls else nvswitch), *range(leaf, spine + 1 if sharp else leaf)],
    )


def point_to_point(name: str, pairs: dict[tuple[int, int], int], link: int, latency: int) -> Topology:
    """One machine whose GPUs are linked directly: `pairs` are the pairs of GPUs, each with the number of its links,
    which together are one of so many times `link` bytes/s each way."""
    links = [hop for (a, b), count in pairs.items() for hop in _both(a, b, latency, link * count)]
    full_name = f"{name}:link={exact_bandwidth(link)},latency={exact_time(latency)}"
    return Topology.from_links(full_name, 1 + max(b for _, b in pairs), links)


def dgx_1(link: int = 25 * _GB, latency: int = 700 * _NS) -> Topology:
    """Eight V100 of six NVLinks each in a hybrid cube mesh; `link` bytes/s of one NVLink."""
    once, twice = [(0, 1), (0, 2), (1, 3), (2, 6), (3, 7)], [(0, 3), (0, 4), (1, 2), (1, 5), (2, 3)]
    once += [(4, 5), (4, 6), (5, 7)]
    twice += [(4, 7), (5, 6), (6, 7)]
    return point_to_point("dgx-1", dict.fromkeys(once, 1) | dict.fromkeys(twice, 2), link, latency)


def mi250(link: int = 50 * _GB, latency: int = 700 * _NS) -> Topology:
    """Eight MI250 of two GPUs (GCDs) each, seven xGMI links out of every one; `link` bytes/s of one."""
    once = [(0, 2), (1, 2), (1, 3), (1, 5), (2, 6), (4, 12), (5, 13), (5, 14), (6, 13), (6, 14), (7, 15), (8, 10)]
    once += [(9, 10), (9, 11), (9, 13), (10, 14)]
    pairs = {(gpu, gpu + 1): 4 for gpu in range(0, 16, 2)}  # the two halves of one package
    pairs |= dict.fromkeys(once, 1) | dict.fromkeys([(0, 4), (3, 7), (8, 12), (11, 15)], 2)
    return point_to_point("mi250", pairs, link, latency)


# name in a spec: builder; its keyword arguments are whole numbers, or bandwidths (`link`) and latencies (`latency`)
PRESETS: dict[str, Callable[..., Topology]] = {
    "dgx-1": dgx_1,
    "dgx-a100": partial(dgx, "dgx-a100", A100),
    "dgx-h100": partial(dgx, "dgx-h100", H100),
    "mi250": mi250,
}
