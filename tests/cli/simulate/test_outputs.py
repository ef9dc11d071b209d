"""What `hocket simulate` leaves: tables, Parquet, a page; and a collective over sizes."""

import csv
import json
import re
import sys
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.base.errors import HocketError
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.simulator.analysis import write_parquet, write_tables
from hocket.topology import load

PAIR = "ring:2,bandwidth=1GB/s,latency=1us"


hocket = partial(in_process.hocket, "simulate")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Rank 0 computes 2 us, rank 1 5 us; then an all_reduce of 2000 B: 2 steps of 1 us latency and 1 us."""
    builders = []
    for duration in (2_000, 5_000):
        builder = TraceBuilder()
        work = builder.add_comp("step 1", duration_ns=duration)
        builder.add_collective("gradients", CollectiveType.ALL_REDUCE, 2_000, deps=[work])
        builders.append(builder)
    write_traces(tmp_path / "traces", TraceSet(tuple(builder.build() for builder in builders)))
    return tmp_path / "traces"


def test_tables_and_json_say_who_was_late_and_what_took_long(traces: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    done = hocket(traces, "--topology", PAIR, "--tables", folder, "--parquet")
    assert done.returncode == 0, done.stderr
    assert "critical path          compute 5 us (55.6%), all_reduce 4 us (44.4%)" in done.stdout
    assert "kept others waiting    rank 1: 1 other, 3 us (100.0% of all waits)" in done.stdout
    # The ranks end together at 9 us; rank 0 is the first of them: 2 us computed, 3 us waited, 4 us in the all_reduce.
    assert "  of that              3 us waiting for other ranks, 4 us communicating\n" in done.stdout
    assert "steps                  1, 9 us on average" in done.stdout
    (call,) = rows(folder / "collectives.csv")
    assert (call["kind"], call["ranks"], call["size_bytes"], call["algorithm"]) == ("all_reduce", "2", "2000", "ring")
    assert (call["wait_ps"], call["time_ps"], float(call["busbw"])) == ("3000000", "4000000", 0.5e9)
    assert call["regime"] == "bandwidth"  # 4 us is twice the 2 us of two latencies
    path = rows(folder / "critical_path.csv")
    assert [(each["what"], each["from_rank"]) for each in path] == [("compute", "1"), ("all_reduce", "1")]
    ranks = rows(folder / "ranks.csv")
    assert [each["waited_ps"] for each in ranks] == ["3000000", "0"]
    used = rows(folder / "link_use.csv")
    assert sum(int(each["busy_ps"]) for each in used) == 4_000_000  # 2 links, 2 messages of 1 us each

    from pyarrow import parquet

    columns = parquet.read_table(folder / "ranks.parquet").to_pydict()
    assert columns["caused_wait_ps"] == [0, 3_000_000]

    content = json.loads((folder / "prediction.json").read_text())
    assert (content["format"], content["version"]) == ("hocket.prediction", 2)
    assert content["critical_path"]["parts_ps"] == {"compute": 5_000_000, "all_reduce": 4_000_000}
    assert content["ranks"]["slack_ps"] == [3_000_000, 0]
    assert content["steps"] == {"step": [1], "start_ps": [0], "finish_ps": [9_000_000], "time_ps": [9_000_000]}
    assert content["groups"]["count"] == [1]
    assert content["collectives"][0]["latency_ps"] == 2_000_000


def test_the_bound_has_tables_without_a_critical_path(traces: Path, tmp_path: Path) -> None:
    done = hocket(traces, "--topology", PAIR, "--model", "bound", "--tables", tmp_path / "tables")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "tables" / "critical_path.csv").exists()
    assert json.loads((tmp_path / "tables" / "prediction.json").read_text())["critical_path"] is None


def test_algorithms_that_cannot_are_left_out_where_others_can(tmp_path: Path) -> None:
    sizes = ["all_to_all", "--size", "1KiB..4KiB", "--topology", PAIR]
    done = hocket(*sizes, "--algorithm", "ring", "--algorithm", "direct", "--algorithm", "pairwise")
    assert done.returncode == 0, done.stderr
    assert "note: skipped: " in done.stderr and "ring does" in done.stderr
    assert "all_to_all on ring:2,bandwidth=1GB/s,latency=1us, direct" in done.stdout
    assert hocket(*sizes, "--algorithm", "ring").returncode == 3
    assert hocket(*sizes, "--algorithm", "rign", "--algorithm", "direct").returncode == 3


def test_the_page_of_sizes_says_what_the_terminal_says(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    other = "ring:2,bandwidth=4GB/s,latency=4us"
    arguments = ["all_reduce", "--size", "1000..64000:4", "--algorithm", "ring", "--topology", PAIR]
    done = hocket(*arguments, "--topology", other, "--report", page)
    assert done.returncode == 0, done.stderr
    for sentence in ("alpha + beta * size: 2 us + size / 1 GB/s", "crossover at 7.812 KiB: below it ring on ring:2"):
        assert sentence in done.stdout and sentence in page.read_text()


def test_parquet_without_pyarrow_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HocketError, match=r"pip install 'pyarrow"):
        write_parquet(tmp_path / "table.parquet", {})
    prediction = simulate_collective(Collective(Kind.ALL_REDUCE, 2, 8), load(PAIR))
    with pytest.raises(HocketError, match=r"pip install 'pyarrow"):
        write_tables(prediction, tmp_path / "tables", parquet=True)
    assert not list(tmp_path.iterdir())


def test_the_floor_is_of_no_bytes_whatever_sizes_are_asked_for() -> None:
    """Large calls are of more messages, which take their time without bytes, too."""
    program = Path(__file__).parents[2] / "data" / "msccl_xml" / "all_reduce_all_pairs_4.xml"
    for what in (["all_reduce", "--algorithm", "nccl:ring/ll"], [program]):
        floors = set()
        for sizes in ("1KiB..2KiB", "32MiB..64MiB"):
            done = hocket(*what, "-t", "dgx-h100:gpus=4", "-s", sizes)
            floors.add(re.search("floor .* without any bytes", done.stdout)[0])
        assert len(floors) == 1


def test_curves_of_a_single_size_are_put_in_order() -> None:
    algorithms = [word for name in ("ring", "direct", "chain") for word in ("--algorithm", name)]
    done = hocket("all_reduce", "-s", "1KiB", "-t", "ring:4,bandwidth=1GB/s,latency=1us", *algorithms)
    last = done.stdout.splitlines()[-1]
    assert "crossover" not in done.stdout
    times = [float(time) for time in re.findall(r" ([\d.]+) us", last)]
    assert last.startswith("from the fastest at 1 KiB: ") and len(times) == 3 and times == sorted(times)


def test_sizes_are_printed_like_nccl_tests_with_their_knee(tmp_path: Path) -> None:
    out, table = tmp_path / "sizes.json", tmp_path / "sizes.csv"
    other = "ring:2,bandwidth=4GB/s,latency=4us"
    arguments = ["all_reduce", "--size", "1000..64000:4", "--algorithm", "ring"]
    done = hocket(*arguments, "--topology", PAIR, "--topology", other, "--json", out, "--csv", table)
    assert done.returncode == 0, done.stderr
    # Two steps of 1 us and half the bytes at 1 GB/s: 2 us + size / 1 GB/s, twice the floor at 2000 B.
    assert "floor 2 us without any bytes; knee, where the time is twice that: 1.953 KiB" in done.stdout
    assert "alpha + beta * size: 2 us + size / 1 GB/s, off by at most 0.0%" in done.stdout
    # The other: 8 us + size / 4 GB/s. They meet where 2000 + s = 8000 + s / 4 ns: at 8000 B.
    assert "crossover at 7.812 KiB" in done.stdout
    content = json.loads(out.read_text())
    assert content["format"] == "hocket.curves"
    assert [curve["knee_bytes"] for curve in content["curves"]] == [2_000, 32_000]
    first = content["curves"][0]["rows"]
    assert first["time_ps"] == [3_000_000, 6_000_000, 18_000_000, 66_000_000]
    assert first["regime"] == ["latency", "bandwidth", "bandwidth", "bandwidth"]
    assert [each["size_bytes"] for each in rows(table)] == ["1000", "4000", "16000", "64000"] * 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["all_reduce", "--size", "4KiB..1KiB"], 2, "expected"),
        (["all_reduce", "--size", "1KiB..4KiB", "--tables", "t"], 2, "--csv"),
        (["all_reduce", "--size", "1KiB", "--parquet"], 2, "--tables"),
        (["all_reduce", "--size", "1KiB", "--csv", "rows.csv"], 2, "--csv"),
        (["all_reduce", "--size", "1KiB..4KiB", "--algorithm", "magic"], 3, "magic"),
        (["all_reduce", "--size", "1KiB", "--topology", PAIR, "--tables", "t"], 2, "one --topology"),
        (["all_reduce", "--size", "1KiB", "--timeline", "t.perfetto"], 2, "name it FILE.json or FILE.json.gz"),
        (["all_reduce", "--size", "1KiB", "--json", "t.json.gz", "--timeline", "./t.json.gz"], 2, "are both t.json.gz"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(
    arguments: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where one that is not refused would write
    done = hocket(*arguments, "--topology", PAIR)
    assert done.returncode == code, done.stdout
    assert message in done.stderr
