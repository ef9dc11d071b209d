"""How requests read their fields: what is wrong is a RequestError that lists what there is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hocket.api.choices import refused
from hocket.api.parts import Failures
from hocket.base.errors import FormatError, RequestError
from hocket.base.late_imports import late_imports
from hocket.base.units import parse_bytes
from hocket.topology import Topology, failures, load

with late_imports(__name__):
    from hocket.base.element_types import ELEMENT_TYPES, ElementType, element_type
    from hocket.topology.link_loads import share_file

__all__ = ["bytes_of", "element_type_of", "load_topology", "one_of", "slowed"]


def load_topology(text: str, lacking: Failures) -> Topology:
    """The topology that `text` names, less what failed and what others use, by the node ids of the whole."""
    topology = slowed(load(text), lacking)
    return failures.without(topology, lacking.without) if lacking.without else topology


def slowed(topology: Topology, lacking: Failures) -> Topology:
    """The topology with the bandwidths that are left of its links; nothing is taken out of it."""
    if loads := [one for one in lacking.load if "=" in one]:
        topology = failures.share(topology, loads)
    for path in (one for one in lacking.load if "=" not in one):
        topology = share_file(topology, Path(path))
    if lacking.degrade:
        topology = failures.degrade(topology, lacking.degrade)
    return topology


def one_of(option: str, value: str, values: Iterable[str]) -> str:
    """The value, when it is one of those."""
    known = list(values)
    if value not in known:
        raise refused(option, value, known)
    return value


def bytes_of(option: str, text: str) -> int:
    """The size that was given for an option."""
    try:
        return parse_bytes(text)
    except FormatError as error:
        raise RequestError(f"{option}: {error}") from error


def element_type_of(option: str, text: str, known: Iterable[str]) -> ElementType:
    """The type of elements that somebody calls so, when it is one of those."""
    found = element_type(text)
    name = one_of(option, found.name if found else text, known)
    return found or ELEMENT_TYPES[name]
