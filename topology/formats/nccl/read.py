"""NCCL's and RCCL's topology files (`NCCL_TOPO_FILE`, `NCCL_TOPO_DUMP_FILE`), read strictly.

Formats: `ncclTopoGetXmlFromFile` and `ncclTopoGetSystemFromXml` of NCCL 2.30 (src/graph/xml.cc, topo.cc) and the
dialect of RCCL 2.21 (`<system version="2">`, `<xgmi>` for `<nvlink>`). NCCL replaces by silent defaults, or drops, much
of what is wrong in such a file; here it is an error, and what NCCL completes by itself is a note.
"""

from collections.abc import Iterator
from pathlib import Path

from hocket.base.errors import FormatError, TopologyError
from hocket.base.reading import XML, read_text
from hocket.base.tags import Element, read_element
from hocket.topology.formats.nccl.attributes import Attributes, known_children
from hocket.topology.formats.nccl.bandwidth import unknown_gpu
from hocket.topology.formats.nccl.check import check_links, require_once
from hocket.topology.formats.nccl.machine import (
    C2c,
    Cpu,
    Dialect,
    Gpu,
    LinkTarget,
    NcclMachine,
    Net,
    Nic,
    NvLink,
    Pci,
    PciClass,
)

__all__ = ["is_nccl_topology", "read_nccl_topology"]

# The first that the class begins with; NCCL takes any other for a switch.
_CLASSES = {
    "0x060400": PciClass.SWITCH,
    "0x080100": PciClass.SWITCH,
    "0x068000": PciClass.NVSWITCH,
    "0x068001": PciClass.CPU,
    "0x03": PciClass.GPU,
    "0x12": PciClass.GPU,  # AMD's accelerators without a display
    "0x02": PciClass.NIC,
}
_TARGETS = {PciClass.GPU: LinkTarget.GPU, PciClass.CPU: LinkTarget.CPU}
# 100 Mbit/s a lane, by how the text begins (Linux writes `16.0 GT/s PCIe`, before 5.6 `16 GT/s`).
_LANE_SPEEDS = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}
_UNKNOWN_SPEED, _UNKNOWN_WIDTH = 60, 16
_UNKNOWN_NET_SPEED = 10_000
_SLOWEST_NET = 1_000  # Mbit/s; less was meant in Gbit/s
_MOST_LINKS = 64  # of a GPU to one other, or to the switches: there are 18 at most today
_CHILDREN = {"system": "cpu", "cpu": "pci nic", "pci": "pci gpu nic pcilink", "gpu": "nvlink xgmi c2c", "nic": "net"}


def is_nccl_topology(text: str) -> bool:
    """Whether a file's text is XML, which of the topologies' formats only NCCL's is."""
    return text.lstrip().startswith("<")


def read_nccl_topology(path: Path | str) -> NcclMachine:
    """The machine in a topology file.

    Raises FormatError for what is no such file, TopologyError for a machine that cannot be; both name file, line and
    element, what was expected and the remedy.
    """
    return _Reader(str(path)).machine(read_element(read_text(path, XML), str(path)))


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.notes: dict[str, None] = {}
        self.dialect = Dialect.NCCL

    def machine(self, system: Element) -> NcclMachine:
        if system.name != "system":
            remedy = "; a graph file (NCCL_GRAPH_FILE) holds rings, no machine" if system.name == "graphs" else ""
            raise FormatError(f"{self.source}:{system.line}: expected <system>, found <{system.name}>{remedy}")
        version = self.attributes(system).integer("version")
        if version not in [dialect.value for dialect in Dialect]:
            raise FormatError(
                f'{self.source}:{system.line}: <system version="{version}">: known are 1 (NCCL), 2 (RCCL)'
            )
        self.dialect = Dialect(version)
        if not any(element.name == "gpu" for element in _all(system)):
            raise TopologyError(
                f"{self.source}: no <gpu> in it: NCCL adds the GPUs where it runs. Run any job there with"
                " NCCL_TOPO_FILE set to this file and NCCL_TOPO_DUMP_FILE=full.xml, and take full.xml"
            )
        hosts = {cpu.attributes.get("host_hash", "") for cpu in system.children}
        if len(hosts) > 1:
            raise TopologyError(
                f"{self.source}: {len(hosts)} hosts in it (NVLink over several machines): take the file of one of them"
            )
        cpus = tuple(self.cpu(cpu) for cpu in self.children(system))
        machine = NcclMachine(self.source, Dialect(version), cpus)
        for text in require_once(machine):
            self.note(text)
        check_links(machine)
        without = sum(above[-1].kind == PciClass.GPU and not above[-1].gpus for _, above in machine.devices())
        if without:
            self.note(f"PCI devices that are GPUs but have no <gpu> ({without}) are left out, as in a job without them")
        linkless = [gpu for _, gpu in machine.gpus() if not gpu.nvlinks]
        if 0 < len(linkless) < len(list(machine.gpus())):
            lines = ", ".join(f"{gpu.dev} (line {gpu.line})" for gpu in linkless)
            links = "xGMI" if self.dialect == Dialect.RCCL else "NVLink"
            self.note(f"GPU {lines}: no {links}, though others have some: reached over PCI; is one down, or left out?")
        for text in (unknown_gpu(gpu.sm, gpu.gcn) for _, gpu in machine.gpus()):
            if text:
                self.note(text)
        return NcclMachine(self.source, machine.dialect, cpus, tuple(self.notes))

    def note(self, text: str) -> None:
        self.notes[text] = None

    def attributes(self, element: Element) -> Attributes:
        return Attributes(f"{self.source}:{element.line}: <{element.name}>", element.attributes)

    def children(self, element: Element) -> Iterator[Element]:
        return known_children(self.source, element, _CHILDREN.get(element.name, "").split())

    def cpu(self, element: Element) -> Cpu:
        attributes = self.attributes(element)
        arch = attributes.one_of("arch", ("x86_64", "arm64", "ppc64"))
        vendor, family, model = "", 0, 0
        if arch == "x86_64":
            vendor = attributes.one_of("vendor", ("GenuineIntel", "AuthenticAMD", "CentaurHauls", "  Shanghai  "))
            default = 0 if vendor == "AuthenticAMD" else None  # NCCL does not look at AMD's
            family, model = attributes.integer("familyid", default), attributes.integer("modelid", default)
        children = tuple(
            self.pci(child) if child.name == "pci" else self.nic(child) for child in self.children(element)
        )
        return Cpu(element.line, attributes.at_least(-1, "numaid"), arch, vendor, family, model, children)

    def pci(self, element: Element) -> Pci:
        attributes = self.attributes(element)
        children = list(self.children(element))
        nics = [self.nic(child) for child in children if child.name == "nic"]
        if len(nics) > 1:
            raise FormatError(
                f"{attributes.where}: has {len(nics)} <nic>, of which NCCL would take the first: keep one"
            )
        links = [self.attributes(child) for child in children if child.name == "pcilink"]
        speed, width = self.pci_link(attributes)
        pci = Pci(
            element.line,
            attributes.bus_id("busid"),
            _class(attributes, "class"),
            attributes.device(),
            speed,
            width,
            tuple(self.gpu(child) for child in children if child.name == "gpu"),
            nics[0] if nics else None,
            tuple(self.pci(child) for child in children if child.name == "pci"),
            tuple(link.bus_id("target") for link in links),
        )
        if pci.gpus and pci.kind != PciClass.GPU:
            raise TopologyError(f"{attributes.where}: has a <gpu>, but its class is no GPU's (0x03... or 0x12...)")
        return pci

    def pci_link(self, attributes: Attributes) -> tuple[int, int]:
        """Speed of a lane in units of 100 Mbit/s, and lanes."""
        text, width = attributes.text("link_speed"), attributes.integer("link_width")
        number, _, unit = text.partition(" ")
        speed = _LANE_SPEEDS.get(number.removesuffix(".0"))
        if speed is None or not unit.startswith("GT/s"):
            if text and not text.startswith("Unknown"):
                raise FormatError(
                    f'{attributes.where}: link_speed="{text}": expected a PCI speed such as "32.0 GT/s PCIe"'
                )
            speed = _UNKNOWN_SPEED
            self.note("PCI links without a speed are taken for 8 GT/s (Gen3), as NCCL does")
        if not 0 <= width <= 64:
            raise FormatError(f"{attributes.where}: link_width={width}: expected lanes from 1 to 64, or 0 for unknown")
        return speed, width or _UNKNOWN_WIDTH

    def gpu(self, element: Element) -> Gpu:
        attributes = self.attributes(element)
        if attributes.integer("mlopart", -1) >= 0:
            raise TopologyError(f"{attributes.where}: mlopart: a GPU in several parts is not read; dump it undivided")
        children = list(self.children(element))
        links = [self.nvlink(child) for child in children if child.name in ("nvlink", "xgmi")]
        c2cs = [self.c2c(child) for child in children if child.name == "c2c"]
        return Gpu(
            element.line,
            attributes.at_least(0, "dev"),
            attributes.integer("rank", -1),
            self.compute_capability(attributes),
            bool(attributes.integer("gdr", 1)),
            attributes.get("gcn"),
            tuple(links),
            tuple(c2cs),
        )

    def compute_capability(self, attributes: Attributes) -> int:
        sm = attributes.at_least(1, "sm")
        if self.dialect == Dialect.NCCL and not 30 <= sm < 200:  # AMD's counts compute units
            raise FormatError(f"{attributes.where}: sm={sm}: expected the compute capability times ten, such as 90")
        return sm

    def nvlink(self, element: Element) -> NvLink:
        attributes = self.attributes(element)
        to = _TARGETS.get(_class(attributes, "tclass"), LinkTarget.SWITCH)
        target = attributes.bus_id("target") if to == LinkTarget.GPU else 0
        count = attributes.at_least(1, "count")
        if count > _MOST_LINKS:
            raise FormatError(f"{attributes.where}: count={count}: expected links, no bandwidth: at most {_MOST_LINKS}")
        return NvLink(element.line, target, to, count)

    def c2c(self, element: Element) -> C2c:
        attributes = self.attributes(element)
        bandwidth, count = attributes.at_least(1, "bw"), attributes.at_least(1, "count")
        if bandwidth * count < 1_000:
            raise FormatError(f"{attributes.where}: bw={bandwidth} is in MB/s: {count} of them are less than 1 GB/s")
        return C2c(element.line, bandwidth, count)

    def nic(self, element: Element) -> Nic:
        nets = (self.net(child) for child in self.children(element) if "dev" in child.attributes)  # others NCCL skips
        return Nic(element.line, tuple(net for net in nets if net is not None))

    def net(self, element: Element) -> Net | None:
        attributes = self.attributes(element)
        if not attributes.integer("net", 1):  # serves GIN or RMA alone
            return None
        speed = attributes.integer("speed", 0)
        if speed <= 0:
            speed = _UNKNOWN_NET_SPEED
            self.note("NICs without a speed are taken for 10 Gbit/s, as NCCL does")
        if speed < _SLOWEST_NET:
            raise FormatError(
                f'{attributes.where}: speed="{speed}" is in Mbit/s, so {speed / 8000:g} GB/s; for {speed} Gbit/s write'
                f' speed="{speed}000"'
            )
        return Net(
            element.line,
            attributes.get("name"),
            attributes.at_least(0, "dev"),
            speed,
            attributes.integer("port", 0),
            attributes.microseconds("latency"),
            attributes.hexadecimal("guid"),
            bool(attributes.integer("gdr", 0)),
            bool(attributes.integer("coll", 0)),
            attributes.integer("rail", -1),
            attributes.integer("plane", -1),
        )


def _all(element: Element) -> Iterator[Element]:
    yield element
    for child in element.children:
        yield from _all(child)


def _class(attributes: Attributes, key: str) -> PciClass:
    text = attributes.text(key)
    return next((kind for begin, kind in _CLASSES.items() if text.startswith(begin)), PciClass.SWITCH)
