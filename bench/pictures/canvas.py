"""Rectangles, lines, arrows and words as SVG, on a white ground, since pages may be dark."""

from html import escape

__all__ = ["COLORS", "GREY", "INK", "Canvas", "heat"]

_FONT = 'font-family="system-ui, DejaVu Sans, sans-serif"'
COLORS = ("#2458a6", "#d1662b", "#3c8d5a", "#8457a8", "#b8901f", "#b03a5b", "#4aa3b5", "#6b7684")
GREY, INK = "#d5dbe1", "#222222"


def heat(share: float) -> str:
    """A colour from grey (0) over yellow to red (1)."""
    cold, warm, hot = (213, 219, 225), (240, 180, 60), (190, 40, 40)
    first, second, part = (cold, warm, 2 * share) if share < 0.5 else (warm, hot, 2 * share - 1)
    mixed = (round(a + part * (b - a)) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


class Canvas:
    """A picture under construction, `width` by `height` pixels."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []
        self._arrow_colors: dict[str, int] = {}

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        *,
        rounding: float = 0,
        stroke: str = "none",
        said: str = "",
    ) -> None:
        title = f"<title>{escape(said)}</title>" if said else ""
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.6):.1f}" height="{height:.1f}" rx="{rounding}"'
            f' fill="{fill}" stroke="{stroke}">{title}</rect>'
        )

    def circle(self, x: float, y: float, radius: float, fill: str) -> None:
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>')

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12,
        anchor: str = "start",
        fill: str = INK,
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"{weight}>'
            f"{escape(words)}</text>"
        )

    def line(
        self,
        x1: float,
        y1: float,
        x2: float,
        y2: float,
        color: str = GREY,
        *,
        width: float = 1,
        arrow: bool = False,
        dashed: bool = False,
    ) -> None:
        head = ""
        if arrow:
            number = self._arrow_colors.setdefault(color, len(self._arrow_colors))
            head = f' marker-end="url(#a{number})"'
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{color}" stroke-width="{width:g}"{dashes}{head}/>'
        )

    def svg(self, caption: str) -> str:
        """The file; `caption` is read aloud to those who do not see it."""
        heads = "".join(
            f'<marker id="a{number}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6"'
            f' orient="auto"><path d="M0 0 10 5 0 10z" fill="{color}"/></marker>'
            for color, number in self._arrow_colors.items()
        )
        size = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT} role="img">',
            f"<title>{escape(caption)}</title>",
            f"<defs>{heads}</defs>" if heads else "",
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="#ffffff"/>',
            *self._parts,
            "</svg>",
        ]
        return "\n".join(line for line in lines if line) + "\n"
