"""Topologies in one line: `mesh:4x4,bandwidth=50GB/s,latency=500ns`, `ring:8xswitch:4,...`, `dgx-h100:nodes=16`."""

import re
from collections.abc import Callable, Iterable
from inspect import signature
from typing import TypeVar

from hocket.core.errors import FormatError, HocketError
from hocket.core.strict_yaml import nearest
from hocket.core.units import parse_bandwidth, parse_time
from hocket.topology.builders import SHAPES, product
from hocket.topology.model import Dimension, Topology
from hocket.topology.presets import PRESETS

__all__ = ["UnknownTopology", "from_spec"]

_GROUP = r"[a-z_]+:[0-9]{1,9}(?:x[0-9]{1,9})*"
_UNITS = {
    "bandwidth": "bandwidth=50GB/s (1e9), bandwidth=50GiB/s (2^30) or bandwidth=400Gbit/s",
    "latency": "latency=500ns or latency=1.5us",
}
Value = TypeVar("Value")


class UnknownTopology(FormatError):
    """The text is neither a file nor a spec nor a preset."""


def from_spec(text: str) -> Topology:
    """The topology that a spec names; the spec becomes its name.

    `WORD:SIZES,bandwidth=B,latency=T` with the words of `builders.SHAPES`; `x` joins dimensions, also of several
    kinds (`ring:2xfully_connected:4xswitch:8`), and `+` joins values, one a dimension (`bandwidth=200GB/s+50GB/s`).
    `in_network=1`: the switches of the dimension compute.
    `PRESET:nodes=N,gpus=G` with the names of `presets.PRESETS`. Raises FormatError or TopologyError.
    """
    text = text.strip()
    word = re.split("[:,]", text, maxsplit=1)[0]
    try:
        if word in PRESETS:
            return _preset(word, _options(text[len(word) + 1 :], signature(PRESETS[word]).parameters))
        if word in SHAPES:
            shape, _, options = text.partition(",")
            return _shape(text, shape, _options(options, [*_UNITS, "in_network"]))
    except HocketError as error:
        raise type(error)(f"topology '{text}': {error}") from error
    raise UnknownTopology(f"topology '{text}': no file and no topology '{word}'; {nearest(word, [*SHAPES, *PRESETS])}")


def _options(text: str, known: Iterable[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in text.split(",") if text else []:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise FormatError(f"'{part}' is not key=value; {nearest(key, known)}")
        if key not in known:
            raise FormatError(f"unknown key '{key}'; {nearest(key, known)}")
        if key in options:
            raise FormatError(f"key '{key}' is given twice: keep one")
        options[key] = value
    return options


def _preset(name: str, options: dict[str, str]) -> Topology:
    for key, value in options.items():
        if not re.fullmatch(r"[0-9]{1,6}", value):
            raise FormatError(f"{key}={value}: expected a whole number, as in {name}:{key}=4")
    return PRESETS[name](**{key: int(value) for key, value in options.items()})


def _shape(text: str, shape: str, options: dict[str, str]) -> Topology:
    sizes: list[tuple[str, int]] = []
    for group in re.split(r"(?<=[0-9])x(?=[a-z])", shape):
        if not re.fullmatch(_GROUP, group):
            raise FormatError(f"'{group}' is not a shape such as ring:8, mesh:4x4 or ring:2xswitch:8")
        word, _, numbers = group.partition(":")
        if word not in SHAPES:
            raise FormatError(f"unknown shape '{word}'; {nearest(word, SHAPES)}")
        sizes += SHAPES[word]([int(number) for number in numbers.split("x")])
    missing = [f"{key} is missing: add {units}" for key, units in _UNITS.items() if key not in options]
    if missing:
        raise FormatError("; ".join(missing))
    latencies = _per_dimension("latency", parse_time, options, len(sizes))
    bandwidths = _per_dimension("bandwidth", parse_bandwidth, options, len(sizes))
    in_network = _per_dimension("in_network", _flag, {"in_network": "0"} | options, len(sizes))
    dimensions = [
        Dimension(kind, size, latency, bandwidth, computes)
        for (kind, size), latency, bandwidth, computes in zip(sizes, latencies, bandwidths, in_network, strict=True)
    ]
    return product(text, dimensions)


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise FormatError(f"in_network={text}: expected 1 where switches compute in the network, 0 where not")
    return text == "1"


def _per_dimension(key: str, parse: Callable[[str], Value], options: dict[str, str], count: int) -> list[Value]:
    values = [parse(value) for value in options[key].split("+")]
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise FormatError(f"{key} has {len(values)} values for {count} dimensions: give one, or one a dimension")
    return values
