"""What the cells of a table are sorted by: the numbers that they say, whatever their units."""

import re

__all__ = ["is_number", "sort_key"]

_UNITS = {
    **{"ps": 1.0, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12, "min": 60e12, "h": 3600e12, "d": 86400e12},
    **{"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40, "PiB": 2.0**50},
    **{"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15},
    **{"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "PB/s": 1e15},
}
_DIGITS = r"[-+]?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_NUMBER = re.compile(rf"^(?:at least )?({_DIGITS})(?: ?%| ([A-Za-z]+(?:/s)?))?(?![\w.])")


def is_number(text: str) -> bool:
    """Whether the text begins as a number does; such cells align to the right."""
    return text[:1].isdigit() or (text[:1] in ("-", "+", ".") and text[1:2].isdigit())


def sort_key(text: str) -> float | str:
    """The value of a cell that says a number, in one unit for all times, sizes and bandwidths; else the text."""
    found = _NUMBER.match(text[:80])
    if not found:
        return text[:80]
    return float(found[1].replace(",", "")) * _UNITS.get(found[2] or "", 1.0)
