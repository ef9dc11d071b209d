"""What a user chooses: the network model, and how the links of each class work."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from hocket.base.enums import StrEnum
from hocket.base.errors import SimulationError
from hocket.topology import Topology

__all__ = ["LinkSetting", "Model", "Queueing", "Switching", "parse_setting", "per_link", "setting_name"]


class Model(StrEnum):
    """The fidelity ladder; docs/simulator.md says what each captures."""

    BOUND = "bound"
    ANALYTICAL = "analytical"
    CONGESTION = "congestion"
    FLOW = "flow"


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
    number = {value.value: position for position, value in enumerate(values)}
    chosen = {"*": setting} if isinstance(setting, str) else setting
    _require_known(chosen.values(), number, values.__name__.lower())
    _require_known(chosen, (*topology.classes, "*"), f"class of links of {topology.name}")
    rest = chosen.get("*", next(iter(number)))
    of_class = [number[chosen.get(name, rest)] for name in topology.classes]
    return np.array(of_class, np.uint8)[topology.link_class]


def _require_known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SimulationError(f"unknown {what} '{unknown[0]}'; there are {', '.join(known)}")


def parse_setting(text: str) -> LinkSetting:
    """What `setting_name` has named."""
    if "=" not in text:
        return text
    parts = (part.rpartition("=") for part in text.split(","))
    return {name: value for name, _, value in parts}


def setting_name(setting: LinkSetting) -> str:
    """`fifo`, or `*=fifo,1=priority`."""
    if isinstance(setting, str):
        return setting
    return setting["*"] if setting.keys() == {"*"} else ",".join(f"{name}={value}" for name, value in setting.items())
