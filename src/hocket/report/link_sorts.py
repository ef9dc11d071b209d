"""Links over time: each of them where they are few, else those that are alike together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.report.charts import Chart, HeatRow, heat_map
from hocket.report.node_names import NodeNames

__all__ = ["link_heat"]

_MOST_ROWS = 40
_APART = 0.02  # from where on the busiest of several links is worth a row


def link_heat(names: NodeNames, share: NDArray[np.float64], bin_ps: float, what: str) -> tuple[Chart, str]:
    """How busy links are: `share` (0 to 1) has a row a link and a column a bin of `bin_ps`. Of many links those between
    the same sorts of nodes are two rows: their mean, and the busiest of them where it differs. Also the words that say
    which of both it is."""
    used = np.flatnonzero(share.any(axis=1))
    if len(used) <= _MOST_ROWS:
        rows = [_row(names.link(link), share[link]) for link in used.tolist()]
        return heat_map(
            rows, bin_ps, f"{what}, a row per link"
        ), "A row per link; links that are not used are left out."
    rows = []
    for sort, links in _sorts(names, used).items():
        mean, busiest = share[links].mean(axis=0), links[int(share[links].sum(axis=1).argmax())]
        rows.append(_row(f"{sort}: {len(links):,} links, mean", mean))
        if np.abs(share[busiest] - mean).max() > _APART:
            rows.append(_row(f"busiest: {names.link(busiest)}", share[busiest]))
    words = f"{len(used):,} links in use, those between the same sorts of nodes together: their mean, and the busiest"
    words += " where it differs."
    return heat_map(rows, bin_ps, f"{what}, by sort of link"), words


def _row(name: str, share: NDArray[np.float64]) -> HeatRow:
    return HeatRow(name, share, f"{name}: {share.mean():.1%} of the whole time")


def _sorts(names: NodeNames, used: NDArray[np.int64]) -> dict[str, Sequence[int]]:
    sorts: dict[str, list[int]] = {}
    for link in used.tolist():
        sorts.setdefault(names.sort(link), []).append(link)
    return dict(sorted(sorts.items(), key=lambda item: -len(item[1])))
