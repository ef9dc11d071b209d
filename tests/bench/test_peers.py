"""`hocket bench peers`: the cases, their targets, and what is kept."""

import json
import sys
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.api.bench.request import PeersBench
from hocket.bench.peers.case import Case, Figures, Outcome, Target
from hocket.bench.peers.cases import tacos_cases
from hocket.bench.peers.fresh_process import Limits
from hocket.bench.peers.graphs import network_of
from hocket.bench.peers.grid import recorded_times
from hocket.bench.peers.recorded import topology_of
from hocket.bench.peers.run import Results
from hocket.schedule import Collective, Kind, lower_bound

hocket = partial(in_process.hocket, "bench", "peers")


@pytest.mark.parametrize(
    ("spec", "topology"),
    [
        ("mesh:10x10:bw=100:lat=1", "mesh:10x10,bandwidth=100GiB/s,latency=1us"),
        ("fc:64", "fully_connected:64,bandwidth=50GiB/s,latency=500ns"),
        ("dragonfly:4x5:bw=400,200", "dragonfly:4x5,bandwidth=400/200GiB/s,latency=500ns"),
        (
            "rfs:2x4x8:bw=200,100,50:sw=2",
            "ring:2xfully_connected:4xunwound_switch:8,bandwidth=200/100/50GiB/s,latency=500ns,degree=2",
        ),
        ("rfs:2x4x8:bw=200,100,50:sw=bi", "ring:2xfully_connected:4xring:8,bandwidth=200/100/25GiB/s,latency=500ns"),
        ("rfs:2x4x1:bw=200,100,50", "ring:2xfully_connected:4,bandwidth=200/100GiB/s,latency=500ns"),
        ("grid:8x4:kind=B,B:bw=300,25", "ring:8xring:4,bandwidth=150/12.5GiB/s,latency=500ns"),
        (
            "grid:8x4:kind=S7,S3:bw=300,25",
            "unwound_switch:8xunwound_switch:4,bandwidth=300/25GiB/s,latency=500ns,degree=7/3",
        ),
        ("file:r_64_6_3_25_50_100_200_1.csv", "recorded 64 6 3 25,50,100,200 1"),
    ],
)
def test_recorded_networks_have_our_names(spec: str, topology: str) -> None:
    assert topology_of(spec) == (topology, ())


def test_failed_npus_are_left_out() -> None:
    topology, gone = topology_of("mesh:4x4:drop=7,9")
    assert gone == ("npu:7", "npu:9")
    assert network_of(Case(Kind.ALL_GATHER, topology, 1, 1, Target(), without=gone)).num_ranks == 14


@pytest.mark.shared
def test_every_recorded_case_is_there(shared: Path) -> None:
    cases = tacos_cases(shared / "tacos")
    names = [case.name for case in cases]
    assert len(names) == len(set(names))
    # TACOS's own 12 values, 90 rows of all_gather (of which some stand in other files too), 14 all_reduces, 10 linear
    # programs, 3 of known loads and 9 of 512 ranks, and what has no file
    assert sum(case.kind is Kind.ALL_REDUCE for case in cases) == 14
    assert sum(case.kind is Kind.ALL_TO_ALL for case in cases) == 10 + 3 + 9
    assert len(cases) > 190


@pytest.mark.shared
def test_recorded_cases_are_the_problems_that_were_recorded(shared: Path) -> None:
    """Ranks and chunks are those of the network; and no target is below a bound of ours."""
    for case in tacos_cases(shared / "tacos"):
        if case.sharing is not None or case.size_bytes // case.chunks > 2**32 or "000" in case.topology.split(",")[0]:
            continue
        topology = network_of(case)
        if topology.num_ranks > 130:
            continue
        collective = Collective(case.kind, topology.num_ranks, case.size_bytes, case.chunks)
        assert len(set(collective.chunk_bytes.tolist())) == 1, case.name
        bound = lower_bound(collective, topology, blocking=True)
        if case.target.time_us is not None:
            assert bound.time_ps / 10**6 <= case.target.time_us * (1 + 2e-6), case.name


def test_recorded_random_graph_has_its_published_bound() -> None:
    topology = network_of(Case(Kind.ALL_GATHER, "recorded 64 8 4 25,100,400 1", 2**30, 4, Target()))
    assert (topology.num_ranks, topology.num_links) == (64, 64 * 8)
    bound = lower_bound(Collective(Kind.ALL_GATHER, 64, 2**30, 4), topology, blocking=True)
    assert round(bound.time_ps / 10**6, 1) == 2136.4


def test_shortfalls() -> None:
    outcome = Outcome("x", time_ps=10_000_000, bound_ps=9_000_000, search_seconds=2, cpu_seconds=1, peak_bytes=5)
    assert outcome.shortfalls(Target(10.0, 1.2, seconds=1.0, peak_bytes=5)) == []
    assert outcome.shortfalls(Target(9.9, 1.1, seconds=0.9, peak_bytes=4)) == ["time", "ratio", "seconds", "memory"]
    assert Outcome("x", error="no engine").shortfalls(Target()) == ["no engine"]


def test_measures_what_it_says_and_keeps_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    arguments = [
        "--data",
        str(tmp_path),
        "--case",
        "*dgx-1* chunks=2",
        "--case",
        "*6x6* in*bands* chunks=1*",
        "--json",
        str(kept),
    ]
    first = hocket(*arguments)
    assert first.returncode in (0, 1), first.stderr
    content = json.loads(kept.read_text())
    assert PeersBench.from_plain(content["request"], "kept.json").case == (arguments[3], arguments[5])
    measured, *bands = content["results"]
    # 5 x 1250.7 us is the bound: 14 chunks over links that take 5, 5, 2 and 2 in that time
    assert measured["outcome"]["bound_ps"] == 6_253_500_000
    assert measured["outcome"]["time_ps"] >= 6_253_500_000
    assert measured["outcome"]["peak_bytes"] > 10**7
    # Bands of 2x6 ranks: 5 hops along the band and one across, each of a twelfth of 1 GiB over 50 GiB/s and 0.5 us.
    assert len(bands) == 2
    assert {round(band["outcome"]["time_ps"] / 10**6, 2) for band in bands} == {round(6 * (10**6 / 50 / 12 + 0.5), 2)}
    measured["outcome"]["engine"] = "kept"
    # The results alone are a file of earlier releases.
    for earlier in ({**content, "results": [measured]}, [measured]):
        kept.write_text(json.dumps(earlier))
        assert "kept" in hocket(*arguments).stdout


def test_bad_input(tmp_path: Path) -> None:
    assert hocket("--case", "nothing").returncode == 2
    assert "--only nccl: no such choice" in hocket("--only", "nccl").stderr
    (tmp_path / "bad.json").write_text("[{}]")
    bad = hocket("--data", str(tmp_path), "--json", str(tmp_path / "bad.json"))
    assert bad.returncode == 3
    assert "not results of `hocket bench peers`" in bad.stderr


def test_a_driver_runs_beside(tmp_path: Path) -> None:
    driver = tmp_path / "driver"
    driver.write_text(f"#!{sys.executable}\nimport sys\nprint(sum(1 for _ in open(sys.argv[1])), sys.argv[2])\n")
    driver.chmod(0o755)
    case = Case(Kind.ALL_GATHER, "ring:4,bandwidth=50GiB/s,latency=500ns", 4096, 2, Target())
    (result,) = Results(None, {}).run([case], Limits(300, 2**33), driver)
    assert result.beside == Figures(8.0, 2.0, claimed=True)  # 8 links, 2 chunks


@pytest.mark.shared
def test_recorded_times_of_the_grid(shared: Path) -> None:
    """TACOS' best causal execution of any number of chunks, and ForestColl's optimum."""
    times = recorded_times(shared / "tacos")["dragonfly:4x5,bandwidth=400/200GiB/s,latency=500ns"]
    assert times == {"TACOS": 1088.6874, "ForestColl": 1000.0}


def test_the_grid_is_measured_kept_and_gone_on_with(tmp_path: Path) -> None:
    kept = tmp_path / "grid.json"
    arguments = [
        "--grid",
        "--json",
        str(kept),
        "--data",
        str(tmp_path),
        "--case",
        "all_gather fully_connected:8,* 1 MiB",
    ]
    arguments += ["--case", "all_gather fully_connected:8,* 1 MiB", "--case", "broadcast dgx-h100 1 MiB"]
    first = hocket(*arguments)
    assert first.returncode == 0, first.stderr
    assert "2 of 2 cases: " in first.stdout
    content = json.loads(kept.read_text())
    gather, broadcast = content["results"]
    # Seven links into each rank carry a share of 128 KiB each: 500,000 ps + 131,072 / (50 x 2^30) s, rounded up
    assert gather["bound_ps"] <= gather["time_ps"] == 500_000 + -(-131_072 * 10**12 // (50 * 2**30))
    assert gather["nccl"] == "" and broadcast["nccl_ps"] > broadcast["time_ps"] >= broadcast["bound_ps"] > 0
    gather["engine"], broadcast["error"], broadcast["native_ps"] = "kept", "interrupted", 1
    kept.write_text(json.dumps(content))
    assert hocket(*arguments).returncode == 0
    gather, again = json.loads(kept.read_text())["results"]
    assert gather["engine"] == "kept"
    assert (again["error"], again["native_ps"] > 1) == ("", True)


def test_the_grid_lists_its_cases(tmp_path: Path) -> None:
    listed = hocket("--grid", "--list").stdout.splitlines()
    assert len(listed) == len(set(listed)) == 12 * 5 * 6
    assert hocket("--grid", "--case", "nothing").returncode == 2
    (tmp_path / "bad.json").write_text("[]")
    assert "not results of `hocket bench peers --grid`" in hocket("--grid", "--json", str(tmp_path / "bad.json")).stderr
