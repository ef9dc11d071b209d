"""The YAML file that says which jobs a sweep is over: models by plans, and traces, on topologies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

from hocket.api.fields import Field
from hocket.api.generate.cards import find_card
from hocket.api.generate.job_file import is_job_file
from hocket.api.generate.request import LlmGeneration
from hocket.api.step.request import StepReport
from hocket.api.sweep.jobs.plans import ALL, DIVIDED, RankCounts, expand
from hocket.api.sweep.jobs.point import MADE, JobPoint
from hocket.api.sweep.names import load_topologies, require_known_names
from hocket.api.sweep.rows import alternatives
from hocket.base.errors import FormatError, HocketError, RequestError
from hocket.base.strict_yaml import YamlDocument, nearest
from hocket.base.units import parse_sizes
from hocket.chakra.reading import rank_files
from hocket.simulator.models import Model
from hocket.workload.accelerators import parse_accelerator
from hocket.workload.llm import MODELS

__all__ = ["is_of_jobs", "points_of"]

_OWN = ("models", "plans", "traces", "over_memory")
_OVER_MEMORY = ("skip", "simulate")
#: Options of `hocket generate llm` that a plan, or the sweep for all plans, may give.
_PLAN = {
    field.name: field
    for field in LlmGeneration.fields()
    if field.path[0] not in ("model", "topology", "written", "profile")
}
#: Options of `hocket step` that may vary.
_STEP = {
    field.name: field for field in StepReport.fields() if field.name not in ("traces", "what_if", "json", "report")
}
_EVERY_PLAN = {"tp": ALL, "pp": ALL, "ep": ALL}


def is_of_jobs(document: YamlDocument) -> bool:
    return not {"models", "plans", "traces"}.isdisjoint(document.content)


def points_of(document: YamlDocument) -> list[JobPoint]:
    """Every model by every plan, and every trace, on every topology, by every combination of the other values, once
    each. Raises FormatError naming file, line and key."""
    return list(dict.fromkeys(_JobFile(document).points()))


class _JobFile:
    def __init__(self, document: YamlDocument) -> None:
        self.document = document
        content = document.content
        self.models, self.traces = _listed(content.get("models", [])), _listed(content.get("traces", []))
        self._check_keys()
        self.experts = dict(self._experts())
        for at, traces in enumerate(self.traces):
            with self._at(f"$.traces[{at}]", "traces"):
                if not is_job_file(_path(traces)):
                    rank_files(Path(traces))
        self.topologies = load_topologies(document, _listed(content["topology"]))
        self.rank_counts = {spec: RankCounts.of(topology) for spec, topology in self.topologies.items()}
        self.plans = list(self._plans()) if self.models else []
        self.steps = self._steps()

    def points(self) -> Iterator[JobPoint]:
        over_memory = self.document.content.get("over_memory", _OVER_MEMORY[0]) == "simulate"
        for model, spec in product(self.models, self.topologies):
            for where, values in self.plans:
                for plan in expand(values, self.rank_counts[spec], self.experts[model]):
                    generation = self._generation(where, model, spec, plan)
                    for step in self.steps:
                        report = StepReport.of(MADE, spec, **step)
                        yield JobPoint(generation=generation, step=report, over_memory=over_memory)
        for traces, spec, step in product(self.traces, self.topologies, self.steps):
            yield JobPoint(step=StepReport.of(traces, spec, **step))

    def _generation(self, where: str, model: str, spec: str, plan: Mapping[str, Any]) -> LlmGeneration:
        with self._at(where, "plans"):
            return LlmGeneration.of(model, topology=spec, output=MADE, **plan)

    def _check_keys(self) -> None:
        content = self.document.content
        known = {*_OWN, *_STEP, *(_PLAN if self.models else ())}
        for key, value in content.items():
            if key not in known:
                self._refuse(f"$.{key}", f"unknown key '{key}'; {nearest(key, known)}")
            if value is None or value == [] or value == {}:
                self._refuse(f"$.{key}", f"{key}: no value: give one or a list, or drop the key")
        if "chunks" in content and self.models:
            self._refuse("$.chunks", "chunks: write it into a plan, as its model chunks of a stage")
        if "topology" not in content:
            self._refuse("$", "topology is missing: where the jobs run")
        if not self.models and not self.traces:
            self._refuse("$.plans", "plans are of models: name some under the key models")
        if (over := content.get("over_memory", "skip")) not in _OVER_MEMORY:
            self._refuse("$.over_memory", f"over_memory: '{over}'; {nearest(str(over), _OVER_MEMORY)}")
        for name in _listed(content.get("model", [])):
            if name in MODELS:
                self._refuse("$.model", f"model: '{name}' is no network model: name what is trained under models")
            if name == Model.BOUND:
                self._refuse("$.model", "model: bound has no waits to divide: drop it, every row has the bound")

    def _experts(self) -> Iterator[tuple[str, int]]:
        """How many experts each model has."""
        for at, model in enumerate(self.models):
            where = f"$.models[{at}]" if isinstance(self.document.content["models"], list) else "$.models"
            with self._at(where, "models"):
                card = find_card(_path(model))
            yield model, card.experts.count if card.experts else 0

    def _plans(self) -> Iterator[tuple[str, Mapping[str, Sequence[Any]]]]:
        """The values of each plan and the place that says them; what the plan does not say, the sweep does."""
        content = self.document.content
        common = {name: self._values(f"$.{name}", name, content[name]) for name in _PLAN if name in content}
        said = content.get("plans", [{}])
        for at, plan in enumerate(said if isinstance(said, list) else [said]):
            where = f"$.plans[{at}]" if isinstance(said, list) else "$.plans"
            if plan == ALL:
                plan = _EVERY_PLAN
            if not isinstance(plan, dict):
                self._refuse(where, f"plans: '{plan}': expected all, or options such as {{tp: 8, pp: [1, 2, 4]}}")
            for name in plan:
                if name not in _PLAN:
                    self._refuse(f"{where}.{name}", f"unknown key '{name}' of a plan; {nearest(name, _PLAN)}")
            own = {name: self._values(f"{where}.{name}", name, value) for name, value in plan.items()}
            values = {**own, **{name: each for name, each in common.items() if name not in own}}
            if "global_batch" not in values:
                self._refuse(where, f"global_batch is missing: {_PLAN['global_batch'].description.lower()}")
            yield where, values

    def _values(self, where: str, name: str, value: object) -> list[Any]:
        """The values of an option of plans: of numbers also ranges, each checked by itself."""
        found: list[Any] = []
        for each in _listed(value):
            if each == ALL and name in DIVIDED:
                found.append(ALL)
            elif isinstance(each, str) and ".." in each and _is_number(_PLAN[name]):
                with self._at(where, name):
                    found += parse_sizes(each)
            else:
                found.append(each)
        if not found:
            self._refuse(where, f"{name}: no value: give one or a list")
        for each in found:
            if each != ALL or name not in DIVIDED:
                with self._at(where, name):
                    LlmGeneration.of(self.models[0], output=MADE, **{"global_batch": 1, name: each})
                    if name == "accelerator":
                        parse_accelerator(str(each))
        return found

    def _steps(self) -> list[Mapping[str, Any]]:
        """Every combination of what varies in the simulation."""
        content = self.document.content
        values = {name: alternatives(name, content[name]) for name in _STEP if name in content and name != "topology"}
        names = {
            name: [each for value in found for each in _listed(value)]
            for name, found in values.items()
            if name in ("model", "algorithm")
        }
        names |= {name: _listed(content[name]) for name in ("switching", "queueing") if name in content}
        require_known_names(self.document, names, self.topologies.values())
        for name, found in values.items():
            for each in found:
                with self._at(f"$.{name}", name):
                    StepReport.of(MADE, "x", **{name: each})
        return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]

    @contextmanager
    def _at(self, where: str, what: str) -> Iterator[None]:
        """Errors inside get their place."""
        try:
            yield
        except HocketError as error:
            self._refuse(where, f"{what}: {error}", error)

    def _refuse(self, where: str, message: str, cause: Exception | None = None) -> NoReturn:
        raise FormatError(f"{self.document.where(where)}: {message}") from cause


def _path(value: object) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{value}: expected a name")
    return value


def _is_number(field: Field) -> bool:
    return field.item_type is int


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
