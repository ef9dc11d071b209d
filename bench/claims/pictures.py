"""The papers' figures drawn again from verdicts: what was published beside what came out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hocket.bench.claims.claim import ClaimVerdict
from hocket.bench.claims.two_regimes import curves
from hocket.bench.drawing import bars, lines

__all__ = ["Picture", "pictures"]


@dataclass(frozen=True)
class Picture:
    """`name` of the file, the letter of the paper, what it shows, and the SVG."""

    name: str
    letter: str
    caption: str
    svg: str

    @property
    def file(self) -> str:
        return f"evidence-{self.name}.svg"


def pictures(verdicts: Sequence[ClaimVerdict]) -> Iterator[Picture]:
    """Those whose claims are all among the verdicts."""
    known = {verdict.id: verdict for verdict in verdicts}
    if "A3" in known:
        sizes, names, series = curves()
        title = "all_reduce over 64 ranks: time in us over the size"
        caption = "Both regimes by ASTRA-sim's rules and in the congestion model, where the switch's floor"
        yield Picture("two-regimes", "A", f"{caption} is four times lower", lines(sizes, names, series, title))
    rows = [f"B{number}" for number in range(3, 22)]
    if set(rows) <= set(known):
        yield Picture(
            "anti-benefit",
            "B",
            "The 19 slowdowns of the draft's table: equal in ASTRA-sim mode; where links are paid for, a whole"
            " all_reduce in each dimension and the hierarchical algorithm",
            _slowdowns([known[each] for each in rows]),
        )
    if "B27" in known:
        yield Picture(
            "active-chunks",
            "B",
            "Bus bandwidth for 1, 2, 4, 8 active chunks; where chunks share links it does not grow",
            _compared([known["B27"]], "bus bandwidth in GB/s", lambda name: "over" not in name),
        )
    table = ["E10", "E11", "E12", "E13"]
    if set(table) <= set(known):
        caption = "Table V: times of algorithms made by hand over that of the synthesized all_reduce"
        ours = [known[each] for each in table]
        yield Picture("table-5", "E", caption, _compared(ours, "time over the synthesized all_reduce"))


def _slowdowns(rows: Sequence[ClaimVerdict]) -> str:
    series = {
        "published": [float(row.published["slowdown"]) for row in rows],
        "ASTRA-sim mode": [row.measured["slowdown"] for row in rows],
        "physical, all_reduce a dimension": [row.physical["slowdown"] for row in rows],
        "physical, hierarchical": [row.physical["hierarchical"] for row in rows],
    }
    names = [row.claim.partition(" MB")[0].replace(" ranks", "") + " MB" for row in rows]
    return bars(names, series, "hierarchy over flat: ratio of the links, ranks, size")


def _compared(rows: Sequence[ClaimVerdict], title: str, shown: Callable[[str], bool] = lambda name: True) -> str:
    """Published, ours and, where there is one, the physical figure, of all published figures that are shown."""
    places = [(row, name) for row in rows for name in row.published if shown(name)]
    series: dict[str, list[float | None]] = {
        "published": [float(row.published[name]) for row, name in places],
        "ours": [row.measured[name] for row, name in places],
    }
    if any(row.physical for row in rows):
        series["physical"] = [row.physical.get(name) for row, name in places]
    single = len(rows) == 1
    return bars([name if single else f"{row.id} {name}" for row, name in places], series, title)
