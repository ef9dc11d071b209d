"""The YAML file that says what a sweep varies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.simulate.request import Simulation
from hocket.api.sweep.answer import failed_answer
from hocket.api.sweep.arithmetic import evaluate
from hocket.api.sweep.execution import answer_columns
from hocket.api.sweep.expansion import OWN_KEYS, Drawn, draw, drawn, parts
from hocket.api.sweep.jobs.answer import failed_outcome
from hocket.api.sweep.jobs.columns import columns_of, swept
from hocket.api.sweep.jobs.file import is_of_jobs, points_of
from hocket.api.sweep.jobs.point import JobPoint
from hocket.api.sweep.names import load_topologies, require_known, require_known_names
from hocket.api.sweep.plots import plots_of
from hocket.api.sweep.rows import KEYS, grid
from hocket.base.collectives import called_among
from hocket.base.errors import FormatError, RequestError
from hocket.base.reading import YAML, read_text
from hocket.base.strict_yaml import YamlDocument, nearest, read_yaml
from hocket.base.units import parse_sizes
from hocket.report.column_plots import Plot
from hocket.schedule import NAMED_KINDS
from hocket.simulator.analysis import Columns

__all__ = ["SweepFile", "load_sweep", "own_columns"]

_OF_DIMENSIONS = ("exposed_ps: ", "skew_ps: ")  # columns that a job has by what it does


@dataclass(frozen=True, eq=False)
class SweepFile:
    """What a file asks for: `rows`, simulations or jobs, with the parameters of each; what of all combinations was
    `drawn` by chance; `formulas` of more columns, by name; `plots` of the page."""

    rows: Sequence[Simulation] | Sequence[JobPoint]
    parameters: Sequence[Mapping[str, Any]]
    drawn: Drawn | None
    formulas: Mapping[str, str]
    plots: Sequence[Plot]
    document: YamlDocument

    def with_own_columns(self, columns: Columns) -> Columns:
        """Those of `own_columns`, errors with the line of the formula."""
        try:
            return own_columns(columns, self.parameters, self.formulas)
        except FormatError as error:
            raise FormatError(f"{self.document.where('$.columns')}: {error}") from error

    def require_columns(self) -> None:
        """Refuses formulas and plots of columns that there will not be, before anything runs. Raises FormatError."""
        if not self.formulas and not self.plots and not self.parameters[0]:
            return
        names = self.with_own_columns(self._empty())
        for at, plot in enumerate(self.plots):
            for key, name in plot.named():
                if name not in names and not name.startswith(_OF_DIMENSIONS):
                    where = self.document.where(f"$.plots[{at}].{key}")
                    raise FormatError(f"{where}: plots: {key}: no column '{name}'; {nearest(name, names)}")

    def _empty(self) -> Columns:
        """The columns of the rows, were none of them simulated."""
        simulations = [row for row in self.rows if isinstance(row, Simulation)]
        if simulations:
            return answer_columns(simulations, [failed_answer("")] * len(simulations))
        points = [row for row in self.rows if isinstance(row, JobPoint)]
        return columns_of(points, swept(points, [failed_outcome("-")] * len(points)))


def own_columns(columns: Columns, parameters: Sequence[Mapping[str, Any]], formulas: Mapping[str, str]) -> Columns:
    """The columns with those of parameters before, and of formulas behind. Raises FormatError for a formula of names
    that are no columns."""
    own = {name: np.array([row[name] for row in parameters]) for name in parameters[0]}
    for name in (*own, *formulas):
        if name in columns or (name in own and name in formulas):
            raise FormatError(f"'{name}' is another column already: call it something else")
    found: Columns = own | columns
    known: dict[str, Any] = {name: _as_numbers(name, column) for name, column in found.items()}
    for name, formula in formulas.items():
        try:
            with np.errstate(all="ignore"):
                value = evaluate(formula, known, exact=False)
            known[name] = np.broadcast_to(np.asarray(value, np.float64), (len(parameters),)).copy()
        except (FormatError, ValueError) as error:
            raise FormatError(f"columns: {name}: {error}") from error
        found[name] = known[name]
    return found


def _as_numbers(name: str, column: Any) -> Any:
    """A column of numbers as such, without times that there are not."""
    if column.dtype.kind not in "iuf":
        return column
    numbers = column.astype(np.float64)
    return np.where(numbers < 0, np.nan, numbers) if name.endswith("_ps") else numbers


def load_sweep(path: Path | str) -> SweepFile:
    """What a sweep file asks for. Raises FormatError naming file, line and key."""
    document = read_yaml(read_text(path, YAML), str(path))
    content = document.content
    rows: list[Any] = []
    parameters: list[Mapping[str, Any]] = []
    combinations = [*parts(document)]
    of_jobs = is_of_jobs(combinations[0].document)
    if any(is_of_jobs(part.document) != of_jobs for part in combinations):
        raise FormatError(f"{document.where('$.points')}: points: some are of jobs, some of collectives: make two")
    for part in combinations:
        found = points_of(part.document) if of_jobs else _simulations(part.document)
        rows += found
        parameters += [part.parameters] * len(found)
    if not rows:
        raise FormatError(
            f"{document.where('$.plans')}: nothing to simulate: no plan takes exactly the topology's ranks"
        )
    chance = drawn(document)
    if chance is not None:
        kept = draw(range(len(rows)), chance)
        rows, parameters = [rows[at] for at in kept], [parameters[at] for at in kept]
    formulas = content.get("columns", {})
    if not isinstance(formulas, dict):
        raise FormatError(f"{document.where('$.columns')}: columns: expected names with formulas of columns")
    formulas = {str(name): str(formula) for name, formula in formulas.items()}
    return SweepFile(rows, parameters, chance, formulas, plots_of(document), document)


def _simulations(document: YamlDocument) -> list[Simulation]:
    """All combinations of the values, which are options of `hocket simulate`; each is one value or a list, sizes also
    ranges (`1KiB..1GiB:4`). Values that name nothing there is are errors."""
    content = document.content
    known = ("collective", *KEYS)
    for key in content:
        if key not in known:
            near = nearest(key, (*known, *OWN_KEYS, "models", "traces"))
            raise FormatError(f"{document.where(f'$.{key}')}: unknown key '{key}'; {near}")
    if "what" in content and "collective" in content:
        raise FormatError(f"{document.where('$.what')}: what and collective are two names of one key: keep one")
    for key in ("topology", "collective"):
        if key not in content and not (key == "collective" and "what" in content):
            raise FormatError(
                f"{document.where()}: topology and collective are needed: {key} is missing; a sweep over jobs has"
                " topology and models, or traces"
            )
    values = {key: value if isinstance(value, list) else [value] for key, value in content.items()}
    if not all(values.values()):
        raise FormatError(f"{document.where()}: nothing to simulate: every key needs at least one value")
    try:
        if "size" in values:
            values["size"] = [size for text in values["size"] for size in parse_sizes(str(text))]
    except FormatError as error:
        raise FormatError(f"{document.where('$.size')}: {error}") from error
    topologies = load_topologies(document, values["topology"])
    if "collective" in values:
        values["collective"] = [called_among(str(name), NAMED_KINDS) for name in values["collective"]]
    require_known(document, "collective", values.get("collective", ()), NAMED_KINDS)
    require_known_names(document, values, topologies.values())
    try:
        return grid(**values)
    except RequestError as error:
        raise FormatError(f"{document.where()}: {error}") from error
