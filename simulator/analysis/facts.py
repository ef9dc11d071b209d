"""What is shown of a prediction, read from the prediction itself or, by `stored_facts`, from its JSON form."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import HocketError
from hocket.simulator.analysis.collectives import group_table, sort_table
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.critical_path import CriticalPath, critical_path
from hocket.simulator.analysis.rank_timeline import RankTimeline, rank_timeline
from hocket.simulator.analysis.ranks import rank_table
from hocket.simulator.analysis.steps import step_table
from hocket.simulator.analysis.waits import caused_waits
from hocket.simulator.models import Model
from hocket.simulator.prediction import CollectiveTime, LinkUse, Prediction
from hocket.topology import Topology, load

__all__ = ["PredictionFacts", "SimulatedFacts"]


class PredictionFacts(Protocol):
    """The tables are those of the functions with their names (`rank_table`, `sort_table`, ...). `path` are the segments
    of the critical path (`CriticalPath.segments`) and is None where the model knows none; `remarks` are sentences: what
    is assumed, notes and warnings. `is_spec`: the topology's name alone makes it again."""

    @property
    def model(self) -> str: ...
    @property
    def routing_words(self) -> str: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def is_spec(self) -> bool: ...
    @property
    def time_ps(self) -> int: ...
    @property
    def bound_ps(self) -> int: ...
    @property
    def ratio(self) -> float: ...
    @property
    def ranks(self) -> Columns: ...
    @property
    def sorts(self) -> Columns: ...
    @property
    def groups(self) -> Columns: ...
    @property
    def steps(self) -> Columns: ...
    @property
    def caused_waits(self) -> Columns: ...
    @property
    def path(self) -> Columns | None: ...
    @property
    def timeline(self) -> RankTimeline: ...
    @property
    def collectives(self) -> Sequence[CollectiveTime]: ...
    @property
    def link_busy_ps(self) -> NDArray[np.int64]: ...
    @property
    def link_bytes(self) -> NDArray[np.int64]: ...
    @property
    def link_messages(self) -> NDArray[np.int64]: ...
    @property
    def link_utilisation(self) -> NDArray[np.float64]: ...
    @property
    def link_use(self) -> LinkUse | None: ...
    @property
    def remarks(self) -> Sequence[str]: ...


class SimulatedFacts:
    """Those of a prediction, each worked out when it is first asked for."""

    def __init__(self, prediction: Prediction) -> None:
        self._prediction = prediction
        self.model, self.routing_words = prediction.model, prediction.routing_words
        self.topology, self.collectives = prediction.topology, prediction.collectives
        self.time_ps, self.bound_ps, self.ratio = prediction.time_ps, prediction.bound_ps, prediction.ratio
        self.link_busy_ps, self.link_bytes = prediction.link_busy_ps, prediction.link_bytes
        self.link_messages, self.link_utilisation = prediction.link_messages, prediction.link_utilisation
        self.link_use = prediction.link_use

    @cached_property
    def is_spec(self) -> bool:
        if not re.fullmatch(r"[a-z][a-z0-9-]*:[A-Za-z0-9,=*.x/-]+", self.topology.name):
            return False
        try:
            return load(self.topology.name).fingerprint == self.topology.fingerprint
        except HocketError:  # of a file that is gone, or of what was changed since
            return False

    @cached_property
    def ranks(self) -> Columns:
        return rank_table(self._prediction)

    @cached_property
    def sorts(self) -> Columns:
        return sort_table(self._prediction)

    @cached_property
    def groups(self) -> Columns:
        return group_table(self._prediction)

    @cached_property
    def steps(self) -> Columns:
        return step_table(self._prediction)

    @cached_property
    def caused_waits(self) -> Columns:
        return caused_waits(self._prediction)

    @cached_property
    def critical_path(self) -> CriticalPath | None:
        """None of model `bound`, which knows none."""
        return None if self.model == Model.BOUND else critical_path(self._prediction)

    @cached_property
    def path(self) -> Columns | None:
        return None if self.critical_path is None else self.critical_path.segments()

    @cached_property
    def timeline(self) -> RankTimeline:
        return RankTimeline(()) if self.model == Model.BOUND else rank_timeline(self._prediction)

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*self._prediction.assumed, *self._prediction.notes, *self._prediction.warnings)
