"""Elements of NCCL's topology and graph files: their attributes and children, each read as what it must be."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hocket.base.errors import FormatError
from hocket.base.tags import Element

__all__ = ["Attributes", "bus_id_text", "known_children"]

_INTEGER = re.compile(r"[+-]?(?:0[0-7]{0,9}|[1-9][0-9]{0,8})|0x[0-9a-fA-F]{1,8}")
_HEXADECIMAL = re.compile(r"(?:0x)?[0-9a-fA-F]{1,16}")
_BUS_ID = re.compile(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-9a-fA-F])")
_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?(?:e[+-]?[0-9]{1,2})?")
_MICROSECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{0,9})?")
_DEVICE_PARTS = ("vendor", "device", "subsystem_vendor", "subsystem_device")


@dataclass(frozen=True, slots=True)
class Attributes:
    """`where` names file, line and element, and begins every error."""

    where: str
    values: Mapping[str, str]

    def get(self, key: str) -> str:
        return self.values.get(key, "")

    def text(self, key: str) -> str:
        if key not in self.values:
            raise FormatError(f"{self.where}: has no {key}")
        return self.values[key]

    def one_of(self, key: str, known: Sequence[str]) -> str:
        text = self.text(key)
        if text not in known:
            names = ", ".join(f'"{name}"' for name in known)
            raise FormatError(f'{self.where}: {key}="{text}": expected one of {names}')
        return text

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number as C's strtol reads it, octal after a 0; `default` where there is none."""
        if key not in self.values and default is not None:
            return default
        text = self._matched(key, _INTEGER, "a whole number")
        return int(text, 8 if re.match("[+-]?0[0-7]", text) else 0)

    def at_least(self, least: int, key: str) -> int:
        number = self.integer(key)
        if number < least:
            raise FormatError(f"{self.where}: {key}={number}: expected at least {least}")
        return number

    def hexadecimal(self, key: str) -> int:
        """An unsigned number of 64 bits; -1 where there is none."""
        return int(self._matched(key, _HEXADECIMAL, "a hexadecimal number"), 16) if key in self.values else -1

    def decimal(self, key: str, default: float | None = None) -> float:
        """A number as C's `%g` writes it, not negative; `default` where there is none."""
        if key not in self.values and default is not None:
            return default
        return float(self._matched(key, _DECIMAL, "a number"))

    def bus_id(self, key: str) -> int:
        """A PCI address as one number, as NCCL packs it: the hexadecimal digits without the punctuation."""
        match = _BUS_ID.fullmatch(self._matched(key, _BUS_ID, "a PCI address such as 0000:1b:00.0"))
        return int("".join(match.groups()), 16) if match else 0

    def microseconds(self, key: str) -> int:
        """Picoseconds of a decimal number of microseconds; 0 where there is none."""
        if key not in self.values:
            return 0
        return int(Fraction(self._matched(key, _MICROSECONDS, "a time in microseconds")) * 10**6)

    def device(self) -> int:
        """Vendor, device and subsystem in 16 bits each, those that are there."""
        packed = 0
        for part in _DEVICE_PARTS:
            packed = packed << 16 | self.integer(part, 0) & 0xFFFF
        return packed

    def _matched(self, key: str, pattern: re.Pattern[str], expected: str) -> str:
        text = self.text(key)
        if not pattern.fullmatch(text):
            raise FormatError(f'{self.where}: {key}="{text}" is not {expected}')
        return text


def bus_id_text(bus_id: int) -> str:
    """The PCI address that a packed number is."""
    digits = f"{bus_id:09x}"
    return f"{digits[:-5]:0>4}:{digits[-5:-3]}:{digits[-3:-1]}.{digits[-1]}"


def known_children(source: str, element: Element, known: Collection[str]) -> Iterator[Element]:
    """Raises FormatError, by file and line, at the first whose name is none of those."""
    for child in element.children:
        if child.name not in known:
            inside = " or ".join(f"<{name}>" for name in known) or "nothing"
            raise FormatError(
                f"{source}:{child.line}: <{child.name}> in <{element.name}> of line {element.line}: expected {inside}"
            )
        yield child
