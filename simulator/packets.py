"""How a network of packets works, and what happened to its packets: settings of model `packet`, and its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hocket._core.simulator import PacketSettings
from hocket.base.enums import StrEnum
from hocket.base.errors import HocketError, SimulationError
from hocket.base.units import parse_bytes, parse_time

__all__ = ["Arbitration", "FlowControl", "Latencies", "PacketTraffic", "Packets", "parse_packets"]

_MOST_PPM = 1_000_000


class FlowControl(StrEnum):
    """What keeps a switch's buffer from running over, in the order of the engine's FlowControl."""

    PFC = "pfc"
    CREDITS = "credits"
    NONE = "none"


class Arbitration(StrEnum):
    """Which input of a switch sends next to an output, in the order of the engine's Arbitration."""

    ROUND_ROBIN = "round_robin"
    AGE = "age"


@dataclass(frozen=True, slots=True)
class Packets:
    """How a network of packets works (docs/network-models.md has what each means, and where the defaults are from).

    A packet has up to `mtu` bytes of its message and `header` bytes besides; `train` packets move as one. Each link
    into a switch has a `buffer` of so many bytes, for each virtual channel. `channels` None: one, or as many as keep
    buffers from waiting for each other in a circle. `ecn`: switches mark packets from `kmin` bytes that wait for a link
    on, all above `kmax` (None: DCQCN's for 40 Gb/s, in proportion to the link), up to `pmax` of them between; senders
    choose their rates by that. What is lost without flow control is sent again, at the latest after `retransmit`
    picoseconds without progress. `seed` decides which packets are marked.

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

    def __post_init__(self) -> None:
        for name, value, values in (("flow", self.flow, FlowControl), ("arbitration", self.arbitration, Arbitration)):
            if value not in set(values):
                raise SimulationError(f"packets: {name}={value}: expected {', '.join(values)}")
        if (self.kmin is None) != (self.kmax is None) or (self.kmin or 0) > (self.kmax or 0):
            raise SimulationError("packets: kmin and kmax go together, kmin the smaller one")
        unit = self.train * (self.mtu + self.header)
        if self.mtu > 0 <= self.header and self.train > 0 and self.buffer < unit:
            what = "packet" if self.train == 1 else f"train of {self.train} packets"
            raise SimulationError(f"packets: buffer={self.buffer}: no {what} of {unit} bytes fits: give a larger one")
        self.settings(self.channels or 1)

    def settings(self, channels: int) -> PacketSettings:
        """The engine's form, with so many virtual channels."""
        try:
            return PacketSettings(
                payload_bytes=self.mtu,
                header_bytes=self.header,
                train=self.train,
                buffer_bytes=self.buffer,
                flow_control=[*FlowControl].index(FlowControl(self.flow)),
                arbitration=[*Arbitration].index(Arbitration(self.arbitration)),
                channels=channels,
                marks=self.ecn,
                mark_from_bytes=self.kmin or 0,
                mark_all_bytes=self.kmax or 0,
                mark_ppm=round(self.pmax * _MOST_PPM),
                retransmit_ps=self.retransmit,
                seed=self.seed,
            )
        except TypeError as error:  # a number that no integer of the engine holds
            raise SimulationError("packets: a value is negative, or too large to be one") from error

    @property
    def waits_for_room(self) -> bool:
        """Whether what finds no room waits: so buffers can wait for each other."""
        return self.flow != FlowControl.NONE


def parse_packets(text: str) -> Packets:
    """`mtu=4096,buffer=128KiB,flow=credits,ecn=on` as settings; what is not named is as by default.

    Raises SimulationError for a name that there is not, and for a value that it cannot have.
    """
    readers: dict[str, Callable[[str], Any]] = {
        "flow": str,
        "arbitration": str,
        "ecn": {"on": True, "off": False}.__getitem__,
        "pmax": float,
        "retransmit": parse_time,
        **dict.fromkeys(("mtu", "header", "buffer", "kmin", "kmax"), parse_bytes),
        **dict.fromkeys(("train", "channels", "seed"), int),
    }
    chosen: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in readers:
            names = ", ".join(field.name for field in fields(Packets))
            raise SimulationError(f"packets: '{part.strip()}': expected NAME=VALUE of {names}")
        try:
            chosen[name] = readers[name](value)
        except (ValueError, KeyError, HocketError) as error:
            raise SimulationError(f"packets: {name}={value}: expected such as {_EXAMPLES[name]}") from error
    return Packets(**chosen)


_EXAMPLES = {
    "mtu": "mtu=4096",
    "header": "header=82",
    "train": "train=8",
    "buffer": "buffer=128KiB",
    "flow": "flow=pfc",
    "arbitration": "arbitration=age",
    "channels": "channels=2",
    "ecn": "ecn=on",
    "kmin": "kmin=50KB",
    "kmax": "kmax=2MB",
    "pmax": "pmax=0.01",
    "retransmit": "retransmit=1ms",
    "seed": "seed=1",
}


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
