"""Graphs of devices: captured calls are done at the replays of their graph, all of them at each."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.stream_lines import GraphLine, ReplayLine
from hocket.recording.waits import NONE

if TYPE_CHECKING:
    from hocket.recording.calls import CallColumns, CallShape

__all__ = ["Replayed", "Template", "with_replays"]

Numbers = NDArray[np.int64]

# Batches of a replay are told apart from those of others by so much.
_BATCHES = 1 << 32


class Replayed(NamedTuple):
    """How many calls the replays of graphs made, and how many replays there were; the same of replays whose calls are
    not known, for their capture is not there, with the numbers these took: group, first and how many."""

    calls: int = 0
    replays: int = 0
    unknown_calls: int = 0
    unknown_replays: int = 0
    holes: tuple[tuple[int, int, int], ...] = ()


class Template(NamedTuple):
    """The calls of a graph in order: where their shapes are, the groups' numbers in the stream, whether each has a
    number in its group, its peer and its batch."""

    shape: Numbers
    group: Numbers
    numbered: NDArray[np.bool_]
    peer: Numbers
    batch: Numbers

    @classmethod
    def of(cls, graph: GraphLine, shapes: Sequence["CallShape"], first: int) -> "Template":
        """`shapes` are the graph's, which lie from `first` on."""
        places, batch = np.array(graph.calls, np.int64).reshape(-1, 2).T
        peers = np.array([NONE if shape.peer is None else shape.peer for shape in shapes], np.int64)
        numbered = np.array([shape.kind not in PEER_TO_PEER for shape in shapes], bool)
        groups = np.array([line.group for line in graph.shapes], np.int64)
        return cls(places + first, groups[places], numbered[places], peers[places], np.where(batch < 0, NONE, batch))


def with_replays(
    columns: "CallColumns",
    templates: Mapping[int, Template],
    replays: Sequence[ReplayLine],
    steps: tuple[Numbers, Numbers],
    told: Mapping[int, tuple[int, int]],
    lanes: Mapping[int, int],
) -> tuple["CallColumns", Replayed]:
    """The columns with the calls of the replays of graphs, of which `templates` are known.

    Nothing tells when a call of a replay ran: it is under way from the replay's begin to its end, when its thread has
    waited for it. `steps` are the times at which steps ended, and the numbers of all; `told` when replays began and
    ended on their devices, as far as that is known; `lanes` the threads that streams are by now.
    """
    if not len(replays):
        return columns, Replayed()
    ends, step_numbers = steps
    known = [replay for replay in replays if replay.graph in templates]
    unknown = [replay for replay in replays if replay.graph not in templates]
    parts = []
    for number, replay in enumerate(known, start=1):
        begin, end = told.get(replay.n, (replay.t0, replay.t1))
        lane = lanes.get(NONE if replay.stream is None else replay.stream) if replay.n in told else None
        step = int(step_numbers[np.searchsorted(ends, replay.t0, side="right")])
        thread = replay.thread if lane is None else lane
        parts.append(_calls_of(templates[replay.graph], replay, (begin, end), step, thread, number * _BATCHES))
    names = [field.name for field in fields(columns)]
    merged = {name: np.concatenate([getattr(columns, name), *(part[name] for part in parts)]) for name in names}
    order = np.argsort(merged["issued"], kind="stable")
    calls = sum(len(part["start"]) for part in parts)
    holes = tuple(hole for replay in unknown for hole in replay.bases)
    replayed = Replayed(calls, len(parts), sum(replay.calls for replay in unknown), len(unknown), holes)
    return replace(columns, **{name: column[order] for name, column in merged.items()}), replayed


def _calls_of(
    template: Template, replay: ReplayLine, times: tuple[int, int], step: int, thread: int, batches: int
) -> dict[str, Numbers]:
    """The columns of a replay's calls."""
    count = len(template.shape)
    order = np.arange(count)
    bases = {group: first for group, first, _ in replay.bases}
    sequence = np.full(count, -1)
    for group in np.unique(template.group).tolist():
        own = template.numbered & (template.group == group)
        sequence[own] = bases.get(group, 0) + np.arange(int(own.sum()))
    start = times[0] + order
    end = np.maximum(times[1], start)
    threads = np.full(count, thread)
    return {
        "shape": template.shape,
        "sequence": sequence,
        "step": np.full(count, step),
        "thread": threads,
        "issued": replay.t0 + order,
        "start": start,
        "begin": start,
        "end": end,
        "wait_begin": end,
        "wait_end": end,
        "wait_thread": threads,
        "peer": template.peer,
        "batch": np.where(template.batch == NONE, NONE, template.batch + batches),
    }
