"""What the stand-ins are told of a host: its GPUs, its NICs, the file that the library reads its topology from."""

from pathlib import Path
from xml.etree import ElementTree

from hocket.base.errors import FormatError
from hocket.base.scratch import hand_over
from hocket.topology.formats.nccl.machine import NcclMachine
from hocket.topology.formats.nccl.write import topology_text

__all__ = ["host_environment", "ranks_of"]

#: NCCL that was compiled for x86 writes these of this machine's processor to the CPUs of its own GPU that lack them, as
#: Grace's do: the ranks' CPUs were then no longer the same, and a host had each several times.
_CPU_ON_X86 = {"vendor": "", "familyid": "0", "modelid": "0"}


def ranks_of(machine: NcclMachine) -> int:
    """GPUs of the host that take part in a job."""
    return len(machine.job_gpus())


def host_environment(machine: NcclMachine, topology: Path, multicast: bool) -> dict[str, str]:
    """The variables of one host whose `topology` file is written here. `multicast`: whether its switches reduce.
    Raises FormatError where its GPUs are of different kinds."""
    root = ElementTree.fromstring(topology_text(machine))
    for cpu in root.iter("cpu"):
        for name, unknown in _CPU_ON_X86.items():
            cpu.attrib.setdefault(name, unknown)
    hand_over(topology, ElementTree.tostring(root, encoding="unicode"))
    gpus = [(pci.attrib["busid"], gpu) for pci in root.iter("pci") for gpu in pci.findall("gpu")]
    ranked = [(int(gpu.attrib.get("rank", "-1")), bus_id, gpu) for bus_id, gpu in gpus]
    taking_part = sorted((rank, bus_id, _kind(gpu)) for rank, bus_id, gpu in ranked if rank >= 0)
    kinds = {kind for _, _, kind in taking_part}
    if len(kinds) != 1:
        named = ", ".join(sorted(" ".join(f"{value}" for _, value in kind) for kind in kinds))
        raise FormatError(f"{machine.source}: GPUs of kinds {named}: one kind a host can be run")
    nets = sorted((int(net.attrib.get("dev", "0")), net) for net in root.iter("net"))
    nics = [f"{net.attrib['name']},{net.attrib['speed']},{net.attrib.get('latency', '0')}" for _, net in nets]
    return {
        "NCCL_TOPO_FILE": str(topology),
        "HOCKET_GPUS": ",".join(bus_id for _, bus_id, _ in taking_part),
        **dict(kinds.pop()),
        "HOCKET_MULTICAST": str(int(multicast)),
        "HOCKET_NICS": ";".join(nics),
        "HOCKET_COLLNET": str(int(any(net.attrib.get("coll") == "1" for _, net in nets))),
    }


def _kind(gpu: ElementTree.Element) -> tuple[tuple[str, str], ...]:
    """What a stand-in is told of its GPUs: NVIDIA's compute capability; AMD's architecture and its compute units."""
    arch = gpu.attrib.get("gcn", "")
    told = {"HOCKET_GFX": arch, "HOCKET_CUS": gpu.attrib["sm"]} if arch else {"HOCKET_SM": gpu.attrib["sm"]}
    return tuple(told.items())
