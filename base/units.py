"""Quantities with units, read and printed: GB/s is 10^9 bytes/s, GiB/s is 2^30, everywhere.

Inside Hocket a size is an integer of bytes, a bandwidth an integer of bytes/s, a time an integer of picoseconds.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Context
from fractions import Fraction
from functools import lru_cache

from hocket.base.errors import FormatError

__all__ = [
    "exact_bandwidth",
    "exact_bytes",
    "exact_time",
    "format_bandwidth",
    "format_bytes",
    "format_bytes_apart",
    "format_limit",
    "format_time",
    "parse_bandwidth",
    "parse_bytes",
    "parse_duration",
    "parse_sizes",
    "parse_time",
]

_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {f"{prefix}i": 2 ** (10 * power) for power, prefix in enumerate("KMGTP", start=1)}
_SCALE = _DECIMAL | _BINARY
_PICOSECONDS = {"ps": 1, "ns": 10**3, "us": 10**6, "µs": 10**6, "ms": 10**9, "s": 10**12}
_SECONDS = {unit: Fraction(text) for unit, text in {"": "1", "ms": "0.001", "s": "1", "m": "60", "h": "3600"}.items()}
_NUMBER = r"\s*([0-9]{1,40}(?:\.[0-9]{0,40})?(?:[eE][+-]?[0-9]{1,2})?|\.[0-9]{1,40})\s*"
_LARGEST = 2**63 - 1  # what the engine's integers hold
_EXACT = Context(prec=100)

# Files repeat the same few bandwidths and times on thousands of links: both are parsed once.


def _parse(text: str, pattern: str, expected: str) -> tuple[Fraction, tuple[str, ...]]:
    match = re.fullmatch(_NUMBER + pattern + r"\s*", text)
    if match is None:
        raise FormatError(f"'{text}' is not {expected}")
    number, *units = match.groups()
    return Fraction(number), tuple(units)


def _integer(value: Fraction, text: str) -> int:
    if value > _LARGEST:
        raise FormatError(f"'{text}' is too large: the engine counts to 2^63 - 1 bytes, bytes/s or picoseconds")
    return int(value)


def parse_bytes(text: str) -> int:
    """A size such as `64MiB`, `1.5GB`, `4K` (nccl-tests' K, M, G: powers of 1024) or `1024`, in bytes.

    Raises FormatError when the text has another form or is not a whole number of bytes.
    """
    number, (prefix, suffix) = _parse(text, r"((?:[KMGTP]i|[kKMGTP])?)(B?)", "a size such as 64MiB, 1GB or 1048576")
    # nccl-tests' `-b 8 -e 1G` counts in powers of 1024; with a B the SI meaning holds.
    scale = _SCALE[f"{prefix.upper()}i"] if len(prefix) == 1 and not suffix else _SCALE[prefix]
    size = number * scale
    if size.denominator != 1:
        raise FormatError(f"'{text}' is not a whole number of bytes")
    return _integer(size, text)


def parse_sizes(text: str) -> list[int]:
    """A size, or several: `1KiB..1GiB` doubles from the first on, `1KiB..1GiB:4` takes four times as much, up to the
    last, which is one of them whether or not the factor meets it.

    Raises FormatError when the text has another form, or the range is empty or endless.
    """
    first, separator, rest = text.partition("..")
    if not separator:
        return [parse_bytes(text)]
    last, _, factor_text = rest.partition(":")
    start, stop = parse_bytes(first), parse_bytes(last)
    if not factor_text.isdecimal() and factor_text:
        raise FormatError(f"'{text}': the factor after : must be a whole number, such as 1KiB..1GiB:4")
    factor = int(factor_text or 2)
    if start < 1 or stop < start or factor < 2:
        raise FormatError(f"'{text}': expected at least 1 byte up to no less, by a factor of at least 2: 1KiB..1GiB:2")
    sizes = [start]
    while sizes[-1] * factor <= stop:
        sizes.append(sizes[-1] * factor)
    return sizes if sizes[-1] == stop else [*sizes, stop]


@lru_cache
def parse_bandwidth(text: str) -> int:
    """A bandwidth such as `50GB/s`, `12.5GiB/s` or `400Gbit/s` (also Gb/s), in bytes per second (rounded down).

    Raises FormatError when the unit is missing (a bare number is ambiguous) or the value is below 1 B/s.
    """
    expected = "a bandwidth with a unit, such as 50GB/s (1e9), 50GiB/s (2^30) or 400Gbit/s"
    number, (prefix, unit) = _parse(text, r"((?:[KMGTP]i|[kKMGTP])?)(B|bit|b)(?:/s|ps)", expected)
    bandwidth = number * _SCALE[prefix] / (1 if unit == "B" else 8)
    if bandwidth < 1:
        raise FormatError(f"'{text}': bandwidth must be positive")
    return _integer(bandwidth, text)


@lru_cache
def parse_time(text: str) -> int:
    """A time such as `500ns`, `1.5us` or `2ms`, in picoseconds. Raises FormatError when the unit is missing."""
    number, (unit,) = _parse(text, r"(ps|ns|us|µs|ms|s)", "a time with a unit, such as 500ns, 1.5us or 2ms")
    time = number * _PICOSECONDS[unit]
    if time.denominator != 1:
        raise FormatError(f"'{text}' is not a whole number of picoseconds")
    return _integer(time, text)


def parse_duration(text: str) -> float:
    """How long something may last: `30s`, `5m`, `1.5h`, or seconds without a unit. Raises FormatError otherwise."""
    number, (unit,) = _parse(text, r"((?:ms|s|m|h)?)", "a duration such as 30s, 5m or 1h")
    return float(number * _SECONDS[unit])


def _scaled(value: float, steps: list[tuple[float, str]]) -> str:
    scale, unit = next((step for step in reversed(steps) if abs(value) >= step[0]), steps[0])
    number = value / scale
    return f"{number:.4g} {unit}" if abs(number) < 9_999.5 else f"{number:.0f} {unit}"  # never 1.117e+04


def format_bytes(size: int) -> str:
    """A size for people: `64 MiB`, exact multiples in binary units, four digits otherwise."""
    return _scaled(size, [(1, "B"), (2**10, "KiB"), (2**20, "MiB"), (2**30, "GiB"), (2**40, "TiB")])


def format_bandwidth(bandwidth: float) -> str:
    """Bytes per second for people, in decimal units: `50 GB/s`."""
    return _scaled(bandwidth, [(1, "B/s"), (10**3, "kB/s"), (10**6, "MB/s"), (10**9, "GB/s"), (10**12, "TB/s")])


def format_limit(size: int) -> str:
    """A size of which the last byte matters: as `format_bytes` where that says it all, else in bytes."""
    text = format_bytes(size)
    number, unit = text.split()
    return text if Fraction(number) * _SCALE[unit.removesuffix("B")] == size else f"{size} B"


def format_bytes_apart(sizes: Sequence[int]) -> dict[int, str]:
    """How to print each of several sizes: as `format_bytes` does, or exactly where two would read alike."""
    texts = {size: format_bytes(size) for size in sizes}
    alike = Counter(texts.values())
    return {size: text if alike[text] == 1 else f"{size} B" for size, text in texts.items()}


def format_time(time_ps: float) -> str:
    """Picoseconds for people: `12.18 ms`, `3.104 h`."""
    return _scaled(
        time_ps, [(1, "ps"), (10**3, "ns"), (10**6, "us"), (10**9, "ms"), (10**12, "s"), (3_600 * 10**12, "h")]
    )


def _shortest(value: int, scales: Mapping[str, int]) -> str:
    texts = (f"{_EXACT.divide(value, scale).normalize(_EXACT):f}{unit}" for unit, scale in scales.items())
    return min(texts, key=len)


def exact_bytes(size: int) -> str:
    """The shortest text that `parse_bytes` reads back as exactly this many bytes: `64MiB`, `1500`."""
    return _shortest(size, {f"{prefix}B": scale for prefix, scale in _SCALE.items() if len(prefix) == 2} | {"": 1})


def exact_bandwidth(bandwidth: int) -> str:
    """The shortest text that `parse_bandwidth` reads back as exactly this many bytes/s: `50GB/s`, `12.5GiB/s`."""
    return _shortest(bandwidth, {f"{prefix}B/s": scale for prefix, scale in _SCALE.items() if prefix != "K"})


def exact_time(time_ps: int) -> str:
    """The shortest text that `parse_time` reads back as exactly this many picoseconds: `500ns`, `1.5us`."""
    return _shortest(time_ps, {unit: scale for unit, scale in _PICOSECONDS.items() if unit != "µs"})
