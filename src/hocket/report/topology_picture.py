"""A topology drawn: one machine of each kind in detail, and the switches that join the machines above them."""

from collections.abc import Sequence

from hocket.base.errors import Infeasible
from hocket.base.text import markup
from hocket.base.units import format_bandwidth
from hocket.report.grid_picture import draw_grid
from hocket.report.layout import is_grid
from hocket.report.page import Drawing, Section, render
from hocket.report.topology_parts import Hop, Parts, Role, parts_of
from hocket.topology import Topology
from hocket.topology.naming import spans

__all__ = ["as_html", "draw_topology"]

_COLUMN, _NARROW, _BOX, _ROW = 92, 34, 76, 84  # pixels
_WIDE_MACHINE = 16  # GPUs or NICs from which columns are narrow
_MOST = 512  # GPUs of a machine that can be drawn
_SHOWN = 12  # switches of a tier that are drawn
_MARGIN, _TITLE = 24, 34
_HALF = 15  # of a box's height
_LETTER = 7.5  # pixels of a letter of a machine's name
_INK, _SOFT = "#1c2430", "#5b6675"
_FILL = {
    Role.GPU: "#d9ead3",
    Role.NVSWITCH: "#cfe0f7",
    Role.PCI: "#eef0f3",
    Role.NIC: "#fce5cd",
    Role.FABRIC: "#e3dbf3",
}
_COLOURS = {
    **dict.fromkeys(("nvlink", "xgmi", "nvswitch"), "#3a8a3a"),
    "fabric": "#6a4fb3",
    "c2c": "#b8860b",
    "cpu": "#8a5a2b",
}
_ROWS = (Role.NIC, Role.PCI, Role.GPU, Role.NVSWITCH)  # of a machine, from above

Place = tuple[float, float]  # the middle of a box


def draw_topology(topology: Topology) -> str:
    """An SVG: the fabric's switches above, one machine of each kind below; machines alike are drawn once. Ranks joined
    without switches are drawn as the rings and grids that they are.

    Raises Infeasible for machines of more GPUs than can be seen.
    """
    if is_grid(topology):
        return draw_grid(topology)
    parts = parts_of(topology)
    largest = max(len(parts.nodes(group[0], Role.GPU)) for group in parts.alike)
    if largest > _MOST:
        raise Infeasible(f"{topology.name}: a machine of {largest} GPUs has no picture: at most {_MOST} can be seen")
    return _Picture(topology, parts).svg()


def as_html(topology: Topology, svg: str) -> str:
    """The picture as a page of its own."""
    caption = "Nodes that are alike are drawn once. A line is the links of both directions."
    inner = topology.num_nodes - topology.num_ranks
    subtitle = f"{topology.num_ranks} ranks, " + f"{inner} switches and NICs, " * (inner > 1)
    subtitle += f"{topology.num_links} links"
    return render(topology.name, subtitle, [Section("Topology", [Drawing(svg, caption)])])


class _Picture:
    def __init__(self, topology: Topology, parts: Parts) -> None:
        self.topology = topology
        self.parts = parts
        self.place: dict[int, Place] = {}
        self.width: dict[int, float] = {}
        self.behind: list[str] = []
        self.tiers = max(parts.tier.values(), default=0)
        self.right = float(_MARGIN)
        self.bottom = 0.0
        for group in parts.alike:
            self.machine(group)
        self.fabric()

    def machine(self, group: tuple[int, ...]) -> None:
        """Places the parts of the first machine of a group; NUMA nodes are frames around what is at them."""
        first, parts = group[0], self.parts
        left, top = self.right, _MARGIN + _TITLE + self.tiers * _ROW
        numa = self.numa(first)
        count = max(len([node for node in part if parts.role[node] == role]) for part in numa for role in _ROWS)
        column = _NARROW if count > _WIDE_MACHINE else _COLUMN
        frames = any(parts.role[part[0]] == Role.CPU for part in numa)
        here = [role for role in _ROWS if parts.nodes(first, role)]
        rows = {role: top + (at + 0.6) * _ROW for at, role in enumerate(here)}
        x = left + 16
        for part in numa:
            most = max(sum(parts.role[node] == role for node in part) for role in (Role.GPU, Role.NIC))
            wide = max(1, most) * column
            for role in here:
                self.row([node for node in part if parts.role[node] == role], x, wide, rows[role], column)
            if frames:
                high = sum(role != Role.NVSWITCH for role in here) * _ROW - 6
                self.frame(part, x - 6, top + 10, wide + 12, high)
            x += wide + 28
        x -= 28
        switches = parts.nodes(first, Role.NVSWITCH)
        for at, node in enumerate(switches):
            slot = (x - left - 16) / len(switches)
            self.place[node] = (left + 16 + (at + 0.5) * slot, rows[Role.NVSWITCH])
            self.width[node] = slot - 8 * (len(switches) > 1)
        arcs = 60 if not switches and len(parts.nodes(first, Role.GPU)) > 1 else 0
        height = _TITLE + len(here) * _ROW + arcs
        names = f"machine {first}" if len(parts.alike) > 1 else "machine"
        if len(group) > 1:
            names = f"machines {spans(group)}: {len(group)} alike, machine {first} drawn"
        right = max(x + 16, left + 28 + _LETTER * len(names))
        self.behind.insert(
            0,
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{right - left:.0f}" height="{height:.0f}" rx="10"'
            f' fill="#fbfcfd" stroke="#c3ccd6"/>' + _text(left + 14, top + height - 10, names, _INK, 14),
        )
        self.right = right + _MARGIN
        self.bottom = max(self.bottom, top + height)

    def numa(self, machine: int) -> list[list[int]]:
        """The machine's nodes but NVSwitches, each CPU's together after it."""
        parts = self.parts
        cpus = parts.nodes(machine, Role.CPU)
        nodes = [node for node, of in enumerate(parts.machine) if of == machine and parts.role[node] != Role.NVSWITCH]
        if not cpus:
            return [nodes]
        below: dict[int, int] = {cpu: cpu for cpu in cpus}
        queue = list(cpus)
        for node in queue:
            for hop in parts.hops:
                if node in (hop.one, hop.other) and hop.link_class in ("pci", "c2c"):
                    other = hop.other if hop.one == node else hop.one
                    if other not in below and parts.role[other] != Role.FABRIC:
                        below[other] = below[node]
                        queue.append(other)
        return [[cpu, *(node for node in nodes if below.get(node) == cpu and node != cpu)] for cpu in cpus]

    def row(self, nodes: Sequence[int], left: float, wide: float, y: float, column: int) -> None:
        """Parts side by side; PCI switches in the order of the GPUs that they lead to."""
        if nodes and self.parts.role[nodes[0]] == Role.PCI:
            nodes = sorted(nodes, key=lambda node: min(self.parts.neighbours(node)))
        for at, node in enumerate(nodes):
            self.place[node] = (left + (at + 0.5) * wide / len(nodes), y)
            self.width[node] = min(_BOX, column - 8, wide / len(nodes) - 6)

    def frame(self, part: Sequence[int], x: float, y: float, wide: float, high: float) -> None:
        self.place[part[0]], self.width[part[0]] = (x + wide / 2, y + high / 2), wide
        self.behind.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{high:.0f}" rx="8" fill="none" stroke="#8a5a2b"'
            f' stroke-dasharray="5 4"/>' + _text(x + 6, y + high - 6, "CPU", "#8a5a2b", 12)
        )

    def fabric(self) -> None:
        """The tiers of switches above the machines; of many those that the machines drawn are joined to."""
        for tier in range(1, self.tiers + 1):
            nodes = [node for node, at in self.parts.tier.items() if at == tier]
            joined = [node for node in nodes if any(other in self.place for other in self.parts.neighbours(node))]
            shown = nodes if len(nodes) <= _SHOWN else (joined or nodes)[:_SHOWN]
            wide = (max(self.right, _BOX * 4) - 2 * _MARGIN) / (len(shown) + (len(nodes) > len(shown)))
            y = _MARGIN + _TITLE + (self.tiers - tier + 0.5) * _ROW
            for at, node in enumerate(sorted(shown)):
                self.place[node] = (_MARGIN + (at + 0.5) * wide, y)
                self.width[node] = min(2 * _BOX, wide - 10)
            if len(nodes) > len(shown):
                x = _MARGIN + (len(shown) + 0.5) * wide
                self.behind.append(_text(x, y + 5, f"+ {len(nodes) - len(shown)}", _SOFT, 14, "middle"))

    def svg(self) -> str:
        drawn = [hop for hop in self.parts.hops if hop.one in self.place and hop.other in self.place]
        lines = [self.line(hop) for hop in drawn if not self.framed(hop)]
        nodes = [self.box(node) for node in self.place if self.parts.role[node] != Role.CPU]
        legend, height = self.legend(drawn)
        title = _text(_MARGIN, _MARGIN + 8, self.topology.name, _INK, 17)
        wide, high = max(self.right, 420), self.bottom + height + _MARGIN
        drawing = "".join((title, *self.behind, *lines, *nodes, *legend))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f}'
            f' {high:.0f}" style="max-width:100%;height:auto;background:#fff"'
            f' font-family="system-ui, DejaVu Sans, sans-serif">{drawing}</svg>\n'
        )

    def framed(self, hop: Hop) -> bool:
        """Whether a link is to a CPU, whose frame says so."""
        roles = {self.parts.role[hop.one], self.parts.role[hop.other]}
        return Role.CPU in roles and roles != {Role.CPU}

    def line(self, hop: Hop) -> str:
        (x0, y0), (x1, y1) = self.place[hop.one], self.place[hop.other]
        if self.parts.role[hop.one] == Role.CPU:  # frames side by side
            gap = abs(x1 - x0) - (self.width[hop.one] + self.width[hop.other]) / 2
            x0, x1 = (min(x0, x1) + self.width[hop.one] / 2, max(x0, x1) - self.width[hop.other] / 2)
            return _path(f"M{x0:.0f} {y0:.0f} L{x1:.0f} {y1:.0f}", hop) if gap < _COLUMN / 2 else ""
        if y0 == y1:  # an arc below, the deeper the farther
            depth = 24 + min(52.0, abs(x1 - x0) / 14)
            y0, y1 = y0 + 14, y0 + 16 + depth
            return _path(f"M{x0:.0f} {y0:.0f} C{x0:.0f} {y1:.0f} {x1:.0f} {y1:.0f} {x1:.0f} {y0:.0f}", hop)
        if Role.NVSWITCH in (self.parts.role[hop.one], self.parts.role[hop.other]):
            x1 = x0  # the switch is as wide as the GPUs: straight down
        elif y0 > y1:  # from the upper box's lower edge to the lower box's upper one, past what is beside them
            y0, y1 = y0 - _HALF, y1 + self.below(hop.other)
        else:
            y0, y1 = y0 + self.below(hop.one), y1 - _HALF
        return _path(f"M{x0:.0f} {y0:.0f} L{x1:.0f} {y1:.0f}", hop)

    def below(self, node: int) -> float:
        """From the middle of a box to its lower edge."""
        return _HALF + 8 * (self.parts.role[node] == Role.FABRIC)

    def box(self, node: int) -> str:
        (x, y), wide, role = self.place[node], self.width[node], self.parts.role[node]
        narrow = wide < 50
        number = str(node) if role == Role.GPU else str(self.parts.nodes(self.parts.machine[node], role).index(node))
        name = number if narrow else f"{role.value} {number}" if role in (Role.GPU, Role.NIC) else role.value
        note = ""
        if role == Role.FABRIC:
            tier = self.parts.tier[node]
            name = ("leaf", "spine", "core")[min(tier, 3) - 1] if self.tiers > 1 else "switch"
            same = sorted(other for other, at in self.parts.tier.items() if at == tier)
            name += f" {same.index(node)}" * (len(same) > 1)
            down = [other for other in self.parts.neighbours(node) if self.parts.tier.get(other, 0) < tier]
            note = f"{len(down)} down"
        rect = (
            f'<rect x="{x - wide / 2:.1f}" y="{y - _HALF:.0f}" width="{wide:.1f}"'
            f' height="{_HALF + self.below(node):.0f}" rx="5" fill="{_FILL[role]}" stroke="#8795a5"/>'
        )
        lines = _text(x, y + (1 if note else 5), name, _INK, 11 if narrow else 12, "middle")
        return rect + lines + (_text(x, y + 16, note, _SOFT, 11, "middle") if note else "")

    def legend(self, drawn: Sequence[Hop]) -> tuple[list[str], float]:
        kinds = sorted({(hop.link_class, hop.bandwidth) for hop in drawn}, key=lambda kind: (kind[0], -kind[1]))
        parts: list[str] = []
        per_line = max(1, int((max(self.right, 420) - 2 * _MARGIN) // 190))
        for at, (name, bandwidth) in enumerate(kinds):
            x, y = _MARGIN + at % per_line * 190, self.bottom + 28 + at // per_line * 22
            parts.append(_path(f"M{x} {y - 4:.0f} L{x + 30} {y - 4:.0f}", Hop(0, 0, name, bandwidth)))
            parts.append(_text(x + 38, y, f"{name} {format_bandwidth(bandwidth)}", _INK, 12))
        return parts, 28.0 + 22 * -(-len(kinds) // per_line)


def _path(curve: str, hop: Hop) -> str:
    """A line of its class's colour, the thicker the wider: 1 to 6 pixels for 10 GB/s to 2 TB/s."""
    thick = min(6.0, 1 + 0.6 * max(0, (hop.bandwidth // 10**10).bit_length() - 1))
    dash = ' stroke-dasharray="4 4"' if hop.link_class == "cpu" else ""
    colour = _COLOURS.get(hop.link_class, "#6b7785")
    return f'<path d="{curve}" fill="none" stroke="{colour}" stroke-width="{thick:.1f}"{dash} opacity="0.85"/>'


def _text(x: float, y: float, words: str, color: str, size: int, anchor: str = "start") -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" fill="{color}" font-size="{size}" text-anchor="{anchor}">{markup(words)}</text>'
    )
