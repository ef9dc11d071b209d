"""The machines for which RCCL knows its rings and trees by heart (models 79 and 81 of src/graph/rome_models.cc):
eight GPUs, each joined to each by as many xGMI links; for several nodes with a NIC in each GPU's PCI switch."""

from collections import Counter
from collections.abc import Iterator

from hocket.base.errors import TopologyError
from hocket.nccl.rccl.tables import TABLES
from hocket.nccl.rccl.terms import Cluster
from hocket.topology.formats.nccl.bandwidth import link_bandwidth
from hocket.topology.formats.nccl.machine import NcclMachine, Pci, PciClass

__all__ = ["arch_of", "cluster_of", "most_channels"]

_GPUS = 8
_CHANNELS_OF_A_NODE, _CHANNELS = 28, 64
_MOST = 128  # MAXCHANNELS
_TIMES = {"gfx942": 2, "gfx950": 4}
_POST_US = {"AuthenticAMD": 2.0}  # what posting a message to the network takes; 1 us by any other CPU
_KNOWN = (
    "RCCL's choices are modelled of 8 GPUs of gfx942 (MI300X, MI325X) or gfx950 (MI350X, MI355X), all joined by xGMI"
    " alike, whose rings it has by heart; its search for others is not modelled: `hocket nccl run-stock` runs RCCL"
    " itself"
)


def arch_of(machine: NcclMachine) -> str:
    """`gfx942` or `gfx950`. Raises TopologyError for what RCCL has no rings for, or others than are modelled."""
    gpus = machine.job_gpus()
    arches = {gpu.gcn for _, gpu in gpus}
    arch = next(iter(arches)) if len(arches) == 1 else "several architectures"
    if arch not in TABLES:
        raise TopologyError(f"{machine.source}: {len(gpus)} GPUs of {arch}: {_KNOWN}")
    places = {pci.bus_id for pci, _ in gpus}
    joined = [Counter({link.target: link.count for link in gpu.nvlinks if link.target in places}) for _, gpu in gpus]
    widths = {count for each in joined for count in each.values()}
    if len(gpus) != _GPUS or len(widths) != 1 or any(len(each) != _GPUS - 1 for each in joined):
        raise TopologyError(f"{machine.source}: {len(gpus)} GPUs take part: {_KNOWN}")
    return arch


def cluster_of(machine: NcclMachine, nodes: int) -> Cluster:
    """What RCCL's model counts with on `nodes` such machines. Raises TopologyError for what is not modelled."""
    arch = arch_of(machine)
    if nodes > 1:
        _require_rails(machine)
    _, gpu = machine.job_gpus()[0]
    total_gbs = sum(link.count for link in gpu.nvlinks) * link_bandwidth(machine.dialect, gpu) / 1000
    return Cluster(
        table=TABLES[arch],
        nodes=nodes,
        ranks=nodes * _GPUS,
        channels=_CHANNELS if nodes > 1 else _CHANNELS_OF_A_NODE,
        total_gbs=total_gbs,
        post_us=_POST_US.get(machine.cpus[0].vendor, 1.0),
        ll128=nodes > 1,
    )


def most_channels(arch: str, nodes: int) -> int:
    """That kernels run on: those of a node several times (src/graph/connect.cc, src/init.cc)."""
    return _CHANNELS if nodes > 1 else min(_TIMES[arch], _MOST // _CHANNELS_OF_A_NODE) * _CHANNELS_OF_A_NODE


def _require_rails(machine: NcclMachine) -> None:
    """Raises TopologyError where the NICs are not one in each GPU's PCI switch, half of them at each of two CPUs."""
    switches = [
        (at, len(list(_devices(top, PciClass.GPU))), len(list(_devices(top, PciClass.NIC))))
        for at, cpu in enumerate(machine.cpus)
        for top in cpu.children
        if isinstance(top, Pci)
    ]
    found = Counter(each for each in switches if each[1] or each[2])
    nics = len(list(machine.nets()))
    if nics != _GPUS or found != Counter({(0, 1, 1): _GPUS // 2, (1, 1, 1): _GPUS // 2}):
        raise TopologyError(
            f"{machine.source}: {nics} NICs: RCCL's choices over several nodes are modelled of 8, one in each GPU's PCI"
            " switch, four at each of two CPUs; its search for others is not modelled: `hocket nccl run-stock` runs it"
        )


def _devices(device: Pci, kind: PciClass) -> Iterator[Pci]:
    if device.kind == kind and (device.gpus or device.nic is not None):
        yield device
    for below in device.pcis:
        yield from _devices(below, kind)
