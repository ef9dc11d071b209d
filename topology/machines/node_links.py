"""Links inside nodes as they are on the wire: what they carry, and what their packets are. docs/topology.md names the
sources; a new technology is one function and one line in NODE_LINKS."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from hocket.base.errors import FormatError
from hocket.base.registry import Entry, Registry
from hocket.base.strict_yaml import nearest
from hocket.base.units import parse_bandwidth

__all__ = ["INTRA_CLASS", "NODE_CLASSES", "NODE_LINKS", "LinkFormat", "NodeLink", "read_node_link"]

_GB = 10**9
#: The class of links inside nodes of which a spec says no more than the bandwidth.
INTRA_CLASS = "intra"


@dataclass(frozen=True, slots=True)
class LinkFormat:
    """A packet has up to `payload` bytes and `header` bytes besides, and `ack` bytes go with each `acks` packets."""

    payload: int
    header: int
    ack: int = 0
    acks: int = 1


@dataclass(frozen=True, slots=True)
class NodeLink:
    """A link inside a node: the class that topologies give it, bytes/s a direction with headers, and its packets
    (None: nothing says what they are)."""

    link_class: str
    bandwidth: int
    format: LinkFormat | None = None

    def wire_bytes(self, size_bytes: int) -> int:
        """What it carries for a message: equation 1 of Tarraga-Moreno et al. with whole packets and acknowledgements.
        Over `bandwidth` it is the time that the link takes."""
        if self.format is None:
            return size_bytes
        packets = -(-size_bytes // self.format.payload)
        acks = -(-packets // self.format.acks) if self.format.ack else 0
        return size_bytes + packets * self.format.header + acks * self.format.ack


# GT/s of a lane, and which part of what it carries is not coding: 8 of 10 bits, 128 of 130, 236 of the 256 bytes of a
# flit (CRC, FEC and acknowledgements are the rest).
_PCIE = {
    1: (2.5, (8, 10)),
    2: (5, (8, 10)),
    3: (8, (128, 130)),
    4: (16, (128, 130)),
    5: (32, (128, 130)),
    6: (64, (236, 256)),
    7: (128, (236, 256)),
}
_LANES = (1, 2, 4, 8, 16)
_FIRST_FLITS = 6
_TLP_HEADER, _TLP_FRAMING = 12, 8  # 3 double words; sequence number and framing 4, LCRC 4
_DLLP = 8  # 6 bytes and 2 of framing


def _pcie(generation: int, width: int | None, payload: int | None) -> NodeLink:
    lanes, size = 16 if width is None else width, 128 if payload is None else payload
    if generation not in _PCIE or lanes not in _LANES or size not in (128, 256, 512, 1024, 2048, 4096):
        raise FormatError(
            f"pcie{generation}x{lanes}:{size}: expected a generation from 1 to 7, 1, 2, 4, 8 or 16 lanes, and a payload"
            " of 128 to 4096 bytes, such as pcie3x16 or pcie5x16:256"
        )
    rate, (data, coded) = _PCIE[generation]
    bandwidth = round(rate * _GB) * lanes // 8 * data // coded
    if generation >= _FIRST_FLITS:
        return NodeLink("pcie", bandwidth, LinkFormat(size, _TLP_HEADER))
    acks, packets = _ack_factor(lanes, size)
    return NodeLink("pcie", bandwidth, LinkFormat(size, _TLP_HEADER + _TLP_FRAMING, acks * _DLLP, packets))


def _ack_factor(lanes: int, payload: int) -> tuple[int, int]:
    """Acknowledgements, and for how many packets: AckFactor of the base specification as a fraction."""
    if payload > 256:
        return (1, 1) if lanes < 16 else (1, 2)
    return {16: (1, 3), 8: (2, 5)}.get(lanes, (5, 7))


_NVLINK = {1: (4, 20 * _GB), 2: (6, 25 * _GB), 3: (12, 25 * _GB), 4: (18, 25 * _GB), 5: (18, 50 * _GB)}
_INFINITY_FABRIC = {2: (8, 50 * _GB), 3: (7, 64 * _GB)}
_UALINK = {1: (4, 25 * _GB)}


def _of_links(
    name: str, table: dict[int, tuple[int, int]], packets: LinkFormat
) -> Callable[[int, int | None, int | None], NodeLink]:
    """Links of a generation that an accelerator has side by side, all unless said."""

    def link(generation: int, width: int | None, payload: int | None) -> NodeLink:
        if generation not in table or payload is not None or width == 0:
            known = ", ".join(f"{name}{each}" for each in table)
            raise FormatError(f"{name}{generation}: expected {known}, or fewer links as in {name}{max(table)}x4")
        links, rate = table[generation]
        return NodeLink(name, rate * (links if width is None else width), packets)

    return link


@dataclass(frozen=True, kw_only=True)
class NodeLinkKind(Entry):
    """A technology: `link(generation, width, payload)`, of which the latter two may not be said."""

    link: Callable[[int, int | None, int | None], NodeLink]


NODE_LINKS = Registry(
    "link inside a node",
    (
        NodeLinkKind(
            name="pcie",
            summary="generation 1 to 7, 1 to 16 lanes (16), payload (128 bytes): packets of 20 bytes besides (12 in"
            " flits, from 6 on), acknowledgements of 8",
            source="PCI-SIG's base specifications: rates, codings, flits, AckFactor of 1.4 to 3 packets",
            example="pcie3x16, pcie5x16:256",
            link=_pcie,
        ),
        NodeLinkKind(
            name="nvlink",
            summary="generation 1 to 5, all links of a GPU unless said: packets of 256 bytes and a flit of 16",
            source="NVIDIA's data sheets; packets of up to 18 flits of 128 bits (Foley and Danskin, IEEE Micro 2017)",
            example="nvlink4, nvlink4x6",
            link=_of_links("nvlink", _NVLINK, LinkFormat(256, 16)),
        ),
        NodeLinkKind(
            name="infinity_fabric",
            summary="generation 2 (50 GB/s per link) and 3 (64 GB/s), all links of a GPU unless said",
            source="AMD's data sheets; packets are not published: 64 bytes and 15 leave the 81 % that Schieffer et al."
            " measured (2025)",
            example="infinity_fabric3x7",
            link=_of_links("infinity_fabric", _INFINITY_FABRIC, LinkFormat(64, 15)),
        ),
        NodeLinkKind(
            name="ualink",
            summary="generation 1, 4 lanes of 25 GB/s unless said: requests of 256 bytes",
            source="UALink 200G 1.0: 93 % of a link is payload",
            example="ualink1x4",
            link=_of_links("ualink", _UALINK, LinkFormat(256, 19)),
        ),
    ),
)

NODE_CLASSES = frozenset({INTRA_CLASS, *NODE_LINKS})


def read_node_link(text: str) -> NodeLink:
    """`pcie3x16`, `pcie5x8:256` (payload), `nvlink4`, ..., or a bandwidth, with headers as well.

    Raises FormatError for what is neither.
    """
    match = re.fullmatch(r"([a-z_]+)([0-9]{1,2})?(?:x([0-9]{1,3}))?(?::([0-9]{1,5}))?", text)
    if match and match[1] in NODE_LINKS and match[2]:
        width, payload = (None if part is None else int(part) for part in match.group(3, 4))
        return NODE_LINKS[match[1]].link(int(match[2]), width, payload)
    if not text[:1].isdigit():
        examples = ", ".join(kind.example for kind in NODE_LINKS.values())
        raise FormatError(f"'{text}' is no link inside a node: {nearest(text, NODE_LINKS)}; such as {examples}")
    return NodeLink(INTRA_CLASS, parse_bandwidth(text))
