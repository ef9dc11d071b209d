"""`hocket compare` on real files, and what holds for any two predictions."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from random_jobs import jobs

from hocket.base.errors import FormatError
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.simulator import simulate_traces
from hocket.simulator.analysis import Change, compare, read_prediction, write_prediction
from hocket.topology import load

US = 10**6


def predicted(folder: Path, bandwidth: str, name: str) -> Path:
    """An all_reduce of 2000 B on a pair: 2 us of latency and 2000 B over the bandwidth."""
    out = folder / name
    topology = f"ring:2,bandwidth={bandwidth},latency=1us"
    where = ["--json", out] if name.endswith(".json") else ["--tables", out]
    arguments = ["--size", "2000", "--algorithm", "ring", "--topology", topology, *where]
    done = hocket("simulate", "all_reduce", *arguments)
    assert done.returncode == 0, done.stderr
    return out


def test_slower_is_exit_code_1_unless_tolerated(tmp_path: Path) -> None:
    slow, fast = predicted(tmp_path, "1GB/s", "slow.json"), predicted(tmp_path, "2GB/s", "fast")
    # 2 + 2 us against 2 + 1 us: a third slower, a quarter faster.
    done = hocket("compare", fast, slow, "--json", tmp_path / "changes.json")
    assert done.returncode == 1
    assert "slower by 33.33%, more than the tolerance of 0.00%" in done.stderr
    assert "time                                           3 us ->       4 us    +33.3%" in done.stdout
    assert "links are not compared: the topologies differ" in done.stdout
    changes = json.loads((tmp_path / "changes.json").read_text())
    assert changes["kinds"] == [{"name": "all_reduce", "first_ps": 3_000_000, "second_ps": 4_000_000}]
    assert hocket("compare", fast, slow, "--tolerance", "0.34").returncode == 0
    faster = hocket("compare", slow, fast)
    assert faster.returncode == 0, faster.stderr
    assert "-25.0%" in faster.stdout
    assert hocket("compare", slow, slow).returncode == 0


def test_groups_go_by_their_dimension_and_equal_ranks_are_one_line(tmp_path: Path) -> None:
    """Four ranks in pairs tp.0 and tp.1 against all in one tp.0: 2000 B in 2 steps of 1 + 1 us, both pairs at once,
    against 6 steps of 1 + 0.5 us."""
    stored = []
    for name, groups in (("pairs", {"tp.0": (0, 1), "tp.1": (2, 3)}), ("one", {"tp.0": (0, 1, 2, 3)})):
        builders = [TraceBuilder() for _ in range(4)]
        for group, ranks in groups.items():
            for rank in ranks:
                builders[rank].add_collective("g", CollectiveType.ALL_REDUCE, 2_000, group=group)
        traces = TraceSet(tuple(builder.build() for builder in builders), groups)
        write_prediction(simulate_traces(traces, load("ring:4,bandwidth=1GB/s,latency=1us")), tmp_path / name)
        stored.append(read_prediction(tmp_path / name))
    comparison = compare(*stored)
    assert comparison.groups == (Change("all_reduce of tp groups", 8 * US, 9 * US),)
    assert comparison.ranks == (Change("rank 0 and 3 more", 4 * US, 9 * US),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a prediction"),
        ("[]", "not a prediction"),
        ('{"format": "hocket.curves", "version": 2}', "not a prediction; expected"),
        ('{"format": "hocket.prediction", "version": 1}', "version 1 of the format, this Hocket reads version 2"),
        ('{"format": "hocket.prediction", "version": 2}', "missing required field"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    done = hocket("compare", path, path)
    assert done.returncode == 3
    assert "a.json" in done.stderr and message in done.stderr


@given(st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "a.json"
    prediction = simulate_traces(data.draw(jobs()), load("ring:3,bandwidth=1GB/s,latency=1us"))
    write_prediction(prediction, path)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content))
    try:
        stored = read_prediction(path)
    except FormatError:
        return
    compare(stored, stored)


@settings(max_examples=25)
@given(jobs(), jobs())
def test_turned_round_every_change_has_the_other_sign(
    tmp_path_factory: pytest.TempPathFactory, first: TraceSet, second: TraceSet
) -> None:
    folder, topology = tmp_path_factory.mktemp("pair"), load("switch:3,bandwidth=1GB/s,latency=1us")
    stored = []
    for name, job in (("a", first), ("b", second)):
        write_prediction(simulate_traces(job, topology), folder / name)
        stored.append(read_prediction(folder / name))
    there, back = compare(*stored), compare(*stored[::-1])
    for subject in ("whole", "kinds", "groups", "ranks", "links"):
        forward = {change.name: change.delta_ps for change in getattr(there, subject)}
        assert forward == {change.name: -change.delta_ps for change in getattr(back, subject)}
    same = compare(stored[0], stored[0])
    assert same.slower_by == 0 and all(change.delta_ps == 0 for change in same.links)
