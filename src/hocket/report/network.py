"""A topology with the heat of its links, at any number of ranks: over the whole time, or frame by frame."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.base.units import format_bandwidth
from hocket.report.charts.drawing import WIDTH, Chart, label_width, number, rect, svg, text, tip
from hocket.report.charts.heat import levels
from hocket.report.network_blocks import BlockLinks, NodeBlocks, blocks_of
from hocket.report.node_names import NodeNames

__all__ = ["network_picture"]

_MARGIN = 30
_MOST_HEIGHT = 620
_CELLS = 16  # ranks of a block that are drawn one by one
_BENDS = 1.5  # places; a longer line between ranks of a grid is bent past those between


def network_picture(
    names: NodeNames,
    share: NDArray[np.float64] | None,
    got: NDArray[np.float64] | None = None,
    times: Sequence[str] = (),
) -> Chart:
    """The topology. `share` (links x frames) colours its links by how busy they are, `got` (frames x ranks) its ranks
    by the part that they have of what is due to them; the first frame is drawn, the others when the slider moves.
    `times` name the frames. Lines are as thick as the bandwidth of their links."""
    return _Network(names, share, got).chart(times)


class _Network:
    def __init__(self, names: NodeNames, share: NDArray[np.float64] | None, got: NDArray[np.float64] | None) -> None:
        self.names, self.share, self.got = names, share, got
        self.blocks: NodeBlocks = blocks_of(names)
        x, y = self.blocks.places
        wide, high = np.ptp(x) + 1 if len(x) else 1.0, np.ptp(y) + 1 if len(y) else 1.0
        self.pitch = min((WIDTH - 2 * _MARGIN) / wide, _MOST_HEIGHT / high, 96.0)
        left = (WIDTH - wide * self.pitch) / 2
        self.x = left + (x - x.min() + 0.5) * self.pitch
        self.y = _MARGIN + (y - y.min() + 0.5) * self.pitch
        self.height = high * self.pitch + 2 * _MARGIN
        widths = [self.width(joint) for joint in self.blocks.joints]
        self.widest = max(widths, default=1)

    def chart(self, times: Sequence[str]) -> Chart:
        joints = sorted(self.blocks.joints, key=self.heat_of)  # the busiest above the others
        lines = [self.line(joint) for joint in joints if joint.one != joint.other]
        frames = {joint.one: joint for joint in joints if joint.one == joint.other}
        nodes = [self.block(block, frames.get(block)) for block in range(len(self.blocks.names))]
        topology = self.names.topology
        label = f"{topology.name}: {topology.num_ranks} ranks, {topology.num_links} links"
        if self.share is not None:
            label += ", links coloured by how busy they are"
        legend = [("heat", "links, 0 to 100 % busy")] * (self.share is not None)
        legend += [("got", "ranks, 0 to 100 % received")] * (self.got is not None)
        return Chart(svg([*lines, *nodes], self.height, label), legend, times)

    def width(self, joint: BlockLinks) -> int:
        return int(self.names.topology.bandwidth[joint.there].sum())

    def heat(self, joint: BlockLinks) -> NDArray[np.float64]:
        """Of the busier direction, the mean of its links, by frame."""
        assert self.share is not None
        directions = [self.share[links].mean(axis=0) for links in (joint.there, joint.back) if len(links)]
        busier: NDArray[np.float64] = np.max(directions, axis=0)
        return busier

    def heat_of(self, joint: BlockLinks) -> float:
        return 0.0 if self.share is None else float(self.heat(joint)[0])

    def colour(self, joint: BlockLinks) -> tuple[str, str]:
        """The class of a joint's first frame, and the attribute with all of them."""
        return ("c7", "") if self.share is None else _frames(self.heat(joint))

    def words(self, joint: BlockLinks) -> str:
        topology, names = self.names.topology, self.blocks.names
        count = len(joint.there) + len(joint.back)
        where = names[joint.one] if joint.one == joint.other else f"{names[joint.one]} and {names[joint.other]}"
        lines = [f"{where}: {count} link{'s' * (count != 1)}"]
        for links, arrow in ((joint.there, "→"), (joint.back, "←")):
            if len(links):
                said = format_bandwidth(int(topology.bandwidth[links].sum()))
                if self.share is not None:
                    busy = self.share[links, 0]
                    said += ", over the whole time" * (self.share.shape[1] > 1)
                    said += f", {busy.mean():.0%} busy" + f", the busiest {busy.max():.0%}" * (len(links) > 1)
                lines.append(f"{arrow if joint.one != joint.other else 'inside'} {said}")
        return "\n".join(lines)

    def line(self, joint: BlockLinks) -> str:
        color, frames = self.colour(joint)
        x0, y0, x1, y1 = (float(place[at]) for at in (joint.one, joint.other) for place in (self.x, self.y))
        path = f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}"
        across, down = x1 - x0, y1 - y0
        length = (across**2 + down**2) ** 0.5
        straight = abs(across) < 1 or abs(down) < 1
        if length > _BENDS * self.pitch and straight and self.names.topology.num_nodes == self.names.topology.num_ranks:
            bend = min(0.6 * self.pitch, 40.0)
            middle = ((x0 + x1) / 2 + bend * (abs(across) < 1), (y0 + y1) / 2 - bend * (abs(down) < 1))
            path = f"M{number(x0)} {number(y0)}Q{number(middle[0])} {number(middle[1])} {number(x1)} {number(y1)}"
        thick = 1.2 + min(4.0, self.pitch / 9) * (self.width(joint) / self.widest) ** 0.5
        style = f' style="stroke-width:{thick:.1f}"'
        return f'<path class="line {color}" d="{path}"{style}{frames}{tip(self.words(joint))}/>'

    def block(self, block: int, inside: BlockLinks | None) -> str:
        ranks, name = self.blocks.ranks[block], self.blocks.names[block]
        x, y = float(self.x[block]), float(self.y[block])
        if not len(ranks):
            return self.switch(block, x, y, name)
        if self.blocks.are_single:
            return self.rank(x, y, int(ranks[0]))
        side = self.pitch * 0.84
        color, frames = self.colour(inside) if inside is not None else ("soft", "")
        said = f"{name}: ranks {ranks[0]} to {ranks[-1]}" + (f"\n{self.words(inside)}" if inside is not None else "")
        high = side * 0.72
        top = y - high / 2
        outer = (
            f'<rect class="frame {color}" x="{number(x - side / 2)}" y="{number(top)}" width="{number(side)}"'
            f' height="{number(high)}" rx="4" style="stroke-width:3;fill:var(--paper)"{frames}{tip(said)}/>'
        )
        label = text(x, top + high - 5, name, "soft", "middle", ' style="font-size:10px"')
        return outer + label + self.cells(x - side / 2 + 5, top + 5, side - 10, high - 20, ranks)

    def cells(self, left: float, top: float, wide: float, high: float, ranks: NDArray[np.int64]) -> str:
        """The ranks of a block as cells; of many their mean as one."""
        shown = [ranks[at : at + 1] for at in range(len(ranks))] if len(ranks) <= _CELLS else [ranks]
        per_row = -(-len(shown) // 2) if len(shown) > 1 else 1
        cell, row = wide / per_row, high / -(-len(shown) // per_row)
        drawn = []
        for at, each in enumerate(shown):
            color, frames = self.filling(each)
            x, y = left + at % per_row * cell, top + at // per_row * row
            said = f"rank {each[0]}" if len(each) == 1 else f"ranks {each[0]} to {each[-1]}"
            drawn.append(rect(x, y, cell - 1.5, row - 1.5, color, frames + tip(said)))
        return "".join(drawn)

    def filling(self, ranks: NDArray[np.int64]) -> tuple[str, str]:
        if self.got is None:
            return "c0", ""
        color, frames = _frames(self.got[:, ranks].mean(axis=1))
        return f"got {color}", frames

    def rank(self, x: float, y: float, rank: int) -> str:
        color, frames = self.filling(np.array([rank]))
        size = min(self.pitch * 0.36, 15.0)
        circle = (
            f'<circle class="rank {color}" cx="{number(x)}" cy="{number(y)}" r="{number(size)}"{frames}'
            f"{tip(f'rank {rank}')}/>"
        )
        words = "onrank" if self.got is None else "ink"
        named = text(x, y + 4, str(rank), words, "middle", ' pointer-events="none"') if size >= 9 else ""
        return circle + named

    def switch(self, block: int, x: float, y: float, name: str) -> str:
        beside = np.abs(self.x[(self.y == self.y[block]) & (np.arange(len(self.x)) != block)] - x)
        room = float(beside.min(initial=WIDTH / 2)) * 0.94
        words = name.partition(" of ")[0]
        wide = min(label_width([words]) + 4, room)
        most = int(wide / 6.4)
        shown = words if len(words) <= most else words.rpartition(" ")[2][:most]
        box = rect(x - wide / 2, y - 10, wide, 20, "switch", f' rx="4"{tip(name)}')
        return box + text(x, y + 4, shown, "onrank", "middle", ' pointer-events="none"')


def _frames(share: NDArray[np.float64]) -> tuple[str, str]:
    """The class of the first frame, and a letter a frame."""
    level = levels(share)
    letters = "".join(chr(97 + each) for each in level.tolist())
    return f"h{level[0]}", f' data-frames="{letters}"' if len(letters) > 1 else ""
