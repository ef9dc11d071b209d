"""Tracks of timelines: one thing at a time, as few as what overlaps needs, whatever the order of the spans."""

from collections import defaultdict
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hocket.base.tracks import Tracks

SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda span: (span[0], span[0] + span[1])))


def shown(spans: list[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """The spans of each track."""
    tracks, found = Tracks(first="compute"), defaultdict(list)
    for span in spans:
        found[tracks.place("compute", *span)[0]].append(span)
    return found


@given(SPANS)
def test_spans_in_order_take_as_many_tracks_as_overlap(spans: list[tuple[int, int]]) -> None:
    spans.sort()
    found = shown(spans)
    for track in found.values():
        assert all(before[1] <= after[0] for before, after in pairwise(track))
    most = max((sum(begin <= at < end for begin, end in spans) for at, _ in spans), default=0)
    assert len(found) == most


@given(SPANS)
def test_spans_in_any_order_never_overlap_on_a_track(spans: list[tuple[int, int]]) -> None:
    for track in shown(spans).values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(track)))


def test_each_use_has_tracks_of_its_own_and_the_first_is_number_0() -> None:
    tracks = Tracks(first="compute")
    assert tracks.place("communication", 0, 5) == (1, "communication")
    assert tracks.place("communication", 1, 3) == (2, "communication 1")
    assert tracks.place("compute", 1, 3) == (0, "compute")
    assert tracks.place("communication", 3, 4) == (2, None)
    assert tracks.place("communication", 9, 10) == (1, None)
