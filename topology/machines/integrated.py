"""Accelerators whose network is their own, as TPUs' is, as topologies."""

from collections.abc import Sequence
from dataclasses import dataclass

from hocket.base.errors import FormatError, TopologyError
from hocket.base.registry import Entry
from hocket.base.units import exact_bandwidth, exact_time
from hocket.topology.builders import product
from hocket.topology.machines.cluster import MOST_MACHINES, Machine, MachinePort, cluster
from hocket.topology.machines.fabric import Fabric
from hocket.topology.model import Dimension, Topology

__all__ = ["INTEGRATED_KEYS", "IntegratedRecord", "integrated"]

#: What specs of these take beside the keys of fabrics.
INTEGRATED_KEYS = ("shape", "nodes", "link", "latency")


@dataclass(frozen=True)
class IntegratedRecord(Entry):
    """Chips along `shape`, whose dimensions are of `kinds`, with links of `links` bytes/s a direction.

    `most` chips in a slice whose shape a user may choose; 0: the shape is what is built. Dimensions of a chosen one are
    rings where all are multiples of `cube`, and one of `around` is; else lines with ends. `nic`: bytes/s of each chip
    to others over the data centre's network. `latency_ps` of a link. `library` runs its collectives.
    """

    accelerator: str
    library: str
    shape: tuple[int, ...]
    kinds: tuple[str, ...]
    links: tuple[int, ...]
    nic: int
    latency_ps: int
    most: int = 0
    cube: int = 0
    around: int = 0
    assumed: str = ""

    def kinds_of(self, shape: Sequence[int]) -> list[str]:
        """The kind of each dimension of a shape."""
        if not self.most:
            return [*self.kinds]
        whole = bool(self.cube) and all(size % self.cube == 0 for size in shape)
        return ["ring" if whole or size == self.around else "mesh" for size in shape]

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"{self.name}: assumed: {self.assumed}",) if self.assumed else ()


def integrated(
    record: IntegratedRecord,
    shape: str | None = None,
    nodes: int = 1,
    link: int | None = None,
    latency: int | None = None,
    fabric: Fabric | None = None,
) -> Topology:
    """`nodes` slices of a record's, each of `shape` such as `4x4x8` (the record's), joined by their chips' NICs.

    `link` bytes/s of each link a direction and `latency` ps replace the record's. A single slice is a product of its
    dimensions, of which algorithms know. Raises FormatError and TopologyError for shapes that cannot be had.
    """
    name, fabric, sizes = record.name, fabric or Fabric(), _sizes(record, shape)
    words = [f"shape={'x'.join(map(str, sizes))}"] * bool(record.most) + [f"nodes={nodes}"] * (nodes > 1)
    words += [f"link={exact_bandwidth(link)}"] if link is not None else []
    words += [f"latency={exact_time(latency)}"] if latency is not None else []
    full_name = f"{name}:{','.join(words)}" if words else name
    full_name += str(fabric) if nodes > 1 else ""
    if not 1 <= nodes <= MOST_MACHINES:
        raise TopologyError(f"{name} takes nodes from 1 to {MOST_MACHINES}")
    dimensions = [
        Dimension(kind, size, record.latency_ps if latency is None else latency, link or bandwidth)
        for kind, size, bandwidth in zip(record.kinds_of(sizes), sizes, record.links, strict=True)
        if size > 1
    ]
    one = product(full_name, dimensions, record.notes)
    return one if nodes == 1 else cluster(full_name, [_machine(record, one)] * nodes, fabric)


def _sizes(record: IntegratedRecord, shape: str | None) -> tuple[int, ...]:
    if shape is None:
        return record.shape
    example = f"{record.name}:shape={'x'.join(map(str, record.shape))}"
    if not record.most:
        raise FormatError(f"shape={shape}: a {record.name} is built as it is; drop shape")
    words = shape.split("x")
    if len(words) != len(record.shape) or not all(word.isdecimal() and len(word) < 6 for word in words):
        raise FormatError(f"shape={shape}: expected {len(record.shape)} sizes, such as {example}")
    sizes = tuple(map(int, words))
    chips = 1
    for size in sizes:
        chips *= size
    if not 2 <= chips <= record.most or 0 in sizes:
        raise TopologyError(f"shape={shape}: {chips} chips; a slice of {record.name} has 2 to {record.most}")
    if record.around and max(sizes) > record.around:
        raise TopologyError(f"shape={shape}: a dimension of {record.name} has at most {record.around} chips")
    return sizes


def _machine(record: IntegratedRecord, one: Topology) -> Machine:
    """A slice as a part of several; every chip is on a rail of its own place's."""
    links = zip(one.src, one.dst, one.latency_ps, one.bandwidth, one.link_class, strict=True)
    return Machine(
        record.name,
        one.num_ranks,
        (one.num_nodes - one.num_ranks,),
        tuple((int(a), int(b), int(ps), int(rate), one.classes[kind]) for a, b, ps, rate, kind in links),
        tuple(MachinePort(chip, record.nic, chip) for chip in range(one.num_ranks)),
        notes=record.notes,
    )
