"""How a network of packets works, and what happened to its packets: settings of model `packet`, and its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import PacketSettings
from hocket.base.enums import StrEnum
from hocket.base.errors import FormatError, HocketError, SimulationError
from hocket.base.units import parse_bytes, parse_time
from hocket.topology import Topology
from hocket.topology.machines.node_links import read_node_link

__all__ = ["Arbitration", "FlowControl", "Latencies", "LinkPackets", "PacketTraffic", "Packets", "parse_packets"]

_MOST_PPM = 1_000_000


class FlowControl(StrEnum):
    """What keeps a switch's buffer from running over, in the order of the engine's FlowControl; it has credits for
    bubbles."""

    PFC = "pfc"
    CREDITS = "credits"
    NONE = "none"
    BUBBLE = "bubble"


class Arbitration(StrEnum):
    """Which input of a switch sends next to an output, in the order of the engine's Arbitration."""

    ROUND_ROBIN = "round_robin"
    AGE = "age"
    FIFO = "fifo"


@dataclass(frozen=True, slots=True)
class LinkPackets:
    """What packets are on links of a class, where that is not what they are elsewhere (None: it is). `ack` bytes
    besides for each `acks` packets; a NIC takes `split` picoseconds for each packet that it makes of a larger one,
    beside the link's own work, and sends a message `gap` picoseconds after the one before at the earliest: its
    messages are fewer by that, but not later."""

    mtu: int | None = None
    header: int | None = None
    buffer: int | None = None
    ack: int = 0
    acks: int = 1
    split: int = 0
    gap: int = 0


@dataclass(frozen=True, slots=True)
class Packets:
    """How a network of packets works (docs/network-models.md has what each means, and where the defaults are from).

    A packet has up to `mtu` bytes of its message and `header` bytes besides; `train` packets move as one. Each link
    into a switch has a `buffer` of so many bytes, for each virtual channel. `channels` None: one, or as many as keep
    buffers from waiting for each other in a circle. `ecn`: switches mark packets from `kmin` bytes that wait for a link
    on, all above `kmax` (None: DCQCN's for 40 Gb/s, in proportion to the link), up to `pmax` of them between; senders
    choose their rates by that. What is lost without flow control is sent again, at the latest after `retransmit`
    picoseconds without progress. `seed` decides which packets are marked. `classes`: what is otherwise on links of a
    class (`Topology.classes`), by its name; NICs between make small packets of large ones, and large ones of small.

    Raises SimulationError for what no network can have.
    """

    mtu: int = 4096
    header: int = 82
    train: int = 1
    buffer: int = 131_072
    flow: str = FlowControl.PFC
    arbitration: str = Arbitration.ROUND_ROBIN
    channels: int | None = None
    ecn: bool = False
    kmin: int | None = None
    kmax: int | None = None
    pmax: float = 0.01
    retransmit: int = 67_108_864_000
    seed: int = 0
    classes: Mapping[str, LinkPackets] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value, values in (("flow", self.flow, FlowControl), ("arbitration", self.arbitration, Arbitration)):
            if value not in set(values):
                raise SimulationError(f"packets: {name}={value}: expected {', '.join(values)}")
        if (self.kmin is None) != (self.kmax is None) or (self.kmin or 0) > (self.kmax or 0):
            raise SimulationError("packets: kmin and kmax go together, kmin the smaller one")
        if self.flow == FlowControl.BUBBLE and self.channels not in (None, 1):
            raise SimulationError(f"packets: channels={self.channels}: flow=bubble takes one virtual channel")
        unit = self.train * (self.mtu + self.header)
        if self.mtu > 0 <= self.header and self.train > 0 and self.buffer < unit:
            what = "packet" if self.train == 1 else f"train of {self.train} packets"
            raise SimulationError(f"packets: buffer={self.buffer}: no {what} of {unit} bytes fits: give a larger one")
        self._settings(self.channels or 1, np.zeros(0, np.uint8))

    def settings(self, channels: int, topology: Topology, ring_of: NDArray[np.int32] | None = None) -> PacketSettings:
        """The engine's form, with so many virtual channels, or with bubbles in rings of buffers: of each link its ring
        (-1: none). Raises SimulationError for a class that the topology has not, and for buffers in rings that are too
        small."""
        for name in self.classes:
            if name not in topology.classes:
                known = ", ".join(topology.classes)
                raise SimulationError(f"packets: {name}: the classes of links of {topology.name} are {known}")
        number = {name: at for at, name in enumerate(self.classes, 1)}
        of_class = np.array([number.get(name, 0) for name in topology.classes], np.uint8)
        ring_of = np.zeros(0, np.int32) if ring_of is None else ring_of
        self._require_bubbles(topology, ring_of)
        return self._settings(channels, of_class[topology.link_class], ring_of)

    def _require_bubbles(self, topology: Topology, ring_of: NDArray[np.int32]) -> None:
        """Raises SimulationError where a buffer in a ring has no room for two of the largest packets or trains."""
        for at in np.unique(topology.link_class[: len(ring_of)][ring_of >= 0]):
            name = topology.classes[at]
            place = self.link_bytes(self.train * self.mtu, name)
            buffer = self._completed(self.classes.get(name, LinkPackets())).buffer
            assert buffer is not None
            if buffer < 2 * place:
                raise SimulationError(
                    f"packets: flow=bubble: buffer={buffer} holds no two packets of {place} bytes, and a ring of"
                    " buffers needs one for its bubble: give a larger one"
                )

    def _settings(
        self, channels: int, format_of: NDArray[np.uint8], ring_of: NDArray[np.int32] | None = None
    ) -> PacketSettings:
        whole = LinkPackets(self.mtu, self.header, self.buffer)
        formats = [whole, *(self._completed(each) for each in self.classes.values())]
        try:
            columns = {
                engine: np.array([getattr(each, name) for each in formats], np.int64)
                for engine, name in _COLUMNS.items()
            }
            return PacketSettings(
                **columns,
                format_of=format_of,
                ring_of=np.zeros(0, np.int32) if ring_of is None else ring_of,
                train=self.train,
                flow_control=[*FlowControl].index(
                    FlowControl.CREDITS if self.flow == FlowControl.BUBBLE else FlowControl(self.flow)
                ),
                arbitration=[*Arbitration].index(Arbitration(self.arbitration)),
                channels=channels,
                marks=self.ecn,
                mark_from_bytes=self.kmin or 0,
                mark_all_bytes=self.kmax or 0,
                mark_ppm=round(self.pmax * _MOST_PPM),
                retransmit_ps=self.retransmit,
                seed=self.seed,
            )
        except (TypeError, OverflowError, ValueError) as error:  # a number that no integer of the engine holds
            raise SimulationError("packets: a value is negative, or too large to be one") from error

    def _completed(self, chosen: LinkPackets) -> LinkPackets:
        return replace(
            chosen,
            mtu=self.mtu if chosen.mtu is None else chosen.mtu,
            header=self.header if chosen.header is None else chosen.header,
            buffer=self.buffer if chosen.buffer is None else chosen.buffer,
        )

    def link_bytes(self, size_bytes: int, link_class: str) -> int:
        """What a link of a class carries for a message of so many bytes."""
        chosen = self._completed(self.classes.get(link_class, LinkPackets()))
        assert chosen.mtu is not None and chosen.header is not None
        unit = self.train * self.mtu  # what moves as one
        whole, rest = (_link_bytes(size, chosen.mtu, chosen.header, chosen) for size in (unit, size_bytes % unit))
        return size_bytes // unit * whole + rest

    @property
    def waits_for_room(self) -> bool:
        """Whether what finds no room waits: so buffers can wait for each other."""
        return self.flow != FlowControl.NONE


def _link_bytes(size_bytes: int, mtu: int, header: int, chosen: LinkPackets) -> int:
    """As the engine has it (`LinkFormat::link_bytes`)."""
    count = -(-size_bytes // mtu)
    acks = -(-count // chosen.acks) if chosen.ack else 0
    return size_bytes + count * header + acks * chosen.ack


_COLUMNS = {
    "payload_bytes": "mtu",
    "header_bytes": "header",
    "buffer_bytes": "buffer",
    "ack_bytes": "ack",
    "ack_every": "acks",
    "split_ps": "split",
    "gap_ps": "gap",
}
_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("mtu", "header", "buffer", "kmin", "kmax", "ack"), parse_bytes),
    **dict.fromkeys(("train", "channels", "seed", "acks"), int),
    **dict.fromkeys(("retransmit", "split", "gap"), parse_time),
    **dict.fromkeys(("flow", "arbitration"), str),
    "ecn": {"on": True, "off": False}.__getitem__,
    "pmax": float,
}
_OF_CLASSES = tuple(each.name for each in fields(LinkPackets))
_OF_ALL = tuple(each.name for each in fields(Packets) if each.name != "classes")
_EXAMPLES = {
    "mtu": "4096",
    "header": "82",
    "train": "8",
    "buffer": "128KiB",
    "channels": "2",
    "ecn": "on",
    "kmin": "50KB",
    "kmax": "2MB",
    "pmax": "0.01",
    "retransmit": "1ms",
    "seed": "1",
    "ack": "8",
    "acks": "3",
    "split": "8.26ns",
    "gap": "292ns",
}


def parse_packets(text: str) -> Packets:
    """`mtu=4096,buffer=128KiB,flow=credits,ecn=on` as settings, `pcie.mtu=128` for links of a class, or
    `pcie=pcie3x16` by their technology (`node_links.NODE_LINKS`); what is not named is as by default.

    Raises SimulationError for a name that there is not, and for a value that it cannot have.
    """
    chosen: dict[str, Any] = {}
    of_classes: dict[str, dict[str, Any]] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in _OF_ALL and (packets := _of_link(value)) is not None:
            of_classes.setdefault(name, {}).update(packets)
            continue
        link_class, dot, setting = name.rpartition(".")
        if setting not in (_OF_CLASSES if dot else _OF_ALL):
            names = f"NAME=VALUE of {', '.join(_OF_ALL)}, CLASS.NAME=VALUE of {', '.join(_OF_CLASSES)}, CLASS=pcie3x16"
            raise SimulationError(f"packets: '{part.strip()}': expected {names}")
        try:
            (of_classes.setdefault(link_class, {}) if dot else chosen)[setting] = _READERS[setting](value)
        except (ValueError, KeyError, HocketError) as error:
            raise SimulationError(f"packets: {name}={value}: expected such as {name}={_EXAMPLES[setting]}") from error
    return Packets(**chosen, classes={name: LinkPackets(**said) for name, said in of_classes.items()})


def _of_link(text: str) -> dict[str, int] | None:
    """The packets of a link inside a node; None where the text names none."""
    if not text[:1].isalpha() or "." in text:
        return None
    try:
        found = read_node_link(text).format
    except FormatError:
        return None
    assert found is not None  # only a bandwidth has none
    return {"mtu": found.payload, "header": found.header, "ack": found.ack, "acks": found.acks}


@dataclass(frozen=True, eq=False)
class Latencies:
    """How long something took how often: `count` (int64) of about `time_ps` (int64, ascending, to 0.4 %); mean and most
    are exact."""

    time_ps: NDArray[np.int64]
    count: NDArray[np.int64]
    mean_ps: float
    most_ps: int

    @property
    def total(self) -> int:
        return int(self.count.sum())

    def percentile_ps(self, percent: float) -> int:
        """The time that so many percent do not exceed (to 0.4 %); 0 of none."""
        if not len(self.count):
            return 0
        reached = np.cumsum(self.count) >= np.ceil(self.total * percent / 100)
        return min(int(self.time_ps[reached.argmax()]), self.most_ps)


@dataclass(frozen=True, eq=False)
class PacketTraffic:
    """What happened to packets. Per link, int64 unless said: `packets` that it carried; `waiting_most_bytes` and
    `waiting_mean_bytes` (float64), what waited at its switch for it; `buffer_most_bytes` and `buffer_mean_bytes`
    (float64), what waited in the buffer at its far end; `pauses` by that buffer, `paused_ps` in all; `marked` packets;
    `dropped` packets that found no room behind it.

    `message_latency`: from when a message (of one on several paths each part) is ready to be sent to its last byte at
    its receiver; `packet_latency`: from a packet's first byte on its first link to its last byte at the rank. Over
    time, empty unless asked for: `bin_waiting` (links x bins of `bin_ps`), bytes times nanoseconds that waited for each
    link. `notifications` of marks that receivers sent, `sent_again_bytes` after losses, virtual `channels` of a link.
    """

    packets: NDArray[np.int64]
    waiting_most_bytes: NDArray[np.int64]
    waiting_mean_bytes: NDArray[np.float64]
    buffer_most_bytes: NDArray[np.int64]
    buffer_mean_bytes: NDArray[np.float64]
    pauses: NDArray[np.int64]
    paused_ps: NDArray[np.int64]
    marked: NDArray[np.int64]
    dropped: NDArray[np.int64]
    message_latency: Latencies
    packet_latency: Latencies
    bin_ps: int
    bin_waiting: NDArray[np.int64]
    notifications: int
    sent_again_bytes: int
    channels: int

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> PacketTraffic:
        """From what the engine says."""
        latencies = {name: Latencies(**found[name]) for name in ("message_latency", "packet_latency")}
        return cls(**{**found, **latencies})

    def until(self, time_ps: int) -> PacketTraffic:
        """With the bins as rows of links, up to that in which all was done."""
        bins = self.bin_waiting.reshape(len(self.packets), -1)
        return replace(self, bin_waiting=bins[:, : -(-time_ps // self.bin_ps)])
