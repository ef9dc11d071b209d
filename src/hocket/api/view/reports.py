"""The page of a result, made again from its JSON: what `--report` writes, without what only the page has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from hocket.base.errors import FormatError, HocketError
from hocket.base.reading import JSON, read_text
from hocket.report.astra_page import AstraFacts, astra_content
from hocket.report.bundle_page import BundleFacts, bundle_content
from hocket.report.calibration_facts import CalibrationFacts
from hocket.report.calibration_page import calibration_content
from hocket.report.curves_page import curves_content
from hocket.report.page import Page
from hocket.report.prediction_page import prediction_content
from hocket.report.replay_page import replay_content
from hocket.report.schedule_facts import GroupsFacts, ScheduleFacts, WindowsFacts
from hocket.report.schedule_page import groups_content, schedule_content, windows_content
from hocket.report.step_facts import StoredStep
from hocket.report.step_page import stored_step_content
from hocket.report.traffic_facts import TrafficFacts
from hocket.report.traffic_page import traffic_content
from hocket.report.validation_facts import ValidationFacts
from hocket.report.validation_page import validation_content
from hocket.runtime.replay.comparison import OperationTimes, RankTimes, ReplayComparison
from hocket.simulator.analysis import stored_facts
from hocket.simulator.stored_curves import stored_curves

__all__ = ["REPORTS"]

_Form = TypeVar("_Form")
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]


class _Replay(msgspec.Struct):
    """What the JSON of a replay has of its page."""

    source: str
    backend: str
    iterations_ps: Annotated[tuple[_Number, ...], msgspec.Meta(min_length=1)]
    recorded_ps: _Number | None
    predicted_ps: _Number | None
    steps: _Number
    operations: tuple[OperationTimes, ...]
    ranks: tuple[RankTimes, ...]
    straggler: _Number | None
    notes: tuple[str, ...]


def _replay(stored: _Replay) -> Page:
    comparison = ReplayComparison(
        stored.iterations_ps,
        stored.recorded_ps,
        stored.predicted_ps,
        stored.steps,
        stored.operations,
        stored.ranks,
        stored.straggler,
        stored.notes,
    )
    return replay_content(comparison, f"{stored.source} on {len(stored.ranks)} {stored.backend} ranks")


def _page_of(form: type[_Form], content: Callable[[_Form], Page]) -> Callable[[Path], Page]:
    """Makes the page of what a file holds; it may be of anybody, so that nothing in it is taken for granted."""

    def page(path: Path) -> Page:
        try:
            return content(msgspec.json.decode(read_text(path, JSON), type=form))
        except (ValueError, ArithmeticError, LookupError, HocketError) as error:
            raise FormatError(
                f"{path}: no report can be made of it: {error}; run its command again with --json"
            ) from error

    return page


#: By the `format` of the JSON; each raises FormatError, naming the file, where its content is not as that says.
REPORTS: Mapping[str, Callable[[Path], Page]] = {
    "hocket.prediction": lambda path: prediction_content(stored_facts(path)),
    "hocket.curves": lambda path: curves_content(*stored_curves(path)),
    "hocket.astra-sim": _page_of(AstraFacts, astra_content),
    "hocket.replay": _page_of(_Replay, _replay),
    "hocket.fit": _page_of(CalibrationFacts, calibration_content),
    "hocket.programs": _page_of(BundleFacts, bundle_content),
    "hocket.schedule": _page_of(ScheduleFacts, schedule_content),
    "hocket.schedules_by_size": _page_of(WindowsFacts, windows_content),
    "hocket.schedules_of_groups": _page_of(GroupsFacts, groups_content),
    "hocket.step": _page_of(StoredStep, stored_step_content),
    "hocket.validation": _page_of(ValidationFacts, validation_content),
    "hocket.traffic": _page_of(TrafficFacts, traffic_content),
}
