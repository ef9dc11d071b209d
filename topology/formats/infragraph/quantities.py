"""Latencies and bandwidths of InfraGraph's links: their own, else what the spec says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from hocket.base.errors import FormatError
from hocket.base.units import parse_bandwidth, parse_time
from hocket.topology.formats.infragraph.schema import InfraLink
from hocket.topology.options import read_options

__all__ = ["Quantities"]

_BANDWIDTHS = {"gigabits_per_second": 125_000_000, "gigabytes_per_second": 10**9}  # bytes/s; GT/s say no lanes
_LATENCIES = {"ms": 10**9, "us": 10**6, "ns": 10**3}  # ps


@dataclass(frozen=True)
class Quantities:
    """`told` for what links lack: `bandwidth`, `latency` of all, `NAME.bandwidth`, `NAME.latency` of those of a name.
    `source` is the file."""

    source: str
    told: Mapping[str, str]

    @classmethod
    def read(cls, source: str, options: str, links: Iterable[InfraLink]) -> "Quantities":
        """Of the options of a spec. Raises FormatError for a key that no link of the file has."""
        kinds = "latency", "bandwidth"
        return cls(source, read_options(options, [*kinds, *(f"{link.name}.{of}" for link in links for of in kinds)]))

    def of(self, link: InfraLink, where: str) -> tuple[int, int]:
        """Latency (ps) and bandwidth (bytes/s). Raises FormatError, naming `where`, for what lacks or cannot be."""
        latency = self._said(link, "latency", link.physical.latency, _LATENCIES, where)
        bandwidth = self._said(link, "bandwidth", link.physical.bandwidth, _BANDWIDTHS, where)
        return (
            parse_time(self._told(link, "latency", where)) if latency is None else latency,
            parse_bandwidth(self._told(link, "bandwidth", where)) if bandwidth is None else bandwidth,
        )

    def _said(
        self, link: InfraLink, of: str, said: Mapping[str, str | int | float], units: Mapping[str, int], where: str
    ) -> int | None:
        """What the file says in a unit that tells it; None where it does not."""
        unit = str(said.get("choice") or next(iter(said), ""))
        value = said.get(unit)
        if unit not in units or value is None:
            return None
        text = repr(value)
        number = Fraction(text) * units[unit] if not isinstance(value, str) and text[-1].isdecimal() else Fraction(-1)
        if not (of == "bandwidth") <= number < 2**63:
            raise FormatError(f"{where}: link {link.name}: {of} {value} {unit} cannot be")
        return int(number)

    def _told(self, link: InfraLink, of: str, where: str) -> str:
        text = self.told.get(f"{link.name}.{of}", self.told.get(of))
        if text is not None:
            return text
        transfers = of == "bandwidth" and "gigatransfers_per_second" in link.physical.bandwidth
        lacks = "says giga-transfers, which without lanes are no bytes/s" if transfers else f"does not say its {of}"
        example = "32GB/s" if of == "bandwidth" else "500ns"
        raise FormatError(
            f"{where}: link {link.name} {lacks}: add it to the file, or say"
            f" infragraph:{self.source},{link.name}.{of}={example} (or {of}={example} of all that lack it)"
        )
