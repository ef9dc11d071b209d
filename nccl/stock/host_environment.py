"""What the stand-ins are told of a host: its GPUs, its NICs, the file that NCCL reads its topology from."""

from pathlib import Path
from xml.etree import ElementTree

from hocket.base.errors import FormatError
from hocket.base.scratch import hand_over
from hocket.topology.formats.nccl.machine import NcclMachine
from hocket.topology.formats.nccl.write import topology_text

__all__ = ["host_environment", "ranks_of"]


def ranks_of(machine: NcclMachine) -> int:
    """GPUs of the host that take part in a job."""
    return len(machine.job_gpus())


def host_environment(machine: NcclMachine, topology: Path, multicast: bool) -> dict[str, str]:
    """The variables of one host whose `topology` file is written here. `multicast`: whether its switches reduce.
    Raises FormatError where its GPUs are of different kinds."""
    text = topology_text(machine)
    hand_over(topology, text)
    root = ElementTree.fromstring(text)
    gpus = [(pci.attrib["busid"], gpu) for pci in root.iter("pci") for gpu in pci.findall("gpu")]
    ranked = [(int(gpu.attrib.get("rank", "-1")), bus_id, gpu) for bus_id, gpu in gpus]
    taking_part = sorted((rank, bus_id, gpu.attrib["sm"]) for rank, bus_id, gpu in ranked if rank >= 0)
    capabilities = {sm for _, _, sm in taking_part}
    if len(capabilities) != 1:
        raise FormatError(f"{machine.source}: GPUs of sm {', '.join(sorted(capabilities))}: one kind a host can be run")
    nets = sorted((int(net.attrib.get("dev", "0")), net) for net in root.iter("net"))
    nics = [f"{net.attrib['name']},{net.attrib['speed']},{net.attrib.get('latency', '0')}" for _, net in nets]
    return {
        "NCCL_TOPO_FILE": str(topology),
        "HOCKET_GPUS": ",".join(bus_id for _, bus_id, _ in taking_part),
        "HOCKET_SM": capabilities.pop(),
        "HOCKET_MULTICAST": str(int(multicast)),
        "HOCKET_NICS": ";".join(nics),
    }
