"""Machines by name as topologies. docs/topology.md says where every number comes from."""

from hocket.base.errors import TopologyError
from hocket.base.units import exact_bandwidth, exact_time
from hocket.topology.machines.cluster import MOST_MACHINES, Link, Machine, MachinePort, cluster
from hocket.topology.machines.fabric import Fabric
from hocket.topology.machines.hardware import pcie_bandwidth
from hocket.topology.machines.records import MACHINES, MachineRecord
from hocket.topology.model import Topology

__all__ = ["PRESETS", "preset", "preset_machine"]

PRESETS = tuple(MACHINES)

# Assumptions, of the size that published small-message latencies leave (docs/topology.md).
NVLINK_PS = 700_000  # GPU - GPU; half of it GPU - NVSwitch
PCIE_PS = 600_000  # GPU - NIC, with the NIC's own work


def preset(
    name: str,
    nodes: int = 1,
    gpus: int | None = None,
    link: int | None = None,
    latency: int | None = None,
    fabric: Fabric | None = None,
    nvls: bool = False,
    sharp: bool = False,
) -> Topology:
    """`nodes` machines of that name, of the first `gpus` GPUs each (all of them), joined by the fabric.

    `link` bytes/s of one NVLink or xGMI link a direction (the data sheet's), `latency` picoseconds of GPU to GPU
    over it (700 ns). Every GPU reaches its nearest NIC directly. Nodes after the ranks: an NVSwitch a machine where
    it has some, the NICs from two machines on, the fabric's switches. Classes of links: `nvlink` (AMD's: `xgmi`),
    `pcie` (GPU - NIC), `fabric`.

    Raises TopologyError when `nodes` or `gpus` is out of range, or the machines lack what is asked for.
    """
    record, fabric = MACHINES[name], fabric or Fabric()
    gpus = record.gpus if gpus is None else gpus
    if not 1 <= nodes <= MOST_MACHINES or nodes * gpus < 2:
        raise TopologyError(f"{name} takes nodes from 1 to {MOST_MACHINES}, and 2 GPUs or more in all")
    if nvls and not (record.nvswitches and record.kind.nvls):
        able = ", ".join(one for one, other in MACHINES.items() if other.nvswitches and other.kind.nvls)
        raise TopologyError(f"{name}: it has no NVSwitches that can reduce; nvls=1 is for {able}")
    words = [f"nodes={nodes}"] * (nodes > 1 or not record.pairs)
    words += [f"gpus={gpus}"] * (gpus < record.gpus or not record.pairs)
    if link is not None or record.pairs:
        words.append(f"link={exact_bandwidth(link or record.kind.link)}")
    if latency is not None or record.pairs:
        words.append(f"latency={exact_time(latency or NVLINK_PS)}")
    full_name = f"{name}:{','.join(words)}{fabric}" + ",nvls=1" * nvls + ",sharp=1" * sharp
    machine = preset_machine(name, gpus, link, latency, with_nics=nodes > 1)
    return cluster(full_name, [machine] * nodes, fabric, nvls, sharp)


def preset_machine(
    name: str, gpus: int | None = None, link: int | None = None, latency: int | None = None, with_nics: bool = True
) -> Machine:
    """One such machine, with its NICs where it is one of several; arguments and errors as of `preset`."""
    record = MACHINES[name]
    gpus, link, latency = gpus or record.gpus, link or record.kind.link, latency or NVLINK_PS
    if gpus > record.gpus:
        raise TopologyError(f"{name} takes gpus from 1 to {record.gpus}")
    first_nic = gpus + bool(record.nvswitches)
    links: list[Link] = []
    for gpu in range(gpus if record.nvswitches else 0):
        links += _both(gpu, gpus, latency // 2, link * sum(record.nvswitches), record.kind.link_class)
    for (one, other), count in record.pairs.items():
        if max(one, other) < gpus:
            links += _both(one, other, latency, link * count, record.kind.link_class)
    nics = record.nic_of(gpus - 1) + 1 if with_nics else 0
    return Machine(
        name,
        gpus,
        (int(bool(record.nvswitches)), nics),
        tuple(links),
        tuple(_port(record, nic, first_nic + nic, gpus) for nic in range(nics)),
        gpus if record.nvswitches and record.kind.nvls else -1,
        record.notes,
    )


def _port(record: MachineRecord, nic: int, node: int, gpus: int) -> MachinePort:
    width = pcie_bandwidth(record.lanes)
    links = [
        link for gpu in range(gpus) if record.nic_of(gpu) == nic for link in _both(gpu, node, PCIE_PS, width, "pcie")
    ]
    return MachinePort(node, record.nic * 125_000_000, nic % record.rails, tuple(links))


def _both(one: int, other: int, latency: int, bandwidth: int, link_class: str) -> list[Link]:
    return [(one, other, latency, bandwidth, link_class), (other, one, latency, bandwidth, link_class)]
