"""InfraGraph (github.com/Keysight/infragraph, MLCommons' Chakra): infrastructure as devices, instances and edges, read.

Its schema 3.1 as its own service expands it: components times `count`, slices as Python's, edges that are undirected.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from hocket.base.errors import FormatError, TopologyError
from hocket.base.strict_yaml import YamlDocument, nearest
from hocket.topology.formats.infragraph.quantities import Quantities
from hocket.topology.formats.infragraph.schema import (
    MOST_NODES,
    Edge,
    Endpoint,
    InfraDevice,
    InfraLink,
    Infrastructure,
    Response,
)
from hocket.topology.model import Topology

__all__ = ["from_infragraph", "is_infragraph"]

_MOST_EDGES = 2**24
_ELEMENT = re.compile(r"([^\[\].]+)(?:\[([0-9]{0,9})(?:(:)([0-9]{0,9})(?::([0-9]{0,9}))?)?\])?")

Node = tuple[str, ...]  # ("server", "0", "xpu", "1")


def is_infragraph(content: Mapping[str, Any]) -> bool:
    """Whether a file's mapping is InfraGraph's: an infrastructure, or what its service answers."""
    return "infrastructure" in content or {"devices", "instances"} <= content.keys()


def from_infragraph(document: YamlDocument, options: str = "") -> Topology:
    """The graph of a file: its xpus are the ranks, in the order of instances and components; every other component with
    an edge is a switch; an edge is a link each way. The machine of a rank is its instance.

    `options` say what links lack: `latency=500ns,bandwidth=50GB/s` of all that lack it, `pcie.bandwidth=32GB/s` of
    those of a name. Raises FormatError or TopologyError naming file and line, what was expected and the remedy.
    """
    wrapped = "infrastructure" in document.content
    read = document.convert(Response).infrastructure if wrapped else document.convert(Infrastructure)
    links = (link for links in (*(device.links for device in read.devices), read.links) for link in links)
    quantities = Quantities.read(document.source, options, links)
    return _Reader(document, read, "$.infrastructure" if wrapped else "$", quantities).topology()


@dataclass
class _Reader:
    document: YamlDocument
    read: Infrastructure
    root: str
    quantities: Quantities
    edges: dict[tuple[Node, Node], tuple[str, str, int, int]] = field(default_factory=dict)
    nodes: dict[Node, str] = field(default_factory=dict)  # each with its kind
    notes: dict[str, None] = field(default_factory=dict)

    def topology(self) -> Topology:
        self.devices = {each.name: each for each in self.read.devices}
        for number, instance in enumerate(self.read.instances):
            where = f"{self.root}.instances[{number}]"
            self._device_of(instance.device, where)
            for at in range(instance.count):
                self._add_device((instance.name, str(at)), instance.device, where, ())
        for number, edge in enumerate(self.read.edges):
            where = f"{self.root}.edges[{number}]"
            ends = [self._of_instance(end, where) for end in (edge.ep1, edge.ep2)]
            self._join(edge, ends, {link.name: link for link in self.read.links}, where)
        return self._built()

    def _built(self) -> Topology:
        linked = {node for ends in self.edges for node in ends}
        ranks = [node for node, kind in self.nodes.items() if kind == "xpu"]
        others = [node for node, kind in self.nodes.items() if kind != "xpu" and node in linked]
        if len(ranks) < 2:
            raise TopologyError(f"{self.document.where()}: {len(ranks)} components of choice xpu: expected 2 or more")
        number = {node: at for at, node in enumerate((*ranks, *others))}
        machines = {machine: at for at, machine in enumerate(dict.fromkeys(node[:2] for node in ranks))}
        both = [
            (number[one], number[other], latency, bandwidth, name)
            for (first, second), (_, name, latency, bandwidth) in self.edges.items()
            for one, other in ((first, second), (second, first))
        ]
        if not both:
            raise TopologyError(f"{self.document.where()}: no edges: nothing joins the components")
        return Topology.from_links(
            self.read.name or "infragraph",
            len(ranks),
            [link[:4] for link in both],
            num_switches=len(others),
            machine=[machines[node[:2]] for node in ranks],
            link_class=[link[4] for link in both],
            notes=tuple(self.notes),
        )

    def _add_device(self, prefix: Node, name: str, where: str, above: tuple[str, ...]) -> None:
        """A device's components, and those of the devices that it is composed of; then its edges."""
        device = self._device_of(name, where)
        if name in above:
            raise TopologyError(f"{self.document.where(where)}: device '{name}' is composed of itself")
        at = f"{self.root}.devices[{self.read.devices.index(device)}]"
        for component in device.components:
            for index in range(component.count):
                node = (*prefix, component.name, str(index))
                if component.choice == "device":
                    self._add_device(node, component.name, at, (*above, name))
                elif len(self.nodes) >= MOST_NODES:
                    raise TopologyError(f"{self.document.where(at)}: more than {MOST_NODES} components")
                else:
                    self.nodes[node] = component.choice
        links = {link.name: link for link in device.links}
        for number, edge in enumerate(device.edges):
            ends = [self._of_device(prefix, device, end, f"{at}.edges[{number}]") for end in (edge.ep1, edge.ep2)]
            self._join(edge, ends, links, f"{at}.edges[{number}]")

    def _device_of(self, name: str, where: str) -> InfraDevice:
        if name not in self.devices:
            raise FormatError(f"{self.document.where(where)}: no device '{name}'; {nearest(name, self.devices)}")
        return self.devices[name]

    def _of_instance(self, end: Endpoint, where: str) -> list[Node]:
        name, _, _ = (end.instance or "").partition("[")
        instance = next((each for each in self.read.instances if each.name == name), None)
        if instance is None:
            names = [each.name for each in self.read.instances]
            raise FormatError(f"{self.document.where(where)}: no instance '{name}'; {nearest(name, names)}")
        ats = self._indices(end.instance or "", instance.count, where)
        device = self._device_of(instance.device, where)
        return [node for at in ats for node in self._of_device((name, str(at)), device, end, where)]

    def _of_device(self, prefix: Node, device: InfraDevice, end: Endpoint, where: str) -> list[Node]:
        """The components that an endpoint names: `xpu[0:2]`, of devices in the device `cx5[0].port[1]`."""
        found = [prefix]
        words = f"{end.device}.{end.component}" if end.device else end.component
        kind = "device"
        for word in words.split("."):
            name = word.partition("[")[0]
            component = next((each for each in device.components if each.name == name), None)
            if component is None or kind != "device":
                known = nearest(name, [each.name for each in device.components])
                raise FormatError(f"{self.document.where(where)}: device {device.name} has no '{word}'; {known}")
            ats = self._indices(word, component.count, where)
            found = [(*node, name, str(at)) for node in found for at in ats]
            kind = component.choice
            device = self._device_of(name, where) if kind == "device" else device
        if kind == "device":
            raise FormatError(f"{self.document.where(where)}: '{words}' is a device: name a component in it")
        return found

    def _indices(self, word: str, count: int, where: str) -> range:
        match = _ELEMENT.fullmatch(word)
        if match is None or (match[2] == "" and not match[3]):
            raise FormatError(f"{self.document.where(where)}: '{word}': expected a name with a slice, such as xpu[0:4]")
        start, stop, step = int(match[2] or 0), int(match[4] or count), int(match[5] or 1)
        if match[2] is not None and not match[3]:
            stop = start + 1
        if not (0 <= start <= stop <= count) or step < 1 or (match[2] and start >= count):
            raise TopologyError(f"{self.document.where(where)}: '{word}': there are {count}, numbered from 0")
        return range(start, stop, step)

    def _join(self, edge: Edge, ends: list[list[Node]], links: Mapping[str, InfraLink], where: str) -> None:
        first, second = ends
        if edge.scheme == "ring":
            raise TopologyError(f"{self.document.where(where)}: scheme ring: expected one2one or many2many")
        if edge.link not in links:
            raise FormatError(f"{self.document.where(where)}: no link '{edge.link}'; {nearest(edge.link, links)}")
        every = edge.scheme == "many2many"
        if len(self.edges) + (len(first) * len(second) if every else len(first)) > _MOST_EDGES:
            raise TopologyError(f"{self.document.where(where)}: more than {_MOST_EDGES} edges")
        if not every and len(first) != len(second):
            rest = f"one2one of {len(first)} and {len(second)}: the rest has no edge, as InfraGraph's service does it"
            self.notes[f"{self.document.where(where)}: {rest}"] = None
        self._add_edges(product(first, second) if every else zip(first, second, strict=False), links[edge.link], where)

    def _add_edges(self, pairs: Iterable[tuple[Node, Node]], link: InfraLink, where: str) -> None:
        line = self.document.where(where)
        of = line, _class_of(link.name), *self.quantities.of(link, line)
        for one, other in pairs:
            if one == other:
                continue
            before = self.edges.get((other, one)) or self.edges.setdefault((one, other), of)
            if before[1:] != of[1:]:
                names = f"{'.'.join(one)} and {'.'.join(other)}"
                raise TopologyError(f"{line}: {names} are joined otherwise on {before[0]}: keep one edge")


def _class_of(name: str) -> str:
    """A link's name as a class of links."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
