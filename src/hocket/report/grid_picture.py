"""A topology of ranks without switches drawn as what it is: a ring as a ring, a mesh or a torus as a grid."""

from hocket.base.errors import Infeasible
from hocket.base.text import markup
from hocket.base.units import format_bandwidth, format_time
from hocket.report.layout import place_ranks
from hocket.topology import Topology

__all__ = ["draw_grid"]

_MOST = 1200  # ranks that can be seen
_WIDE, _HIGH, _MARGIN, _TITLE = 960, 700, 40, 34  # pixels
_INK, _SOFT, _FILL = "#1c2430", "#5b6675", "#d9ead3"
_COLOURS = ("#6a4fb3", "#3a8a3a", "#b8860b", "#b03a5b", "#2458a6", "#8a5a2b")


def draw_grid(topology: Topology) -> str:
    """An SVG: a line joins ranks that have links, in the colour of its dimension; wraparound links are bent.

    Raises Infeasible for more ranks than can be seen.
    """
    if topology.num_ranks > _MOST:
        raise Infeasible(
            f"{topology.name}: {topology.num_ranks} ranks without switches have no picture: at most {_MOST} can be seen"
        )
    x, y = place_ranks(topology)
    across, down = float(x.max() - x.min()), float(y.max() - y.min())
    pitch = min((_WIDE - 2 * _MARGIN) / (across + 1), _HIGH / (down + 1), 90.0)
    wide = max(across * pitch + 4 * _MARGIN, 420.0)
    left, top = (wide - across * pitch) / 2, _MARGIN * 1.5 + _TITLE
    place = [(left + (a - x.min()) * pitch, top + (b - y.min()) * pitch) for a, b in zip(x, y, strict=True)]
    bottom = top + down * pitch + _MARGIN * 1.5
    lines = [_line(place[one], place[other], pitch, color) for (one, other), color in sorted(_pairs(topology).items())]
    radius = min(0.34 * pitch, 17.0)
    ranks = [_rank(*at, radius, rank) for rank, at in enumerate(place)]
    title = _text(_MARGIN, _MARGIN, topology.name, _INK, 17)
    legend = _legend(topology, bottom)
    high = bottom + 22 * len(legend) + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f}'
        f' {high:.0f}" style="max-width:100%;height:auto;background:#fff" role="img"'
        f' aria-label="{markup(topology.name)}" font-family="system-ui, DejaVu Sans, sans-serif">'
        f"{''.join((title, *lines, *ranks, *legend))}</svg>\n"
    )


def _pairs(topology: Topology) -> dict[tuple[int, int], str]:
    """Pairs of ranks that have links, with the colour of their class."""
    ends = zip(topology.src.tolist(), topology.dst.tolist(), topology.link_class.tolist(), strict=True)
    return {(min(one, other), max(one, other)): _COLOURS[kind % len(_COLOURS)] for one, other, kind in ends}


def _line(one: tuple[float, float], other: tuple[float, float], pitch: float, color: str) -> str:
    (x0, y0), (x1, y1) = one, other
    path = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"
    level, upright = abs(y1 - y0) < 1, abs(x1 - x0) < 1
    if (level or upright) and abs(x1 - x0) + abs(y1 - y0) > 1.9 * pitch:
        bend = min(0.75 * pitch, 46.0)
        path = f"M{x0:.1f} {y0:.1f}Q{(x0 + x1) / 2 + bend * upright:.1f} {(y0 + y1) / 2 - bend * level:.1f}"
        path += f" {x1:.1f} {y1:.1f}"
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2" opacity="0.85"/>'


def _rank(x: float, y: float, radius: float, rank: int) -> str:
    name = _text(x, y + 4, str(rank), _INK, 11, "middle") if radius > 9 else ""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_FILL}" stroke="#8795a5"/>{name}'


def _legend(topology: Topology, bottom: float) -> list[str]:
    """What each dimension is."""
    lines = []
    for number, dimension in enumerate(topology.dimensions):
        color, y = _COLOURS[number % len(_COLOURS)], bottom + 22 * number
        kind = f"{dimension.kind.replace('_', ' ')} of {dimension.size}"
        words = f"{kind}, {format_bandwidth(dimension.link_bandwidth)} per link, {format_time(dimension.latency_ps)}"
        prefix = f"dimension {number}: " * (len(topology.dimensions) > 1)
        line = f'<path d="M{_MARGIN} {y - 4:.0f}h30" stroke="{color}" stroke-width="2"/>'
        lines.append(line + _text(_MARGIN + 38, y, prefix + words, _SOFT, 12))
    return lines


def _text(x: float, y: float, words: str, color: str, size: int, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" font-size="{size}" text-anchor="{anchor}"'
    return f"<text {place}>{markup(words)}</text>"
