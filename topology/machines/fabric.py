"""How the NICs of many machines are joined: rails, fat trees, one switch.

A fabric is planned over ports alone: which switch each goes to, and how the switches go on to others. The spines that
leaves may use alike are one node whose links carry all that they do together, so that routes are spread over them
ideally; where their number is said they are that many switches, and the routing spreads.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from hocket.base.errors import FormatError, TopologyError
from hocket.base.strict_yaml import nearest
from hocket.base.units import exact_bandwidth

__all__ = ["FABRIC_KEYS", "Fabric", "FabricKind", "FabricPlan", "Port", "read_fabric"]

FABRIC_KEYS = ("fabric", "leaf", "pod", "spines", "oversubscription", "rails")


class FabricKind(str, Enum):
    """`RAIL`: a leaf a rail, the leaves on a spine; `RAIL_ONLY`: no spine; `FAT_TREE`: all NICs of some machines on one
    leaf, the leaves on a spine; `SWITCH`: all NICs on one. A single leaf has no spine."""

    RAIL = "rail"
    RAIL_ONLY = "rail_only"
    FAT_TREE = "fat_tree"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Port:
    """A NIC's port: the number of its machine, its rail in it, and bytes/s a direction."""

    machine: int
    rail: int
    bandwidth: int


@dataclass(frozen=True, slots=True)
class FabricPlan:
    """Switches 0..`switches`-1; `leaf` of each port; `trunks` (lower switch, upper switch, bytes/s a direction)."""

    switches: int
    leaf: tuple[int, ...]
    trunks: tuple[tuple[int, int, int], ...]

    @property
    def has_choice(self) -> bool:
        """Whether a switch goes up to several."""
        return len({lower for lower, _, _ in self.trunks}) < len(self.trunks)


@dataclass(frozen=True, slots=True)
class Fabric:
    """`leaf` machines share a leaf switch (0: all; a fat tree needs it), `pod` machines have a spine of their own, and
    these meet in a core (0: one spine). `spines`: how many switches a spine is, with an equal part of its bandwidth
    each; those of one number in all pods meet in a core of their own (0: one node stands for all). `oversubscription`:
    what comes into the switches of a tier from below, over what goes up: of the leaves, then of the pods' spines.
    `rails`: that of each NIC of a machine, in their order, -1 of those that are not on this fabric; without it each has
    its own."""

    kind: FabricKind = FabricKind.RAIL
    leaf: int = 0
    pod: int = 0
    spines: int = 0
    oversubscription: tuple[Fraction, ...] = ()
    rails: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        tiered = self.kind in (FabricKind.RAIL, FabricKind.FAT_TREE)
        unused = [key for key in ("leaf", "pod", "spines", "oversubscription") if getattr(self, key)]
        if unused and not tiered:
            raise TopologyError(f"fabric={self.kind.value} has one tier: drop {', '.join(unused)}")
        if self.kind == FabricKind.FAT_TREE and not self.leaf:
            raise TopologyError("fabric=fat_tree needs leaf=N, the number of machines on a leaf switch")
        if self.pod and self.pod % (self.leaf or self.pod):
            raise TopologyError(f"pod={self.pod}: expected a multiple of leaf={self.leaf}")
        if len(self.oversubscription) > 1 + bool(self.pod):
            raise TopologyError(
                f"oversubscription has {len(self.oversubscription)} values: expected one for the leaves"
                + ", and one for the spines of pods" * bool(self.pod)
            )
        if any(ratio < 1 for ratio in self.oversubscription):
            raise TopologyError("oversubscription is what comes from below over what goes up: 1 or more")

    def rail(self, nic: int, nics: int) -> int:
        """That of a machine's NIC, of so many; -1 of one that is not on the fabric. Raises TopologyError when they are
        not as many as `rails`."""
        if self.rails and len(self.rails) != nics:
            raise TopologyError(f"rails has {len(self.rails)} values for the {nics} NICs of a machine: give each one")
        return self.rails[nic] if self.rails else nic

    def plan(self, ports: Sequence[Port]) -> FabricPlan:
        """The switches for these ports, in the order of rails, then of machines; the spines after the leaves."""
        by_rail = self.kind in (FabricKind.RAIL, FabricKind.RAIL_ONLY)
        size = self.leaf or self.pod
        keys = [
            (port.rail if by_rail else 0, port.machine // size if size and self.kind != FabricKind.SWITCH else 0)
            for port in ports
        ]
        number = {key: at for at, key in enumerate(sorted(set(keys)))}
        leaves = tuple(number[key] for key in keys)
        below = [0] * len(number)
        for port, leaf in zip(ports, leaves, strict=True):
            below[leaf] += port.bandwidth
        if self.kind in (FabricKind.RAIL_ONLY, FabricKind.SWITCH) or len(number) == 1:  # a spine would join nothing
            return FabricPlan(len(number), leaves, ())
        pods = {leaf: block * size // self.pod if self.pod else 0 for (_, block), leaf in number.items()}
        num_pods, spines = len(set(pods.values())), max(1, self.spines)
        up = self._up(below, 0)
        trunks = [
            (leaf, len(number) + pods[leaf] * spines + spine, self._part(up[leaf]))
            for leaf in range(len(number))
            for spine in range(spines)
        ]
        if num_pods > 1:
            into = [sum(up[leaf] for leaf in pods if pods[leaf] == pod) for pod in range(num_pods)]
            core = len(number) + num_pods * spines
            trunks += [
                (len(number) + pod * spines + spine, core + spine, self._part(width))
                for pod, width in enumerate(self._up(into, 1))
                for spine in range(spines)
            ]
        return FabricPlan(len(number) + (num_pods + (num_pods > 1)) * spines, leaves, tuple(trunks))

    def _up(self, below: Sequence[int], tier: int) -> list[int]:
        ratio = self.oversubscription[tier] if tier < len(self.oversubscription) else Fraction(1)
        return [int(width / ratio) for width in below]

    def _part(self, width: int) -> int:
        """What goes to each spine of what goes up. Raises TopologyError where that is no whole number of bytes/s."""
        if width % max(1, self.spines):
            raise TopologyError(
                f"spines={self.spines}: {exact_bandwidth(width)} that go up are not {self.spines} times whole bytes/s:"
                " take another number of spines"
            )
        return width // max(1, self.spines)

    def __str__(self) -> str:
        """As a spec says it; nothing for the fabric that is meant without a word."""
        parts = [f"fabric={self.kind.value}"] if self.kind != FabricKind.RAIL else []
        parts += [f"{key}={value}" for key in ("leaf", "pod", "spines") if (value := getattr(self, key))]
        if self.oversubscription:
            parts.append("oversubscription=" + "/".join(_ratio(ratio) for ratio in self.oversubscription))
        if self.rails:
            parts.append("rails=" + "/".join("-" if rail < 0 else str(rail) for rail in self.rails))
        return "".join(f",{part}" for part in parts)


def _ratio(ratio: Fraction) -> str:
    return str(ratio.numerator) if ratio.denominator == 1 else f"{float(ratio):g}"


def read_fabric(options: Mapping[str, str]) -> Fabric:
    """The fabric that the keys of a spec say; those of FABRIC_KEYS count. Raises FormatError and TopologyError."""
    kinds = [kind.value for kind in FabricKind]
    kind = options.get("fabric", FabricKind.RAIL.value)
    if kind not in kinds:
        raise FormatError(f"fabric={kind}: no such fabric; {nearest(kind, kinds)}")
    return Fabric(
        FabricKind(kind),
        _count("leaf", options["leaf"]) if "leaf" in options else 0,
        _count("pod", options["pod"]) if "pod" in options else 0,
        _count("spines", options["spines"]) if "spines" in options else 0,
        tuple(_read_ratio(text) for text in _split(options, "oversubscription")),
        tuple(-1 if text == "-" else _count("rails", text, 0) for text in _split(options, "rails")),
    )


def _split(options: Mapping[str, str], key: str) -> list[str]:
    return [part.strip() for part in re.split("[/+]", options[key])] if key in options else []


def _count(key: str, text: str, least: int = 1) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) < least:
        raise FormatError(f"{key}={text}: expected a whole number, {least} or more")
    return int(text)


def _read_ratio(text: str) -> Fraction:
    if not re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,3})?(?::1)?", text):
        raise FormatError(f"oversubscription={text}: expected what comes from below over what goes up, as 2 or 1.5")
    return Fraction(text.removesuffix(":1"))
