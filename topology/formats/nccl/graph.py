"""NCCL's graph files (`NCCL_GRAPH_FILE`, `NCCL_GRAPH_DUMP_FILE`): the channels of its searches, read strictly and
written as NCCL writes them.

Format: `ncclTopoGetXmlFromGraphs` and `ncclTopoGetGraphFromXml` of NCCL 2.30 (src/graph/search.cc). Bandwidths are
NCCL's: GB/s as floats. NCCL takes such a file as it is: it does not check that a channel has all GPUs, that `nchannels`
is the number of channels, or that a NIC is there. What it would take wrongly is an error here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TypeVar

from hocket.base.errors import FormatError
from hocket.base.reading import XML, read_text
from hocket.base.tags import Element, read_element
from hocket.topology.formats.nccl.attributes import Attributes, known_children

__all__ = [
    "LINK_TYPES",
    "PATTERNS",
    "GraphChannel",
    "GraphId",
    "GraphPattern",
    "NcclGraph",
    "NcclGraphs",
    "graphs_text",
    "read_nccl_graphs",
]

_CHANNELS = 64  # NCCL's MAXCHANNELS
_MOST_SPEED = 10_000  # GB/s; more was meant in MB/s
# The types of paths that graph files have names for: NCCL's, but C2C, NET and DIS.
LINK_TYPES = ("LOC", "NVL", "NVB", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")


class GraphId(IntEnum):
    """Whose channels a graph has; NCCL searches those that a file lacks."""

    RING = 0
    TREE = 1
    COLLNET_CHAIN = 2
    NVLS = 3
    COLLNET_DIRECT = 4


class GraphPattern(IntEnum):
    """How the channels were searched."""

    BALANCED_TREE = 1
    SPLIT_TREE = 2
    TREE = 3
    RING = 4
    NVLS = 5
    COLLNET_DIRECT = 6


# The patterns that NCCL searches for each graph.
PATTERNS = {
    GraphId.RING: (GraphPattern.RING,),
    GraphId.TREE: (GraphPattern.BALANCED_TREE, GraphPattern.SPLIT_TREE, GraphPattern.TREE),
    GraphId.COLLNET_CHAIN: (GraphPattern.TREE,),
    GraphId.NVLS: (GraphPattern.NVLS,),
    GraphId.COLLNET_DIRECT: (GraphPattern.COLLNET_DIRECT,),
}


@dataclass(frozen=True, slots=True)
class GraphChannel:
    """GPUs of one machine in their order, by `dev` of the topology file (of several hosts: host << 56 | dev), of NVLS
    the head alone; their ranks in the job, or () where the file has none: such a file is for every machine. `nets` are
    the NICs, by `dev`, through which the channel comes in and goes out, or () on one machine."""

    line: int
    gpus: tuple[int, ...]
    ranks: tuple[int, ...] = ()
    nets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NcclGraph:
    """The channels for one kind of algorithm. Speeds are GB/s of a channel inside a machine and between machines,
    `latency_inter` microseconds; types are of LINK_TYPES: the farthest that a channel goes inside, and to its NICs.
    `cross_nic`: 0 a channel comes in and goes out on the same rail, 1 it need not, 2 only by pairs of channels."""

    line: int
    id: GraphId
    pattern: GraphPattern
    cross_nic: int
    speed_intra: float
    speed_inter: float
    latency_inter: float
    type_intra: str
    type_inter: str
    same_channels: bool
    channels: tuple[GraphChannel, ...]


@dataclass(frozen=True, slots=True)
class NcclGraphs:
    """The graphs of one file, in its order, each kind once."""

    source: str
    graphs: tuple[NcclGraph, ...]

    def get(self, kind: GraphId) -> NcclGraph | None:
        """The graph of that kind, unless the file has none."""
        return next((graph for graph in self.graphs if graph.id == kind), None)


_ALL_GPUS = (GraphId.RING, GraphId.TREE, GraphId.COLLNET_CHAIN)  # each of their channels has every GPU
Kind = TypeVar("Kind", GraphId, GraphPattern)


def read_nccl_graphs(path: Path | str) -> NcclGraphs:
    """The graphs in a file that NCCL wrote or is to read.

    Raises FormatError naming file, line and element, what was expected and the remedy.
    """
    return _Reader(str(path)).graphs(read_element(read_text(path, XML), str(path)))


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source

    def graphs(self, root: Element) -> NcclGraphs:
        if root.name != "graphs":
            remedy = "; a topology file (NCCL_TOPO_FILE) holds a machine" if root.name == "system" else ""
            raise FormatError(f"{self.source}:{root.line}: expected <graphs>, found <{root.name}>{remedy}")
        if (version := self.attributes(root).integer("version")) != 1:
            raise FormatError(f'{self.source}:{root.line}: <graphs version="{version}">: known is 1')
        seen: dict[GraphId, NcclGraph] = {}
        for child in self.children(root, "graph"):
            graph = self.graph(child)
            if graph.id in seen:
                raise FormatError(
                    f"{self.source}:{child.line}: <graph> id {graph.id} is on line {seen[graph.id].line} already:"
                    " keep one"
                )
            seen[graph.id] = graph
        if not seen:
            raise FormatError(f"{self.source}:{root.line}: no <graph> in it, so NCCL would search as without the file")
        return NcclGraphs(self.source, tuple(seen.values()))

    def attributes(self, element: Element) -> Attributes:
        return Attributes(f"{self.source}:{element.line}: <{element.name}>", element.attributes)

    def children(self, element: Element, *known: str) -> Iterator[Element]:
        return known_children(self.source, element, known)

    def graph(self, element: Element) -> NcclGraph:
        attributes = self.attributes(element)
        kind = self.kind(attributes, "id", GraphId)
        pattern = self.kind(attributes, "pattern", GraphPattern)
        if pattern not in PATTERNS[kind]:
            known = ", ".join(str(int(one)) for one in PATTERNS[kind])
            raise FormatError(f"{attributes.where}: id {kind:d} has pattern {known}, not {pattern:d}")
        channels = tuple(self.channel(child) for child in self.children(element, "channel"))
        self.check_channels(attributes, kind, channels)
        graph = NcclGraph(
            element.line,
            kind,
            pattern,
            attributes.integer("crossnic"),
            attributes.decimal("speedintra"),
            attributes.decimal("speedinter"),
            attributes.decimal("latencyinter", 0.0),
            attributes.one_of("typeintra", LINK_TYPES),
            attributes.one_of("typeinter", LINK_TYPES),
            bool(attributes.integer("samechannels")),
            channels,
        )
        for key, speed in (("speedintra", graph.speed_intra), ("speedinter", graph.speed_inter)):
            if channels and not 0 < speed <= _MOST_SPEED:
                raise FormatError(
                    f"{attributes.where}: {key}={speed:g}: expected GB/s of a channel, more than 0 and at most"
                    f" {_MOST_SPEED}"
                )
        return graph

    def kind(self, attributes: Attributes, key: str, known: type[Kind]) -> Kind:
        number = attributes.integer(key)
        if number not in [one.value for one in known]:
            names = ", ".join(f"{one.value} {one.name.lower()}" for one in known)
            raise FormatError(f'{attributes.where}: {key}="{number}": known are {names}')
        return known(number)

    def channel(self, element: Element) -> GraphChannel:
        where = self.attributes(element).where
        parts = list(self.children(element, "net", "gpu"))
        nets = [self.device(part) for part in parts if part.name == "net"]
        found = [part for part in parts if part.name == "gpu"]
        if not found:
            raise FormatError(f"{where}: no <gpu> in it")
        if nets and (len(nets) != 2 or [parts[0].name, parts[-1].name] != ["net", "net"]):
            raise FormatError(f"{where}: expected no <net>, or one before its GPUs and one after them")
        gpus = self.each_once([self.device(part) for part in found], found, "dev")
        ranks = [self.attributes(part).at_least(0, "rank") for part in found if "rank" in part.attributes]
        if ranks and len(ranks) != len(found):
            raise FormatError(f"{where}: {len(ranks)} of its {len(found)} GPUs have a rank: give each one, or none")
        return GraphChannel(element.line, gpus, self.each_once(ranks, found, "rank"), tuple(nets))

    def device(self, element: Element) -> int:
        attributes = self.attributes(element)
        attributes.text("dev")
        return attributes.hexadecimal("dev")

    def each_once(self, numbers: list[int], elements: list[Element], key: str) -> tuple[int, ...]:
        for at, number in enumerate(numbers):
            if number in numbers[:at]:
                raise FormatError(
                    f"{self.source}:{elements[at].line}: <gpu> {key} {number:d} is in its channel already: each is"
                    " there once"
                )
        return tuple(numbers)

    def check_channels(self, attributes: Attributes, kind: GraphId, channels: tuple[GraphChannel, ...]) -> None:
        said = attributes.integer("nchannels")
        if said != len(channels) or said > _CHANNELS:
            raise FormatError(
                f'{attributes.where}: nchannels="{said}" and {len(channels)} <channel>: expected the same number, at'
                f" most {_CHANNELS}"
            )
        for channel in channels:
            where, first = f"{self.source}:{channel.line}: <channel>", channels[0]
            if kind in _ALL_GPUS and set(channel.gpus) != set(first.gpus):
                raise FormatError(
                    f"{where}: its GPUs are others than those of line {first.line}: all channels have all"
                )
            if bool(channel.nets) != bool(first.nets) or bool(channel.ranks) != bool(first.ranks):
                raise FormatError(f"{where}: all channels have <net>, or none; all GPUs have a rank, or none")


def graphs_text(graphs: NcclGraphs) -> str:
    """The file, in NCCL's own format."""
    return "\n".join(_lines(graphs)) + "\n"


def _lines(graphs: NcclGraphs) -> Iterator[str]:
    yield '<graphs version="1">'
    for graph in graphs.graphs:
        yield (
            f'  <graph id="{graph.id:d}" pattern="{graph.pattern:d}" crossnic="{graph.cross_nic}"'
            f' nchannels="{len(graph.channels)}" speedintra="{graph.speed_intra:g}"'
            f' speedinter="{graph.speed_inter:g}" latencyinter="{graph.latency_inter:g}"'
            f' typeintra="{graph.type_intra}" typeinter="{graph.type_inter}"'
            f' samechannels="{graph.same_channels:d}"' + ("/>" if not graph.channels else ">")
        )
        for channel in graph.channels:
            yield from _channel_lines(channel)
        if graph.channels:
            yield "  </graph>"
    yield "</graphs>"


def _channel_lines(channel: GraphChannel) -> Iterator[str]:
    ranks = [f' rank="{rank}"' for rank in channel.ranks] or [""] * len(channel.gpus)
    gpus = [f'      <gpu dev="{_device(dev)}"{rank}/>' for dev, rank in zip(channel.gpus, ranks, strict=True)]
    nets = [f'      <net dev="{_device(dev)}"/>' for dev in channel.nets]
    yield from ("    <channel>", *nets[:1], *gpus, *nets[1:], "    </channel>")


def _device(dev: int) -> str:
    return f"{dev:#x}" if dev else "0"  # as C's %#lx writes it, and strtol reads it in base 16
