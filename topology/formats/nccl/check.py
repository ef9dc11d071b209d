"""What a machine in NCCL's topology files must fulfil: everything there once, every GPU link with two ends."""

from hocket.base.errors import TopologyError
from hocket.topology.formats.nccl.attributes import bus_id_text
from hocket.topology.formats.nccl.machine import Dialect, LinkTarget, NcclMachine, PciClass

__all__ = ["check_links", "require_once"]


def require_once(machine: NcclMachine) -> tuple[str, ...]:
    """Sentences on what is there twice and RCCL takes for two: it makes a node of every PCI switch, of a NIC beside
    them, and of every network device, whatever their address or number (`ncclTopoAddPci`, `ncclTopoAddNet`).

    Raises TopologyError where two elements have the same NUMA node, PCI address, device or rank otherwise.
    """
    seen: dict[tuple[str, object], int] = {}
    notes: list[str] = []

    def once(line: int, what: str, key: object, *, is_one_each: bool = False) -> None:
        first = seen.setdefault((what, key), line)
        if first != line and not is_one_each:
            raise TopologyError(f"{machine.source}:{line}: {what} {key} is on line {first} already: each is there once")
        if first != line:
            notes.append(
                f"{what} {key} of line {line} is on line {first} already: RCCL takes them for two, so here too"
            )

    lenient = machine.dialect == Dialect.RCCL
    for cpu in machine.cpus:
        once(cpu.line, "<cpu> numaid", cpu.numa)
    for _, above in machine.devices():
        pci = above[-1]
        beside = pci.kind in (PciClass.SWITCH, PciClass.NIC) and not pci.gpus
        once(pci.line, "<pci> busid", bus_id_text(pci.bus_id), is_one_each=lenient and beside)
    for _, gpu in machine.gpus():
        once(gpu.line, "<gpu> dev", gpu.dev)
        if gpu.rank >= 0:
            once(gpu.line, "<gpu> rank", gpu.rank)
    for net in machine.nets():
        once(net.line, "<net> dev", net.dev, is_one_each=lenient)
    return tuple(notes)


def check_links(machine: NcclMachine) -> None:
    """Raises TopologyError where a PCI link ends where it begins, a GPU's at no GPU of the file or with no like one
    back, and where a GPU has none to NVSwitches that others have."""
    for _, above in machine.devices():
        if above[-1].bus_id in above[-1].pcilinks:
            where = f"{machine.source}:{above[-1].line}: <pci> {bus_id_text(above[-1].bus_id)}"
            raise TopologyError(f"{where}: has a <pcilink> to itself: remove it")
    switched = [any(link.to == LinkTarget.SWITCH for link in gpu.nvlinks) for _, gpu in machine.gpus()]
    for has_switch, (pci, gpu) in zip(switched, machine.gpus(), strict=True):
        if any(switched) and not has_switch:
            raise TopologyError(
                f"{machine.source}:{gpu.line}: <gpu> dev {gpu.dev} at {bus_id_text(pci.bus_id)} has no link to the"
                " NVSwitches, which other GPUs have: complete the file, or leave the GPU out"
            )
    links: dict[tuple[int, int], int] = {}
    for pci, gpu in machine.gpus():
        for link in gpu.nvlinks:
            if link.to == LinkTarget.GPU:
                pair = pci.bus_id, link.target
                links[pair] = links.get(pair, 0) + link.count
    addresses = {pci.bus_id for pci, _ in machine.gpus()}
    for pci, gpu in machine.gpus():
        for link in gpu.nvlinks:
            if link.to != LinkTarget.GPU:
                continue
            where = f"{machine.source}:{link.line}: link from {bus_id_text(pci.bus_id)} to {bus_id_text(link.target)}"
            if link.target not in addresses:
                raise TopologyError(f"{where}: no <gpu> has that busid; complete the file, or remove the link")
            there, back = links[pci.bus_id, link.target], links.get((link.target, pci.bus_id), 0)
            if there != back:
                raise TopologyError(f"{where}: {there} of them there, {back} back: both ends have the same count")
