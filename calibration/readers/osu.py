"""What the OSU micro benchmarks print: osu_latency, osu_bw, osu_allreduce and their like.

They print no number of ranks: that is the user's to say. Their MB/s are 10^6 bytes.
"""

import re

from hocket.base.collectives import MESSAGE
from hocket.base.errors import FormatError
from hocket.calibration.measurement import Assumed, Measurement, kind_named
from hocket.calibration.readers.printed import Printed, whole
from hocket.schedule import Kind

__all__ = ["is_osu", "read_osu"]

_TITLE = re.compile(r"# OSU MPI(?:-\w+)? (?:Non-?[Bb]locking )?(\S.*?) (Latency|Bandwidth) Test")
_BLOCKS = [kind for kind in Kind if kind.in_blocks and not kind.reduces]  # sizes are those of one rank's block


def is_osu(text: str) -> bool:
    """Whether the text begins with such a title."""
    return "# OSU MPI" in text


def read_osu(text: str, source: str, assumed: Assumed) -> tuple[Measurement, ...]:
    """The measurements, by average latency or bandwidth.

    Raises FormatError, naming file and line, for unknown tests, columns or units, a line that is cut off, and a
    collective of which `assumed` does not say ranks and nodes.
    """
    found: list[Measurement] = []
    kind, unit = "", ""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        place = f"{source}:{number}"
        if line.startswith("# OSU MPI"):
            kind, unit = _kind(line, place), ""
        elif line.startswith("# Size"):
            unit = _unit(line, place)
        elif kind and line[:1].isdigit():
            if not unit:
                raise FormatError(f"{place}: results before the header '# Size ...': keep it")
            found.append(_measurement(kind, unit, line.split(), place, assumed))
    if not found:
        raise FormatError(f"{source}: a title but no results: the test ended early; run it again")
    return tuple(each for each in found if each.size_bytes)


def _kind(line: str, place: str) -> str:
    title = _TITLE.match(line)
    if title is None or title[1].startswith("Bi-Directional"):
        raise FormatError(f"{place}: this test is not read; known: latency, bandwidth and blocking collectives")
    if title[1] in ("Latency", "Bandwidth"):
        return MESSAGE
    return kind_named(title[1], place)


def _unit(line: str, place: str) -> str:
    for unit in ("Latency (us)", "Avg Latency(us)", "Bandwidth (MB/s)"):
        if unit in line:
            return unit
    raise FormatError(f"{place}: expected the column Latency (us), Avg Latency(us) or Bandwidth (MB/s)")


def _measurement(kind: str, unit: str, cells: list[str], place: str, assumed: Assumed) -> Measurement:
    if len(cells) < 2:
        raise FormatError(f"{place}: {len(cells)} field where the header has 2 or more: the line is cut off")
    size, value = whole(cells[0], place, "Size"), Printed.of(cells[1], place, unit).value
    ranks, nodes = (2 if kind == MESSAGE else assumed.ranks), assumed.nodes
    if ranks is None or nodes is None:
        raise FormatError(f"{place}: OSU prints no ranks: say --ranks and --nodes of this run")
    if not 0 < value < 1e12 or size >= 2**45:
        raise FormatError(f"{place}: {size} B, {unit} {value:g}: the line is damaged")
    stream = unit.startswith("Bandwidth")
    time_ps = size * 10**6 / value if stream else value * 10**6
    total = size * ranks if kind in _BLOCKS else size
    return Measurement(kind, ranks, nodes, total, max(1, round(time_ps)), False, place, stream)
