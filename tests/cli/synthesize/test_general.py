"""`hocket synthesize` for groups, several of them, loads, sizes and conditions, from outside."""

import json
from contextlib import suppress
from functools import partial
from pathlib import Path

import in_process
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import HocketError, ScheduleError
from hocket.schedule import Schedule, load, verify, verify_together
from hocket.simulator import simulate_schedule
from hocket.topology import load as load_topology
from hocket.topology.failures import share
from hocket.topology.link_loads import share_file
from hocket.translator import lower

MESH = "mesh:3x3,bandwidth=50GB/s,latency=500ns"


synthesize = partial(in_process.hocket, "synthesize")


def read(path: Path) -> Schedule:
    return load(path).expand()


def test_relays_are_kept_simulated_and_not_lowered(tmp_path: Path) -> None:
    path = tmp_path / "corners.schedule"
    asked = ["all_gather", "-t", MESH, "-s", "64MiB", "--group", "0,2,6,8", "-o", str(path)]
    without = synthesize(*asked)
    assert without.returncode == 4
    assert "no link joins rank 0 and ranks 1-8" in without.stderr
    done = synthesize(*asked, "--relays", "--engine", "matching")
    assert done.returncode == 0, done.stderr
    schedule = read(path)
    assert schedule.relays and verify(schedule).time_ps == schedule.time_ps
    predicted = simulate_schedule(schedule)
    assert predicted.bound_ps <= predicted.time_ps <= schedule.time_ps
    with pytest.raises(ScheduleError, match=r"rank [1357], which is not in the group, passes chunks on"):
        lower(schedule, "executor")


def test_groups_at_once_become_a_file_each(tmp_path: Path) -> None:
    path = tmp_path / "rows.schedule"
    groups = [option for row in ("0-2", "3-5", "6-8") for option in ("--group", row)]
    done = synthesize("reduce_scatter", "-t", MESH, "-s", "3MiB", *groups, "-o", str(path), "--json", "-")
    assert done.returncode == 0, done.stderr
    numbers = json.loads(done.stdout)
    schedules = [read(tmp_path / f"rows.{number}.schedule") for number in range(3)]
    assert [schedule.ranks.tolist() for schedule in schedules] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert verify_together(schedules).time_ps == numbers["time_ps"]
    assert [group["time_ps"] for group in numbers["groups"]] == [schedule.time_ps for schedule in schedules]


verify_files = partial(in_process.hocket, "verify")


def test_files_that_run_at_once_are_verified_together(tmp_path: Path) -> None:
    path, page = tmp_path / "two.schedule", tmp_path / "two.html"
    asked = ["all_gather", "-t", MESH, "-s", "3MiB", "--group", "0-5", "--group", "3-8", "--chunks", "1"]
    done = synthesize(*asked, "-o", str(path), "--report", str(page))
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    assert "all_gather of 2 groups" in text and ">0-5</td>" in text and ">3-8</td>" in text
    parts = [tmp_path / f"two.{number}.schedule" for number in range(2)]
    both = verify_files(*parts)
    # Each brings 6 chunks of 512 KiB to 5 others.
    assert both.returncode == 0 and "proved: 60 transfers" in both.stdout
    twice = verify_files(parts[0], parts[0])
    assert twice.returncode == 1 and "NOT PROVED" in twice.stderr and "holds until" in twice.stderr
    assert verify_files(parts[0], tmp_path / "x.xml").returncode == 2
    assert verify_files(parts[0], tmp_path / "none.schedule").returncode == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("load.yaml", '# of others\n"0": 0.25\n"1": 0.25\nlink:0-1: 0.5\n'),
        ("load.csv", "what,part\n0,0.25\n1, 0.25\nlink:0-1,0.5\n"),
    ],
)
def test_loads_from_a_file(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    loaded, whole = share_file(load_topology(MESH), file), load_topology(MESH)
    assert loaded.bandwidth.tolist() == share(whole, ["0=0.25", "1=0.25", "link:0-1=0.5"]).bandwidth.tolist()
    done = synthesize("all_gather", "-t", MESH, "-s", "9MiB", "--load", str(file), "--json", "-")
    assert json.loads(done.stdout)["topology"] == f"{MESH} with load {name}"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("load.yaml", "link:0-1: 0.5\nlink:0-8: 0.5\n", r"load.yaml:2: .*no link"),
        ("load.yaml", "link:0-1: 1\n", r"load.yaml:1: .*taken"),
        ("load.csv", "link:0-1,0.5\n", r"load.csv:1: .*header"),
        ("load.csv", "what,part\nlink:0-1\n", r"load.csv:2: .*two columns"),
    ],
)
def test_bad_loads_are_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(HocketError, match=message):
        share_file(load_topology(MESH), file)


@given(content=st.binary(max_size=200), suffix=st.sampled_from(["yaml", "csv"]))
def test_any_bytes_are_no_loads(tmp_path_factory: pytest.TempPathFactory, content: bytes, suffix: str) -> None:
    file = tmp_path_factory.mktemp("fuzz") / f"load.{suffix}"
    file.write_bytes(content)
    with suppress(HocketError):
        share_file(load_topology(MESH), file)


def test_loads_leave_the_rest() -> None:
    # 0.25 of 50 GB/s on all links, and half of what is left between 0 and 1.
    loaded = share(load_topology(MESH), ["0=0.25", "1=0.25", "link:0-1=0.5"])
    between = {(int(s), int(d)): int(b) for s, d, b in zip(loaded.src, loaded.dst, loaded.bandwidth, strict=True)}
    assert between[0, 1] == between[1, 0] == 18_750_000_000
    assert {bandwidth for pair, bandwidth in between.items() if set(pair) != {0, 1}} == {37_500_000_000}
    done = synthesize("all_gather", "-t", MESH, "-s", "9MiB", "--load", "link:0-1=0.5", "--json", "-")
    assert json.loads(done.stdout)["topology"] == f"{MESH} with load link:0-1=0.5"


def test_uneven_sizes_from_the_line_or_a_file(tmp_path: Path) -> None:
    sizes = tmp_path / "sizes.txt"
    sizes.write_text("1MiB 2MiB\n0, 4MiB\n", encoding="utf-8")
    for asked in ("1MiB,2MiB,0,4MiB", str(sizes)):
        done = synthesize("all_gather", "-t", "ring:4,bandwidth=50GB/s,latency=0ns", "--sizes", asked, "--json", "-")
        numbers = json.loads(done.stdout)
        # Rank 2 gets 7 MiB over two links of 50 GB/s.
        assert numbers["bound_ps"] == -(-7 * 2**20 * 10**12 // (2 * 50 * 10**9))
        assert numbers["ratio"] < 1.1


def test_a_barrier_takes_the_diameter(tmp_path: Path) -> None:
    path, page = tmp_path / "barrier.schedule", tmp_path / "barrier.html"
    done = synthesize("barrier", "-t", MESH, "--json", "-", "-o", str(path), "--report", str(page))
    numbers = json.loads(done.stdout)
    assert (numbers["collective"], numbers["time_ps"]) == ("barrier", 4 * 500_000)
    assert "barrier over 9 ranks" in verify_files(path).stdout
    assert f"barrier on {MESH}" in page.read_text(encoding="utf-8")


def test_barriers_of_groups() -> None:
    # Rows of three: two hops. With the corners alone only relays help, over four hops.
    rows = synthesize("barrier", "-t", MESH, "--group", "0-2", "--group", "3-5", "--json", "-")
    assert [group["time_ps"] for group in json.loads(rows.stdout)["groups"]] == [1_000_000] * 2
    corners = synthesize("barrier", "-t", MESH, "--group", "0,2,6,8", "--relays", "--json", "-")
    assert json.loads(corners.stdout)["time_ps"] == 4 * 500_000


def test_bad_arguments_are_one_clear_error(tmp_path: Path) -> None:
    conditions = tmp_path / "asked.yaml"
    conditions.write_text("ranks: 4\nchunks:\n  - {from: 0, to: all, bytes: 8}\n", encoding="utf-8")
    for arguments, code, words in [
        (["all_gather", "-t", MESH], 2, "--size"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--sizes", "1MiB"], 2, "--sizes"),
        (["all_gather", "-t", MESH, "--sizes", "1MiB,2MiB"], 3, "9 blocks"),
        (["all_reduce", "-t", MESH, "--sizes", "1MiB,2MiB"], 3, "sizes cannot differ"),
        (["custom", "-t", MESH, "-s", "1MiB"], 2, "--conditions"),
        (["custom", "-t", MESH, "--conditions", str(conditions)], 3, "9 ranks"),
        (["custom", "-t", MESH, "--conditions", str(tmp_path / "none.yaml")], 3, "none.yaml"),
        (["barrier", "-t", MESH, "-s", "1MiB"], 2, "--size"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--group", "0,1,9"], 3, "0 to 8"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--group", "0,1,1"], 3, "different ranks"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--group", "0,x"], 3, "0,2,4-7"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--group", "0-2", "--priority", "1,2"], 2, "--priority"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--load", "link:0-1=1"], 3, "taken"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--load", "link:0-8=0.5"], 3, "no link"),
    ]:
        done = synthesize(*arguments)
        assert (done.returncode, len(done.stdout)) == (code, 0), (arguments, done.stderr)
        assert words in done.stderr, (arguments, done.stderr)
