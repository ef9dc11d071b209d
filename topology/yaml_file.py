"""Our YAML format, read and written: links one by one, dimensions, machines, or a spec (docs/topology.md)."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import yaml

from hocket.base.errors import FormatError, HocketError, TopologyError
from hocket.base.files import atomic_write
from hocket.base.late_imports import late_imports
from hocket.base.strict_yaml import YamlDocument
from hocket.base.units import exact_bandwidth, exact_time, parse_bandwidth, parse_time
from hocket.topology.builders import product
from hocket.topology.model import DEFAULT_CLASS, DEFAULT_ROUTING, Dimension, Topology
from hocket.topology.routings import read_routing
from hocket.topology.spec import from_machines, from_spec

with late_imports(__name__):
    from hocket.topology.machines.hosts import hosts_of

__all__ = ["from_file", "save"]

Node = Annotated[int, msgspec.Meta(ge=0, lt=2**24)]
ClassName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Quantity = str | int | float  # a bare number is taken in, to be refused with a message about units


class Link(msgspec.Struct, forbid_unknown_fields=True, rename={"src": "from", "dst": "to", "link_class": "class"}):
    """A directed link; with `both` a second one follows it, from `to` to `from`. Options choose links by `class`."""

    src: Node
    dst: Node
    latency: Quantity
    bandwidth: Quantity
    both: bool = False
    link_class: ClassName = DEFAULT_CLASS


class DimensionEntry(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    size: Node
    latency: Quantity
    bandwidth: Quantity
    in_network: bool = False
    degree: Node = 0


class TopologyFile(msgspec.Struct, forbid_unknown_fields=True):
    """Exactly one of `spec`, `machines` (with `fabric`), `links` (with `ranks`) or `dimensions` says what it is.

    With `links`, `dimensions` only names the structure the links have, and `cluster` the machines that its ranks are.
    """

    name: str | None = None
    spec: str | None = None
    machines: list[str] = []
    fabric: str = ""
    ranks: Annotated[int, msgspec.Meta(ge=2, lt=2**24)] | None = None
    switches: Node = 0
    dimensions: list[DimensionEntry] = []
    links: list[Link] = []
    machine: list[Node] | None = None
    cluster: str | list[str] = []
    calibration: str | None = None
    in_network: list[Node] = []
    routing: str | None = None
    notes: list[str] = []


def from_file(document: YamlDocument) -> Topology:
    """The topology a file of ours describes; without `name` it is called after the file.

    Raises FormatError naming file and line, TopologyError naming the link.
    """
    file = document.convert(TopologyFile)
    name = file.name or Path(document.source).stem
    for key in ("spec", "machines"):
        if getattr(file, key) and (file.ranks or file.dimensions or file.links or (file.spec and file.machines)):
            others = "ranks, links and dimensions" + (" and machines" if file.machines and file.spec else "")
            raise FormatError(f"{document.where(f'$.{key}')}: {key} is the whole topology: remove {others}")
        if getattr(file, key) and file.cluster:
            raise FormatError(f"{document.where('$.cluster')}: {key} names the machines already: remove cluster")
    if file.fabric and not file.machines:
        raise FormatError(f"{document.where('$.fabric')}: fabric joins 'machines: [...]', and there are none")
    for key in ("links", "switches"):
        if getattr(file, key) and not file.ranks:
            raise FormatError(f"{document.where(f'$.{key}')}: {key} need 'ranks: N', the number of ranks")
    if not (file.spec or file.machines or file.ranks or file.dimensions):
        raise FormatError(f"{document.where()}: expected spec, machines, ranks with links, or dimensions")
    topology = _topology(document, file, name)
    if file.cluster:
        topology = _of_cluster(document, file, topology)
    if file.calibration is not None:
        _check_calibration(document, file.calibration, topology)
    if file.in_network:
        topology = replace(topology, in_network=tuple(file.in_network))
        try:
            _ = topology.graph  # the engine checks that they are switches
        except TopologyError as error:
            raise FormatError(f"{document.where('$.in_network')}: {error}") from error
    if file.routing is not None:
        routing = read_routing(file.routing, document.where("$.routing"))
        topology = replace(topology, routing=routing.name)
    if file.machine is None:
        return topology
    if len(file.machine) != topology.num_ranks:
        raise FormatError(
            f"{document.where('$.machine')}: {len(file.machine)} machines for {topology.num_ranks} ranks: "
            "give one per rank"
        )
    return replace(topology, machine=np.array(file.machine, np.int32))


def _of_cluster(document: YamlDocument, file: TopologyFile, topology: Topology) -> Topology:
    """The topology, whose ranks are the GPUs of the machines that the file names."""
    specs = (file.cluster,) if isinstance(file.cluster, str) else tuple(file.cluster)
    try:
        gpus = sum(hosts_of(spec).ranks for spec in specs)
    except HocketError as error:
        raise FormatError(f"{document.where('$.cluster')}: {error}") from error
    if gpus != topology.num_ranks:
        raise FormatError(
            f"{document.where('$.cluster')}: {', '.join(specs)}: {gpus} GPUs, but the file has"
            f" {topology.num_ranks} ranks: name the machines that they are, or remove cluster"
        )
    return replace(topology, cluster=specs)


def _check_calibration(document: YamlDocument, calibration: str, topology: Topology) -> None:
    """That there is such a file, named relative to this one, and machines that it may be of."""
    where = document.where("$.calibration")
    if not topology.cluster:
        raise FormatError(f"{where}: a calibration is of machines: say which, as `cluster: dgx-h100:nodes=2`")
    if not (Path(document.source).parent / calibration).is_file():
        raise FormatError(f"{where}: {calibration}: no such file beside this one: put it there, or remove calibration")


def _topology(document: YamlDocument, file: TopologyFile, name: str) -> Topology:
    if file.spec:
        topology = from_spec(file.spec)
        return replace(topology, name=file.name or topology.name, notes=topology.notes + tuple(file.notes))
    if file.machines:
        topology = from_machines(name, file.machines, file.fabric)
        return replace(topology, notes=topology.notes + tuple(file.notes))
    dimensions = tuple(
        Dimension(
            entry.kind,
            entry.size,
            *_quantities(document, f"$.dimensions[{at}]", entry),
            in_network=entry.in_network,
            degree=entry.degree,
        )
        for at, entry in enumerate(file.dimensions)
    )
    if not file.ranks:
        return product(name, dimensions, file.notes)
    links, link_class = [], []
    for at, entry in enumerate(file.links):
        latency, bandwidth = _quantities(document, f"$.links[{at}]", entry)
        links.append((entry.src, entry.dst, latency, bandwidth))
        if entry.both:
            links.append((entry.dst, entry.src, latency, bandwidth))
        link_class += [entry.link_class] * (1 + entry.both)
    if dimensions and math.prod(dimension.size for dimension in dimensions) != file.ranks:
        raise FormatError(f"{document.where('$.dimensions')}: the sizes do not multiply to {file.ranks} ranks")
    return Topology.from_links(
        name,
        file.ranks,
        links,
        num_switches=file.switches,
        link_class=link_class,
        dimensions=dimensions,
        notes=tuple(file.notes),
    )


def _quantities(document: YamlDocument, path: str, entry: Link | DimensionEntry) -> tuple[int, int]:
    """Latency in picoseconds and bandwidth in bytes/s of one entry."""
    values = []
    for key, parse in (("latency", parse_time), ("bandwidth", parse_bandwidth)):
        try:
            values.append(parse(str(getattr(entry, key))))
        except FormatError as error:
            raise FormatError(f"{document.where(f'{path}.{key}')}: {key}: {error}") from error
    return values[0], values[1]


def save(topology: Topology, path: Path | str, comment: str = "", calibration: str | None = None) -> None:
    """Writes a topology as YAML of ours below a comment; `load` gives back the same columns, names, dimensions and
    notes. `calibration` is the file beside it of what was fitted to measurements of its machines."""
    dimensions = [
        {
            "kind": dimension.kind,
            "size": dimension.size,
            "latency": exact_time(dimension.latency_ps),
            "bandwidth": exact_bandwidth(dimension.bandwidth),
        }
        | ({"in_network": True} if dimension.in_network else {})
        | ({"degree": dimension.degree} if dimension.degree else {})
        for dimension in topology.dimensions
    ]
    is_product = dimensions and product("", topology.dimensions).fingerprint == topology.fingerprint
    header: dict[str, Any] = {"name": topology.name}
    if not is_product:
        header |= {"ranks": topology.num_ranks, "switches": topology.num_nodes - topology.num_ranks}
    if topology.notes:
        header["notes"] = list(topology.notes)
    if topology.in_network and not is_product:
        header["in_network"] = list(topology.in_network)
    if topology.routing != DEFAULT_ROUTING:
        header["routing"] = topology.routing
    if topology.cluster:
        header["cluster"] = topology.cluster[0] if len(topology.cluster) == 1 else list(topology.cluster)
    if calibration is not None:
        header["calibration"] = calibration
    if topology.machine.any():
        header["machine"] = topology.machine.tolist()
    if dimensions:
        header["dimensions"] = dimensions
    with atomic_write(path) as file:
        file.write(comment)
        for key, value in header.items():
            flow = None if isinstance(value, list) else False  # a list's innermost parts stand on one line each
            yaml.safe_dump({key: value}, file, sort_keys=False, default_flow_style=flow, width=120)
        if not is_product:
            file.write("links:\n")
            file.writelines(_link_lines(topology))


def _link_lines(topology: Topology) -> Iterator[str]:
    columns = (topology.src, topology.dst, topology.latency_ps, topology.bandwidth, topology.link_class)
    links = list(zip(*(column.tolist() for column in columns), strict=True))
    at = 0
    while at < len(links):
        src, dst, latency, bandwidth, number = links[at]
        both = links[at + 1 : at + 2] == [(dst, src, latency, bandwidth, number)]
        name = topology.classes[number]
        link_class = "" if name == DEFAULT_CLASS else f", class: '{name}'"  # quoted: a product's names are numbers
        yield (
            f"- {{from: {src}, to: {dst}, latency: {exact_time(latency)}, bandwidth: {exact_bandwidth(bandwidth)}"
            f"{', both: true' if both else ''}{link_class}}}\n"
        )
        at += 2 if both else 1
