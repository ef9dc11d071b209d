"""ASTRA-sim's network YAML (analytical backend), read verbatim."""

from fractions import Fraction
from typing import Annotated, Literal

import msgspec

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import YamlDocument, nearest
from hocket.topology.builders import product
from hocket.topology.model import Dimension, Topology

__all__ = ["AstraNetwork", "from_astra_sim", "read_network"]

_NOTE = "ASTRA-sim network file: its GB/s was read as 2^30 bytes/s (GiB/s), as ASTRA-sim does"
_KINDS = {"Ring": "ring", "FullyConnected": "fully_connected", "Switch": "switch"}


class AstraNetwork(msgspec.Struct, forbid_unknown_fields=True):
    """One entry a dimension in each list; bandwidth in 2^30 bytes/s, latency in nanoseconds of one link."""

    topology: list[Literal["Ring", "FullyConnected", "Switch"]]
    npus_count: list[int]
    bandwidth: list[Annotated[float, msgspec.Meta(gt=0, le=1e6)]]
    latency: list[Annotated[float, msgspec.Meta(ge=0, le=1e12)]]


def read_network(document: YamlDocument) -> AstraNetwork:
    """The file as it is. Raises FormatError naming file and line, also where lists differ in length."""
    kinds = document.content.get("topology")
    for at, kind in enumerate(kinds if isinstance(kinds, list) else []):
        if str(kind) not in _KINDS:
            where = document.where(f"$.topology[{at}]")
            raise FormatError(f"{where}: topology: '{kind}' is no kind of dimension; {nearest(str(kind), _KINDS)}")
    network = document.convert(AstraNetwork)
    count = len(network.topology)
    for key in AstraNetwork.__struct_fields__:
        if len(getattr(network, key)) != count or count == 0:
            raise FormatError(
                f"{document.where(f'$.{key}')}: {key} must have one entry a dimension, {max(count, 1)} here"
            )
    return network


def from_astra_sim(document: YamlDocument) -> Topology:
    """The product of the file's dimensions, with a note about its unit; a switch's latency counts up and down.

    Format: ASTRA-sim 2.0 analytical backend. Raises FormatError or TopologyError naming file and line.
    """
    network = read_network(document)
    dimensions = [
        Dimension(_KINDS[kind], size, latency_ps=_scaled(latency, 10**3), bandwidth=_scaled(bandwidth, 2**30))
        for kind, size, bandwidth, latency in zip(
            network.topology, network.npus_count, network.bandwidth, network.latency, strict=True
        )
    ]
    name = "x".join(f"{dimension.kind}:{dimension.size}" for dimension in dimensions)
    return product(name, dimensions, notes=(_NOTE,))


def _scaled(value: float, scale: int) -> int:
    """The decimal number in the file times `scale`, rounded down: exact, where the float's binary value is not."""
    return int(Fraction(repr(value)) * scale)
