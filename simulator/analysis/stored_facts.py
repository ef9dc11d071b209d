"""What is shown of a prediction, read back from its JSON form: whoever wrote that, it is checked before it is shown."""

from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import FormatError, HocketError
from hocket.base.reading import JSON, read_text
from hocket.simulator.analysis.columns import Columns
from hocket.simulator.analysis.json_form import FORMAT, VERSION
from hocket.simulator.analysis.rank_groups import RanksAlike
from hocket.simulator.analysis.rank_timeline import RankPart, RankTimeline
from hocket.simulator.prediction import CollectiveTime, LinkUse, routing_words
from hocket.topology.stored import LinksForm, TopologyForm, topology_of

__all__ = ["StoredFacts", "StoredForm", "stored_facts"]

_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_Rate = Annotated[float, msgspec.Meta(ge=0, lt=1e30)]
_Letters = Annotated[str, msgspec.Meta(pattern=f"^[{''.join(RankPart)}]+$", max_length=1024)]


class _Table(msgspec.Struct):
    """Columns of one length."""

    def columns(self) -> Columns:
        """As numpy arrays. Raises ValueError where the lengths differ."""
        lists = {name: getattr(self, name) for name in self.__struct_fields__}
        columns = {name: np.array(values) for name, values in lists.items() if values is not None}
        if len({len(column) for column in columns.values()}) > 1:
            raise ValueError(f"columns of different lengths: {', '.join(columns)}")
        return columns


class _Ranks(_Table):
    rank: list[_Number]
    finish_ps: list[_Number]
    compute_ps: list[_Number]
    communication_ps: list[_Number]
    overlapped_ps: list[_Number]
    exposed_ps: list[_Number]
    idle_ps: list[_Number]
    exposed_wait_ps: list[_Number]
    kernel_ps: list[_Number] | None = None  # older ones counted it as idle


class _Means(_Table):
    kind: list[str]
    ranks: list[_Number]
    count: list[_Number]
    size_bytes: list[_Number]
    mean_wait_ps: list[int]
    mean_time_ps: list[int]
    total_time_ps: list[int]
    algbw: list[_Rate]
    busbw: list[_Rate]
    mean_bound_ps: list[_Number]
    ratio: list[float]


class _Sorts(_Means):
    algorithm: list[str]


class _Groups(_Means):
    group: list[str]


class _Steps(_Table):
    step: list[int]
    start_ps: list[_Number]
    finish_ps: list[_Number]
    time_ps: list[_Number]


class _CausedWaits(_Table):
    rank: list[_Number]
    caused_wait_ps: list[_Number]
    waits: list[_Number]
    ranks_kept_waiting: list[_Number]


class _Segments(_Table):
    start_ps: list[_Number]
    finish_ps: list[_Number]
    what: list[str]
    from_rank: list[_Number]
    rank: list[_Number]


class _Links(LinksForm, _Table, kw_only=True):
    busy_ps: list[_Number]
    bytes: list[_Number]
    messages: list[_Number]
    utilisation: list[_Rate]


class _Topology(TopologyForm, kw_only=True):
    is_spec: bool


class _Row(msgspec.Struct):
    ranks: list[_Number]
    parts: _Letters


class _Timeline(msgspec.Struct):
    rows: list[_Row]
    ranks: list[_Letters]


class _Path(msgspec.Struct):
    segments: _Segments


class StoredForm(msgspec.Struct):
    """What a page takes of the JSON form of a prediction (`json_form`)."""

    format: str
    version: int
    model: str
    routing: str | None
    topology: _Topology
    time_ps: _Number
    bound_ps: _Number
    ratio: _Rate
    ranks: _Ranks
    timeline: _Timeline
    caused_waits: _CausedWaits
    steps: _Steps
    sorts: _Sorts
    groups: _Groups
    critical_path: _Path | None
    collectives: list[CollectiveTime]
    links: _Links
    assumed: list[str]
    notes: list[str]


class StoredFacts:
    """`PredictionFacts` of a JSON form. How busy links are over time it does not have. Raises ValueError or HocketError
    where its parts do not fit each other, or are those of another version."""

    link_use: LinkUse | None = None

    def __init__(self, form: StoredForm) -> None:
        _require((form.format, form.version) == (FORMAT, VERSION), f"expected a {FORMAT} of version {VERSION}")
        self.model, self.time_ps, self.bound_ps, self.ratio = form.model, form.time_ps, form.bound_ps, form.ratio
        self.topology, self.is_spec = topology_of(form.topology, form.links), form.topology.is_spec
        self.routing_words = routing_words(form.routing, self.topology)
        self.ranks, self.caused_waits = form.ranks.columns(), form.caused_waits.columns()
        self.steps, self.sorts, self.groups = form.steps.columns(), form.sorts.columns(), form.groups.columns()
        self.path = None if form.critical_path is None else form.critical_path.segments.columns()
        self.timeline = _timeline(form.timeline, len(self.ranks["rank"]))
        self.collectives = form.collectives
        links = form.links.columns()
        self.link_busy_ps, self.link_bytes = links["busy_ps"], links["bytes"]
        self.link_messages: NDArray[np.int64] = links["messages"]
        self.link_utilisation: NDArray[np.float64] = links["utilisation"]
        self.remarks = (*form.assumed, *form.notes)
        _require(len(self.ranks["rank"]) > 0, "no ranks")
        late, sorted_kinds = self.caused_waits["rank"], {*self.sorts["kind"].tolist()}
        _require(not len(late) or int(late.max()) < len(self.ranks["rank"]), "a wait for a rank that is not there")
        _require(all(each.kind in sorted_kinds for each in self.collectives), "a collective of no sort")


def stored_facts(path: Path | str) -> StoredFacts:
    """The facts of the prediction in a JSON file. Raises FormatError, naming the file, where it holds none, or not all
    of them, as those of older versions."""
    try:
        return StoredFacts(msgspec.json.decode(read_text(path, JSON), type=StoredForm))
    except (ValueError, OverflowError, HocketError) as error:
        raise FormatError(f"{path}: no report can be made of it: {error}; simulate again with --json") from error


def _timeline(stored: _Timeline, ranks: int) -> RankTimeline:
    numbers = [rank for row in stored.rows for rank in row.ranks]
    _require(sorted(numbers) == [*range(ranks)] or not numbers, "the rows of its timeline are not its ranks")
    _require(len(stored.ranks) in (0, ranks), "a timeline of other ranks")
    _require(all(row.ranks for row in stored.rows), "a row of its timeline without ranks")
    return RankTimeline(
        tuple((RanksAlike(np.array(row.ranks, np.int64)), row.parts) for row in stored.rows), tuple(stored.ranks)
    )


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)
