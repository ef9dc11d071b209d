"""What linux-rdma's perftest prints: ib_write_bw, ib_write_lat, ib_send_*, ib_read_*, of one NIC to one other.

Its MB/sec are 2^20 bytes (so are MiB/sec), its Gb/sec 10^9 bits. Bandwidths are of many messages at once; of a
bidirectional test they are of both directions together. A latency is half a round trip, so of one message.
"""

import re

from hocket.base.collectives import MESSAGE
from hocket.base.errors import FormatError
from hocket.calibration.measurement import Measurement
from hocket.calibration.readers.printed import Printed, whole

__all__ = ["is_perftest", "read_perftest"]

_HEADER = re.compile(r"\s*#bytes\s+#iterations\s+(.*\S)")
_COLUMN = re.compile(
    r"(BW peak|BW average|MsgRate|t_min|t_max|t_typical|t_avg|t_stdev|99% percentile|99\.9% percentile)"
)
_UNITS = {"MB/sec": 2.0**20, "MiB/sec": 2.0**20, "Gb/sec": 1e9 / 8}
_SAME = 0.02  # rates are printed with two digits


def is_perftest(text: str) -> bool:
    """Whether the text has such a table's header."""
    return any(_HEADER.match(line) for line in text.splitlines())


def read_perftest(text: str, source: str) -> tuple[Measurement, ...]:
    """The messages measured, on 2 ranks of 2 nodes.

    Raises FormatError, naming file and line, for unknown columns or units, a line that is cut off, and a bandwidth that
    is not what the message rate says.
    """
    found, names, is_bidirectional = [], [], False
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"{source}:{number}"
        if "Test" in line and "Bidirectional" in line:
            is_bidirectional = True
        elif header := _HEADER.match(line):
            names = _columns(header[1], place)
        elif names and re.match(r"\s*\d+\s", line):
            cells = line.split()
            if len(cells) < 2 + len(names):
                raise FormatError(f"{place}: {len(cells)} fields where the header has {2 + len(names)}: it is cut off")
            size = whole(cells[0], place, "#bytes")
            if not 0 < size < 2**55:
                raise FormatError(f"{place}: a message of {size} B: the line is damaged")
            values = {name: Printed.of(cell, place, name).value for name, cell in zip(names, cells[2:], strict=False)}
            time_ps = _time(values, size, is_bidirectional, place)
            stream = "t_typical[usec]" not in values
            found.append(Measurement(MESSAGE, 2, 2, size, time_ps, False, place, stream))
    if not found:
        raise FormatError(f"{source}: a header but no results: the test ended early; run it again")
    return tuple(found)


def _columns(header: str, place: str) -> list[str]:
    names = [part.strip() for part in re.sub(r"(?<=\])\s*", "\0", header).split("\0") if part.strip()]
    for name in names:
        if not _COLUMN.match(name):
            raise FormatError(f"{place}: unknown column '{name}' of perftest")
        unit = name[name.find("[") + 1 : -1]
        if unit not in (*_UNITS, "Mpps", "usec"):
            raise FormatError(f"{place}: column {name}: unknown unit; known: {', '.join(_UNITS)}, Mpps, usec")
    if not any(name.startswith(("BW average", "t_typical")) for name in names):
        raise FormatError(f"{place}: expected BW average or t_typical among the columns")
    return names


def _time(values: dict[str, float], size: int, is_bidirectional: bool, place: str) -> int:
    """Picoseconds of one message: alone, or what each of many adds."""
    if "t_typical[usec]" in values:
        seconds = values["t_typical[usec]"] / 1e6
    else:
        name = next(name for name in values if name.startswith("BW average"))
        bandwidth = values[name] * _UNITS[name[name.find("[") + 1 : -1]]
        rate = values.get("MsgRate[Mpps]", 0.0) * 1e6 * size
        if bandwidth > 0 and rate > 0 and abs(rate / bandwidth - 1) > _SAME and values["MsgRate[Mpps]"] > 1e-4:
            raise FormatError(
                f"{place}: {name} {values[name]:g} is {bandwidth / 1e9:.4g} GB/s, the message rate says"
                f" {rate / 1e9:.4g}: another unit than the header's, or two outputs mixed"
            )
        seconds = size / (bandwidth / (1 + is_bidirectional)) if bandwidth > 0 else 0.0
    if not 0 < seconds < 1e6:
        raise FormatError(f"{place}: no time or bandwidth above 0: the line is damaged")
    return max(1, round(seconds * 1e12))
