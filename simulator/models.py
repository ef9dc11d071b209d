"""What a user chooses: the network model, and how the links of each class work."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.base.errors import SimulationError
from hocket.base.registry import Entry, Registry
from hocket.topology import Topology

__all__ = [
    "NETWORK_MODELS",
    "LinkSetting",
    "Model",
    "NetworkModel",
    "Queueing",
    "Switching",
    "per_link",
    "setting_name",
]


class Model(StrEnum):
    """The fidelity ladder; docs/simulator.md says what each captures."""

    BOUND = "bound"
    UNCONTENDED = "uncontended"
    ANALYTICAL = "analytical"
    CONGESTION = "congestion"
    FLOW = "flow"
    PACKET = "packet"
    NS3 = "ns3"


@dataclass(frozen=True, kw_only=True)
class NetworkModel(Entry):
    """A step of the ladder: what its `summary` predicts, what it `leaves_out`, what it was `validated_by`."""

    leaves_out: str
    validated_by: str


NETWORK_MODELS = Registry(
    "network model",
    (
        NetworkModel(
            name=Model.BOUND,
            summary="the time before which the job cannot be done",
            leaves_out="everything but lower bounds",
            validated_by="every other model, on random graphs",
        ),
        NetworkModel(
            name=Model.UNCONTENDED,
            summary="each message as if it were alone: latencies + serialization at the narrowest link of each stretch",
            leaves_out="contention: links are shared for free, results may be below the bound (said on stderr)",
            validated_by="closed forms; equal to the others for a message alone",
        ),
        NetworkModel(
            name=Model.ANALYTICAL,
            summary="alpha-beta as in textbooks: a step's messages take their latency and the busiest link's load",
            leaves_out="pipelines within a step; a link keeps nobody from other links",
            validated_by="textbook formulas of algorithms, exactly; equal to the others for a message alone",
        ),
        NetworkModel(
            name=Model.CONGESTION,
            summary="links that serve one whole message at a time",
            leaves_out="packets, finite buffers, back pressure; a message holds a link until it is through",
            validated_by="closed forms; a peer's backend to the nanosecond; hand-computed time stamps of each"
            " discipline",
        ),
        NetworkModel(
            name=Model.FLOW,
            summary="links shared max-min fairly by all that flows through them at once",
            leaves_out="packets, queues, start-up; a flow loads its whole stretch at once",
            validated_by="SimGrid, on paths of every routing; brute-force progressive filling; hand-computed shares",
        ),
        NetworkModel(
            name=Model.PACKET,
            summary="packets through switches with finite buffers: PFC, credits or loss, ECN, waits behind others",
            leaves_out="the work of NICs; pauses, credits and acknowledgements take latency but no bandwidth",
            validated_by="ns-3, to the nanosecond; closed forms of packets in a pipeline; hand-computed incast, pauses"
            " and losses; conservation",
        ),
        NetworkModel(
            name=Model.NS3,
            summary="the same messages on ns-3's point-to-point devices: an independent simulator, as a process",
            leaves_out="flow control and losses (queues never fill), cut-through, adaptive routing; 20 times slower",
            validated_by="it is the witness of `packet`",
        ),
    ),
    SimulationError,
)


class Switching(StrEnum):
    """Whether the switch at the far end of a link passes a message on when its head is there or when all of it is."""

    CUT_THROUGH = "cut_through"
    STORE_AND_FORWARD = "store_and_forward"


class Queueing(StrEnum):
    """Whom a link serves next, in the order of the engine's Queueing."""

    FIFO = "fifo"
    LIFO = "lifo"
    PRIORITY = "priority"
    SMALLEST_REMAINING = "smallest_remaining"


LinkSetting = str | Mapping[str, str]
"""A value for all links, or one for each class of links by name; `*` stands for the classes that are not named."""


def per_link(setting: LinkSetting, values: type[StrEnum], topology: Topology) -> NDArray[np.uint8]:
    """The position of each link's value among `values`; the first is the default.

    Raises SimulationError for an unknown value, and a class that the topology has not.
    """
    return _per_link((("*", setting),) if isinstance(setting, str) else tuple(setting.items()), values, topology)


@lru_cache(maxsize=16)
def _per_link(setting: tuple[tuple[str, str], ...], values: type[StrEnum], topology: Topology) -> NDArray[np.uint8]:
    number = {value.value: position for position, value in enumerate(values)}
    chosen = dict(setting)
    _require_known(chosen.values(), number, values.__name__.lower())
    _require_known(chosen, (*topology.classes, "*"), f"class of links of {topology.name}")
    rest = chosen.get("*", next(iter(number)))
    of_class = [number[chosen.get(name, rest)] for name in topology.classes]
    return np.array(of_class, np.uint8)[topology.link_class]


def _require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SimulationError(f"unknown {what} '{unknown[0]}'; there are {', '.join(known)}")


def setting_name(setting: LinkSetting) -> str:
    """`fifo`, or `*=fifo,1=priority`."""
    if isinstance(setting, str):
        return setting
    return setting["*"] if setting.keys() == {"*"} else ",".join(f"{name}={value}" for name, value in setting.items())
