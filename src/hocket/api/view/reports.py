"""The page of a result, made again from its JSON: what `--report` writes, without what only the page has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from hocket.base.errors import FormatError
from hocket.base.reading import JSON, read_text
from hocket.report.curves_page import curves_content
from hocket.report.page import Page
from hocket.report.prediction_page import prediction_content
from hocket.report.replay_page import replay_content
from hocket.runtime.replay.comparison import OperationTimes, RankTimes, ReplayComparison
from hocket.simulator.analysis import stored_facts
from hocket.simulator.stored_curves import stored_curves

__all__ = ["REPORTS"]

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


def _replay(path: Path) -> Page:
    try:
        stored = msgspec.json.decode(read_text(path, JSON), type=_Replay)
    except msgspec.MsgspecError as error:
        raise FormatError(f"{path}: no replay: {error}; replay again with --json") from error
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


#: By the `format` of the JSON; each raises FormatError, naming the file, where its content is not as that says.
REPORTS: Mapping[str, Callable[[Path], Page]] = {
    "hocket.prediction": lambda path: prediction_content(stored_facts(path)),
    "hocket.curves": lambda path: curves_content(*stored_curves(path)),
    "hocket.replay": _replay,
}
