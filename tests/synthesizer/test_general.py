"""Any conditions, groups, relays and several collectives at once."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError, Infeasible, ScheduleError
from hocket.schedule import (
    Chunk,
    Collective,
    Conditions,
    Joint,
    Kind,
    Schedule,
    load,
    lower_bound,
    save,
    verify,
    verify_together,
)
from hocket.schedule.conditions_file import load_conditions
from hocket.synthesizer import Problem, Search, solve_together, synthesize
from hocket.topology import Topology, links_within
from hocket.topology import load as load_topology

MESH = "bandwidth=50GB/s,latency=500ns"


@st.composite
def networks(draw: st.DrawFn) -> Topology:
    """Links both ways that join all ranks, some over a switch, and any links besides."""
    ranks = draw(st.integers(2, 8))
    switches = draw(st.integers(0, 1))
    nodes = ranks + switches
    order = draw(st.permutations(range(nodes)))
    pairs = [(order[at], order[draw(st.integers(0, at - 1))]) for at in range(1, nodes)]
    node = st.integers(0, nodes - 1)
    pairs += draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1]), max_size=8))
    latency, bandwidth = st.integers(0, 2_000_000), st.sampled_from([10**9, 25 * 10**9, 50 * 10**9])
    links = [(a, b, draw(latency), draw(bandwidth)) for x, y in pairs for a, b in ((x, y), (y, x))]
    return Topology.from_links("drawn", ranks, links, num_switches=switches)


def chunks_of(ranks: int) -> st.SearchStrategy[Chunk]:
    some = st.sets(st.integers(0, ranks - 1), min_size=1).map(sorted)
    return st.builds(Chunk, some, some, st.integers(0, 10**6))


@settings(max_examples=80)
@given(topology=networks(), blocking=st.booleans(), data=st.data())
def test_any_conditions(topology: Topology, blocking: bool, data: st.DataObject) -> None:
    chunks = data.draw(st.lists(chunks_of(topology.num_ranks), min_size=1, max_size=12))
    collective = Collective.custom(topology.num_ranks, Conditions.of(topology.num_ranks, chunks))
    schedule = synthesize(collective, topology, blocking=blocking, attempts=2)
    assert schedule.bound is not None and schedule.bound.time_ps <= schedule.time_ps == verify(schedule).time_ps


@settings(max_examples=80)
@given(
    topology=networks(),
    kind=st.sampled_from([kind for kind in Kind if kind is not Kind.CUSTOM]),
    relays=st.booleans(),
    uneven=st.booleans(),
    data=st.data(),
)
def test_any_group(topology: Topology, kind: Kind, relays: bool, uneven: bool, data: st.DataObject) -> None:
    group = data.draw(st.permutations(range(topology.num_ranks)))
    group = group[: data.draw(st.integers(1, len(group)))]
    n, root = len(group), data.draw(st.integers(0, len(group) - 1))
    if uneven and kind not in (Kind.ALL_REDUCE, Kind.BROADCAST, Kind.REDUCE):
        count = n * n if kind is Kind.ALL_TO_ALL else n
        blocks = data.draw(st.lists(st.sampled_from([0, 1, 1000, 10**6]), min_size=count, max_size=count))
        collective = Collective.uneven(kind, n, blocks, data.draw(st.integers(1, 3)), root)
    else:
        collective = Collective(kind, n, 10**6, data.draw(st.integers(1, 3)), root)
    members = np.array(group, np.int32)
    try:
        schedule = synthesize(collective, topology, group=members, relays=relays, attempts=2)
    except Infeasible:
        assert not relays
        return
    report = verify(schedule)
    assert schedule.bound is not None and schedule.bound.time_ps <= schedule.time_ps
    outside = np.setdiff1d(np.arange(topology.num_links), links_within(topology, members))
    assert relays or not report.link_busy_ps[outside].any()
    # What holds with helpers holds without them.
    loose = lower_bound(collective, topology, group=members, relays=True)
    assert loose.time_ps <= schedule.time_ps


def test_relays_carry_a_group_that_is_not_connected() -> None:
    # The corners of a 3x3 mesh: two hops apart, over edges that belong to nobody.
    topology = load_topology(f"mesh:3x3,{MESH}")
    collective, corners = Collective(Kind.ALL_REDUCE, 4, 2**20), np.array([0, 2, 6, 8], np.int32)
    with pytest.raises(Infeasible, match="rank 0 cannot reach every rank it must: no link joins rank 0 and ranks 1-8"):
        synthesize(collective, topology, group=corners)
    schedule = synthesize(collective, topology, group=corners, relays=True, engine="matching")
    assert schedule.relays and (schedule.dst >= 4).any()


def test_a_gather_over_a_chain_is_as_long_as_its_last_link() -> None:
    # 0 - 1 - 2 - 3, root 0: 3 blocks of 1000 bytes over the last link of 1 GB/s, the first of them 1 us behind a hop
    # of 1 us at most: rank 1's block leaves at once, so the link is never idle.
    links = [(a, b, 0, 10**9) for x in range(3) for a, b in ((x, x + 1), (x + 1, x))]
    schedule = synthesize(Collective(Kind.GATHER, 4, 4000), Topology.from_links("chain", 4, links))
    assert schedule.time_ps == 3 * 1_000_000


def test_groups_at_once_never_share_a_link() -> None:
    topology = load_topology(f"torus:4x4,{MESH}")
    # A checkerboard: of one colour no two are neighbours, so that all go over the other's ranks.
    colours = [np.array([r for r in range(16) if (r + r // 4) % 2 == colour], np.int32) for colour in (0, 1)]
    problems = [Problem(Collective(Kind.ALL_GATHER, 8, 2**20), topology, group=group, relays=True) for group in colours]
    found = solve_together(problems, Search(attempts=4))
    report = verify_together([part.schedule for part in found.parts])
    assert report.time_ps == found.whole.schedule.time_ps
    assert found.whole.schedule.bound is not None
    assert found.whole.schedule.bound.time_ps >= max(problem.bound.time_ps for problem in problems)
    twice = [found.parts[0].schedule, found.parts[0].schedule]
    with pytest.raises(ScheduleError, match=r"which transfer .* holds until"):
        verify_together(twice)


@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE, Kind.ALL_TO_ALL])
def test_rows_at_once_are_as_quick_as_alone(kind: Kind) -> None:
    # Rows of a mesh share nothing: together they take as long as the slowest alone would, found by the same engines.
    topology = load_topology(f"mesh:4x3,{MESH}")
    rows = [np.arange(4 * row, 4 * row + 4, dtype=np.int32) for row in range(3)]
    problems = [Problem(Collective(kind, 4, 2**20, 2), topology, group=row) for row in rows]
    found = solve_together(problems, Search(attempts=8))
    for row, part in zip(rows, found.parts, strict=True):
        inside = np.isin(np.arange(topology.num_links), links_within(topology, row))
        assert not verify(part.schedule).link_busy_ps[~inside].any()
    alone = synthesize(problems[0].collective, topology, group=rows[0], engine="matching", attempts=8)
    assert found.whole.schedule.time_ps <= 1.2 * alone.time_ps


@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.ALL_REDUCE])
def test_relays_may_help_but_never_harm(kind: Kind) -> None:
    topology = load_topology(f"mesh:4x4,{MESH}")
    halves = [np.arange(8, dtype=np.int32), np.arange(8, 16, dtype=np.int32)]
    alone, both = (
        [Problem(Collective(kind, 8, 2**20, 2), topology, group=half, relays=relays) for half in halves]
        for relays in (False, True)
    )
    without, with_relays = (solve_together(problems, Search(attempts=2)) for problems in (alone, both))
    assert with_relays.whole.schedule.time_ps <= without.whole.schedule.time_ps
    one = synthesize(alone[0].collective, topology, group=halves[0], relays=True, attempts=2)
    assert one.time_ps <= synthesize(alone[0].collective, topology, group=halves[0], attempts=2).time_ps


def test_overlapping_groups_are_searched_alone_too() -> None:
    # Both all_reduces use all ranks of one mesh: at once they must take what one of twice the size does, about. Trees
    # make halves of 2 MiB each far quicker than matching, which alone can see both at once.
    topology = load_topology(f"mesh:4x4,{MESH}")
    everyone = np.arange(16, dtype=np.int32)
    problems = [Problem(Collective(Kind.ALL_REDUCE, 16, 2**21, 4), topology, group=everyone) for _ in range(2)]
    found = solve_together(problems, Search())
    verify_together([part.schedule for part in found.parts])
    double = synthesize(Collective(Kind.ALL_REDUCE, 16, 2**22, 4), topology)
    assert found.whole.schedule.time_ps <= 1.25 * double.time_ps


def test_priority_goes_first() -> None:
    # Two broadcasts over one link of 1 GB/s, 10 chunks of 1000 bytes each: the urgent one has the link to itself first.
    topology = Topology.from_links("wire", 2, [(0, 1, 0, 10**9), (1, 0, 0, 10**9)])
    both = np.array([0, 1], np.int32)
    problems = [Problem(Collective(Kind.BROADCAST, 2, 10_000, 10), topology, group=both) for _ in range(2)]
    for urgent, engine in ((0, "matching"), (1, "matching"), (1, "trees")):
        priorities = [0, 1] if urgent == 0 else [1, 0]
        found = solve_together(problems, Search(attempts=1), priorities=priorities, engine=engine)
        assert found.parts[urgent].schedule.time_ps == 10_000_000
        assert found.parts[1 - urgent].schedule.time_ps == 20_000_000


def test_joining_is_the_inverse_of_splitting() -> None:
    topology = load_topology(f"torus:4x4,{MESH}")
    groups = [np.arange(0, 8, dtype=np.int32), np.arange(4, 16, dtype=np.int32)]
    problems = [Problem(Collective(Kind.REDUCE_SCATTER, len(g), 2**20), topology, group=g, relays=True) for g in groups]
    whole = solve_together(problems, Search(attempts=2)).whole.schedule
    joint = Joint.of([each.collective for each in problems], groups)
    again = joint.join(joint.split(whole))

    def key(one: Schedule) -> list[tuple[int, int, int]]:
        return sorted(zip(one.chunk.tolist(), one.src.tolist(), one.start_ps.tolist(), strict=True))

    assert key(again) == key(whole)


def test_conditions_are_kept_in_files(tmp_path: Path) -> None:
    path = tmp_path / "asked.yaml"
    path.write_text(
        'ranks: 4\nchunks:\n  - {from: 0, to: "1-3", bytes: 1KiB, count: 2}\n  - {from: all, to: 2, bytes: 8}\n'
    )
    collective = load_conditions(path)
    assert collective.chunk_bytes.tolist() == [1024, 1024, 8]
    assert (collective.origin.tolist(), collective.destination.tolist()) == ([0, 0, -1], [-2, -2, 2])
    # Rank 0 contributes 2 KiB and 8 bytes, rank 2 gets as much.
    assert collective.size_bytes == 2 * 1024 + 8
    schedule = synthesize(collective, load_topology(f"ring:4,{MESH}"))
    save(schedule, tmp_path / "x.schedule")
    again = load(tmp_path / "x.schedule")
    assert isinstance(again, Schedule)
    assert verify(again).time_ps == schedule.time_ps


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks: 4\nchunks:\n  - {from: 4, to: 0, bytes: 8}\n", ":3: .*no set of ranks of 0..3"),
        ("ranks: 4\nchunks:\n  - {from: 0, to: [], bytes: 8}\n", ":3: .*no set of ranks"),
        ("ranks: 4\nchunks:\n  - {from: 0, to: 1-x, bytes: 8}\n", ":3: .*1-x"),
        ("ranks: 4\nchunks:\n  - {from: 0, to: 1, bytes: many}\n", ":3: .*many"),
        ("ranks: 4\nchunks:\n  - {from: 0, to: 1, bytes: 8, count: 0}\n", ":3: .*count"),
        ("ranks: 4\nchunks: []\n", ":2: "),
        ("ranks: 4\nchunks:\n  - {from: 0, two: 1, bytes: 8}\n", "unknown key 'two'"),
    ],
)
def test_bad_conditions_are_named(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "asked.yaml"
    path.write_text(text)
    with pytest.raises(HocketError, match=message):
        load_conditions(path)


@given(st.binary(max_size=200))
def test_any_bytes_are_no_conditions(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "asked.yaml"
    path.write_bytes(content)
    with pytest.raises(HocketError):
        load_conditions(path)
