"""Machines by name. docs/topology.md says where every number comes from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hocket.core.errors import TopologyError
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


# name in a spec: builder with the keyword arguments `nodes`, `gpus`, `nvls` and `sharp`
PRESETS: dict[str, Callable[..., Topology]] = {
    "dgx-a100": partial(dgx, "dgx-a100", A100),
    "dgx-h100": partial(dgx, "dgx-h100", H100),
}
