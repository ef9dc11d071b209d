"""Topologies in one line: `mesh:4x4,bandwidth=50GB/s,latency=500ns`, `ring:8xswitch:4,...`, `dgx-h100:nodes=16`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TypeVar

from hocket._core.topology import require_connected
from hocket.base.errors import FormatError, HocketError, TopologyError, placed
from hocket.base.late_imports import late_imports
from hocket.base.strict_yaml import nearest
from hocket.base.units import parse_bandwidth, parse_time
from hocket.topology.builders import KINDS, SHAPES, product
from hocket.topology.graphs import GRAPHS
from hocket.topology.model import Dimension, Topology
from hocket.topology.options import read_flag, read_number, read_options

with late_imports(__name__):
    from hocket.base.reading import read_text
    from hocket.base.strict_yaml import read_yaml
    from hocket.topology.formats.infragraph.read import from_infragraph
    from hocket.topology.machines.cluster import MOST_MACHINES, Machine, cluster
    from hocket.topology.machines.fabric import FABRIC_KEYS, read_fabric
    from hocket.topology.machines.integrated import INTEGRATED_KEYS, integrated
    from hocket.topology.machines.integrated_machines import INTEGRATED
    from hocket.topology.machines.loading import CLUSTER_KEYS, MACHINE_FILES, PRESET_KEYS, split_imported
    from hocket.topology.machines.nccl_topology import from_nccl, nccl_parts
    from hocket.topology.machines.node import NODE, NODE_KEYS, node_topology
    from hocket.topology.machines.presets import PRESETS, preset, preset_machine

__all__ = ["UnknownTopology", "from_machines", "from_spec", "is_graph", "with_nvswitches"]

#: The word of specs `infragraph:FILE,latency=500ns,...`.
INFRAGRAPH = "infragraph"
_GROUP = r"[a-z_]+:[0-9]{1,9}(?:x[0-9]{1,9})*"
_UNITS: dict[str, tuple[Callable[[str], int], str]] = {
    "bandwidth": (parse_bandwidth, "bandwidth=50GB/s (1e9), bandwidth=50GiB/s (2^30) or bandwidth=400Gbit/s"),
    "latency": (parse_time, "latency=500ns or latency=1.5us"),
}
Value = TypeVar("Value")


class UnknownTopology(FormatError):
    """The text is neither a file nor a spec nor a preset."""


def is_graph(text: str) -> bool:
    """Whether this is the spec of a graph, which says of no machine what it is."""
    word = re.split("[:,]", text.strip(), maxsplit=1)[0]
    return word in SHAPES or word in GRAPHS


def from_spec(text: str) -> Topology:
    """The topology that a spec names; the spec becomes its name.

    `WORD:SIZES,bandwidth=B,latency=T` with the words of `builders.SHAPES`; `x` joins dimensions, also of several
    kinds (`ring:2xfully_connected:4xswitch:8`), and `/` (or `+`) joins values, one a dimension
    (`bandwidth=200GB/s/50GB/s` or `200/50GB/s`). `in_network=1`: the switches of the dimension compute; `degree=D`, one
    value or one for each `unwound_switch`: to how many ranks each of its ports is turned.
    `WORD:SIZES,...` with the words of `graphs.GRAPHS`, which are no products: they say what their values mean.
    `PRESET:nodes=N,gpus=G,link=B,latency=T,nvls=1,sharp=1` with the names of `presets.PRESETS`.
    `NAME:shape=4x4x8,nodes=N,link=B,latency=T` with the names of `integrated_machines.INTEGRATED`.
    `nccl:FILE,nodes=N,nvls=1,sharp=1`: N machines as NCCL's topology file FILE says (`nccl_topology.from_nccl`).
    `smi:FILE,gpu=h100,cpu=sapphire_rapids,nic=400Gbit/s,nodes=N`: that are as `nvidia-smi topo -m` says in FILE.
    `node:accelerators=8,link=pcie5x16,nic=400Gbit/s,nodes=N`: accelerators around a switch (`node.node_topology`).
    `infragraph:FILE,latency=T,bandwidth=B,NAME.bandwidth=B`: what the links of an InfraGraph file do not say.
    `calibration=FILE` of machines says what was measured of their library; links stay as they are.
    All of these take the keys of `fabric.FABRIC_KEYS`: how the machines are joined.

    Raises FormatError or TopologyError.
    """
    text = text.strip()
    word = re.split("[:,]", text, maxsplit=1)[0]
    try:
        if word in SHAPES:
            shape, _, options = text.partition(",")
            return _shape(text, shape, read_options(options, [*_UNITS, "in_network", "degree"]))
        if word in GRAPHS:
            return _graph(text)
        if word in PRESETS:
            return replace(_preset(word, read_options(text[len(word) + 1 :], PRESET_KEYS)), cluster=(text,))
        if word in INTEGRATED:
            return _integrated(word, read_options(text[len(word) + 1 :], [*INTEGRATED_KEYS, *FABRIC_KEYS]))
        if word == NODE:
            return node_topology(text, read_options(text[len(word) + 1 :], NODE_KEYS))
        if word == INFRAGRAPH:
            return _infragraph(text)
        if word in MACHINE_FILES:
            return replace(_imported(text), cluster=(text,))
    except HocketError as error:
        raise placed(f"topology '{text}'", error) from error
    known = nearest(word, [*SHAPES, *GRAPHS, *PRESETS, *INTEGRATED, *MACHINE_FILES, INFRAGRAPH, NODE])
    raise UnknownTopology(f"topology '{text}': no file and no topology '{word}'; {known}")


def _require_calibration(options: Mapping[str, str]) -> None:
    if "calibration" in options and not os.path.isfile(options["calibration"]):
        raise FormatError(f"calibration={options['calibration']}: no such file: hocket calibrate -o writes it")


def _preset(name: str, options: dict[str, str]) -> Topology:
    _require_calibration(options)
    return preset(
        name,
        read_number("nodes", options.get("nodes", "1")),
        *_sizes(options),
        read_fabric(options),
        *(read_flag(key, options.get(key, "0")) for key in ("nvls", "sharp")),
    )


def _integrated(name: str, options: dict[str, str]) -> Topology:
    nodes = read_number("nodes", options.get("nodes", "1"))
    _, link, latency = _sizes(options)
    return integrated(INTEGRATED[name], options.get("shape"), nodes, link, latency, read_fabric(options))


def _infragraph(text: str) -> Topology:
    path, _, options = text.partition(":")[2].partition(",")
    topology = from_infragraph(read_yaml(read_text(path), path), options)
    require_connected(topology.graph)
    return topology


def _sizes(options: Mapping[str, str]) -> tuple[int | None, int | None, int | None]:
    """GPUs of a machine, bytes/s of a link and its latency in ps, where they are said."""
    gpus = read_number("gpus", options["gpus"]) if "gpus" in options else None
    if gpus == 0:
        raise FormatError("gpus=0: expected 1 or more")
    return (
        gpus,
        parse_bandwidth(options["link"]) if "link" in options else None,
        parse_time(options["latency"]) if "latency" in options else None,
    )


def _imported(text: str) -> Topology:
    word, path, options = split_imported(text, CLUSTER_KEYS)
    _require_calibration(options)
    nodes = read_number("nodes", options.get("nodes", "1"))
    nvls, sharp = (read_flag(key, options.get(key, "0")) for key in ("nvls", "sharp"))
    return from_nccl(MACHINE_FILES[word].read(path, options), nodes, nvls, sharp, read_fabric(options))


def from_machines(name: str, specs: Sequence[str], fabric: str) -> Topology:
    """Machines of several kinds, each a spec `PRESET:nodes=N,...`, `nccl:FILE,nodes=N` or `smi:FILE,...,nodes=N`, in
    their order, joined by the fabric that `fabric`, the keys of `fabric.FABRIC_KEYS`, says.

    Raises FormatError or TopologyError, naming the spec.
    """
    machines: list[Machine] = []
    for text in specs:
        try:
            machines += _machines(text.strip())
        except HocketError as error:
            raise placed(f"machine '{text}'", error) from error
    found = cluster(name, machines, read_fabric(read_options(fabric, FABRIC_KEYS)))
    return replace(found, cluster=tuple(text.strip() for text in specs))


def with_nvswitches(topology: Topology) -> Topology:
    """The topology whose NVSwitches compute: as it is where its machines are not known or have none that can, or where
    these are joined to others than on those machines."""
    try:
        twin = _computing_machines(topology.cluster) if topology.cluster else None
    except TopologyError:  # they have none that can
        return topology
    if twin is None or _joined(twin, twin.in_network) != _joined(topology, twin.in_network):
        return topology
    return replace(topology, in_network=tuple(sorted({*topology.in_network, *twin.in_network})))


def _joined(topology: Topology, switches: tuple[int, ...]) -> set[tuple[int, int]]:
    """The ends of the links to and from these nodes."""
    links = zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
    return {ends for ends in links if not {*switches}.isdisjoint(ends)}


def _computing_machines(specs: Sequence[str]) -> Topology:
    """The machines of these specs alone, whose NVSwitches compute. Raises TopologyError for machines without such."""
    of_cluster = (*PRESET_KEYS, *CLUSTER_KEYS)
    return cluster("", [one for text in specs for one in _machines(text, of_cluster)], read_fabric({}), nvls=True)


def _machines(text: str, more_keys: Sequence[str] = ()) -> list[Machine]:
    word = text.partition(":")[0]
    if word in PRESETS:
        options = read_options(text[len(word) + 1 :], ["nodes", "gpus", "link", "latency", *more_keys])
        machine = preset_machine(word, *_sizes(options))
    elif word in MACHINE_FILES:
        word, path, options = split_imported(text, ["nodes", *more_keys])
        machine = nccl_parts(MACHINE_FILES[word].read(path, options))
    else:
        raise FormatError(f"no machine '{word}'; {nearest(word, [*PRESETS, *MACHINE_FILES])}")
    nodes = read_number("nodes", options.get("nodes", "1"))
    if not 1 <= nodes <= MOST_MACHINES:
        raise TopologyError(f"nodes={nodes}: expected 1 to {MOST_MACHINES}")
    return [machine] * nodes


def _graph(text: str) -> Topology:
    shape, _, rest = text.partition(",")
    word, _, sizes = shape.partition(":")
    if not re.fullmatch(_GROUP, shape):
        raise FormatError(f"'{shape}' is not a shape such as {word}:4x5")
    counts = signature(GRAPHS[word].build).parameters.keys() - {"name", "sizes", *_UNITS}
    options = read_options(rest, [*_UNITS, *sorted(counts)])
    _require_units(options)
    return GRAPHS[word].build(
        text,
        [int(size) for size in sizes.split("x")],
        bandwidth=_quantities("bandwidth", options),
        latency=_quantities("latency", options),
        **{key: read_number(key, value) for key, value in options.items() if key in counts},
    )


def _shape(text: str, shape: str, options: dict[str, str]) -> Topology:
    sizes: list[tuple[str, int]] = []
    for group in re.split(r"(?<=[0-9])x(?=[a-z])", shape):
        if not re.fullmatch(_GROUP, group):
            raise FormatError(f"'{group}' is not a shape such as ring:8, mesh:4x4 or ring:2xswitch:8")
        word, _, numbers = group.partition(":")
        sizes += SHAPES.named(word).dimensions([int(number) for number in numbers.split("x")])
    _require_units(options)
    unwound = sum(KINDS[kind].takes_degree for kind, _ in sizes)
    if "degree" in options and not unwound:
        raise FormatError("degree is for unwound_switch, and there is none")
    one_each = f"{len(sizes)} dimensions"
    latencies = _each("latency", _quantities("latency", options), len(sizes), one_each)
    bandwidths = _each("bandwidth", _quantities("bandwidth", options), len(sizes), one_each)
    flags = [read_flag("in_network", value) for value in _split(options.get("in_network", "0"))]
    computes = _each("in_network", flags, len(sizes), one_each)
    degree = [read_number("degree", value) for value in _split(options.get("degree", "1"))]
    degrees = iter(_each("degree", degree, unwound, f"{unwound} unwound switches"))
    dimensions = [
        Dimension(kind, size, latency, bandwidth, computing, next(degrees) if KINDS[kind].takes_degree else 0)
        for (kind, size), latency, bandwidth, computing in zip(sizes, latencies, bandwidths, computes, strict=True)
    ]
    return product(text, dimensions)


def _require_units(options: dict[str, str]) -> None:
    missing = [f"{key} is missing: add {example}" for key, (_, example) in _UNITS.items() if key not in options]
    if missing:
        raise FormatError("; ".join(missing))


def _split(text: str) -> list[str]:
    """The values that `/` or `+` joins. The slash of a unit such as GB/s has no number after it."""
    return re.split(r"(?<![eE])[/+](?=\s*[.0-9])", text)


def _quantities(key: str, options: dict[str, str]) -> list[int]:
    """Bandwidths or latencies; where only the last one has a unit, it is that of all."""
    *before, last = _split(options[key])
    unit = last.lstrip(" .0123456789")
    if all(re.fullmatch(r"\s*[.0-9]+\s*", value) for value in before):
        before = [value + unit for value in before]
    parse, _ = _UNITS[key]
    return [parse(value) for value in (*before, last)]


def _each(key: str, values: list[Value], count: int, of_what: str) -> list[Value]:
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise FormatError(f"{key} has {len(values)} values for {of_what}: give one, or one each")
    return values
