"""Which figures the page of a sweep has: those that its file names, or else what varies, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from hocket.base.errors import FormatError
from hocket.base.strict_yaml import YamlDocument, nearest
from hocket.report.column_plots import Plot
from hocket.simulator.analysis import Columns

__all__ = ["KINDS", "plots_of", "usual_plots"]

KINDS = ("curves", "heat", "pareto")
_ANSWERS = ("ranks", "time_ps", "bound_ps", "used_algorithm", "busbw", "error", "assumed", "notes", "ratio")
_SIZE = "size_bytes"


class _Plots(msgspec.Struct, frozen=True):
    plots: list[Plot] = []


def plots_of(document: YamlDocument) -> Sequence[Plot]:
    """What the key `plots` says. Raises FormatError naming file, line and key."""
    said = {key: value for key, value in document.content.items() if key == "plots"}
    listed = said.get("plots")
    for at, each in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(each, dict) and (kind := each.get("kind", KINDS[0])) not in KINDS:
            raise FormatError(f"{document.where(f'$.plots[{at}].kind')}: kind: '{kind}'; {nearest(str(kind), KINDS)}")
    found = YamlDocument(document.source, said, document.lines).convert(_Plots).plots
    for at, plot in enumerate(found):
        if why := plot.why_not():
            raise FormatError(f"{document.where(f'$.plots[{at}]')}: plots: {why}")
    return found


def usual_plots(columns: Columns, formulas: Sequence[str]) -> list[Plot]:
    """Of a sweep over collectives: times and bus bandwidths over what varies as a number, sizes first, a line each
    combination of the rest, a figure each collective; of two such numbers a heat map too."""
    asked = [name for name in columns if name not in (*_ANSWERS, *formulas)]
    varied = [name for name in asked if len(np.unique(columns[name])) > 1]
    numbers = [name for name in varied if columns[name].dtype.kind in "iuf"]
    numbers.sort(key=lambda name: name != _SIZE)
    each = "collective" if "collective" in varied else ""
    found = []
    for x in numbers[:2]:
        by = [name for name in varied if name not in (x, each)]
        looks: dict[str, Any] = {"x": x, "by": by, "each": each, "log": x == _SIZE}
        found.append(Plot(y="time_ps", **looks))
        found.append(Plot(y="busbw", **looks))
    if len(numbers) > 1:
        found.append(Plot(kind="heat", x=numbers[0], y=numbers[1], value="ratio", each=each))
    return found
