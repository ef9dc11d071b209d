"""Schedules for what is no interpreter: ASTRA-sim's graphs, tables, NCCL's graph files."""

import csv
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, Schedule, retime, save
from hocket.schedule.algorithms import build
from hocket.simulator import simulate_schedule
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import nccl_graph, rings, transfer_table

MIB = 1 << 20
RING = "ring:8,bandwidth=50GiB/s,latency=500ns"


def astra_sim_ns(schedule: Schedule, folder: Path, network: str) -> int:
    """What ASTRA-sim's congestion-aware backend would say of the schedule as a custom collective."""
    save(schedule, folder / "a.schedule")
    done = hocket("translate", folder / "a.schedule", "--to", "chakra", "-o", folder / "algorithm")
    assert done.returncode == 0, done.stderr
    kind, size = schedule.collective.kind, schedule.collective.size_bytes
    made = hocket("generate", "collective", kind, "--ranks", 8, "--size", size, "-o", folder / "job")
    assert made.returncode == 0, made.stderr
    (folder / "network.yml").write_text(network)
    system = {"scheduling-policy": "FIFO", "preferred-dataset-splits": 1, "local-mem-bw": 50}
    system[f"{kind.replace('_', '-')}-implementation-custom"] = [str(folder / "algorithm")]
    (folder / "system.json").write_text(json.dumps(system))
    files = ("--network", folder / "network.yml", "--system", folder / "system.json", "--json", folder / "out.json")
    run = hocket("simulate", folder / "job", "--compat", "astra-sim", "--model", "congestion", *files)
    assert run.returncode == 0, run.stderr
    return max(json.loads((folder / "out.json").read_text())["finish_ns"].values())


@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE])
def test_astra_sim_times_a_ring_as_we_do(kind: Kind, tmp_path: Path) -> None:
    schedule = retime(build("ring", Collective(kind, 8, 8 * MIB), load(RING)))
    network = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
    steps = 14 if kind is Kind.ALL_REDUCE else 7
    theirs = astra_sim_ns(schedule, tmp_path, network)
    # every step: 1 MiB at 50 GiB/s and 500 ns, in whole nanoseconds there
    assert theirs == pytest.approx(steps * (MIB / (50 * 2**30) * 1e9 + 500), abs=steps)
    assert simulate_schedule(schedule).time_ps == pytest.approx(theirs * 1000, rel=1e-3)


def test_astra_sim_times_a_synthesized_schedule_as_we_do(tmp_path: Path) -> None:
    schedule = synthesize(Collective(Kind.ALL_GATHER, 8, 64 * MIB, 2), load(RING))
    network = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
    assert astra_sim_ns(schedule, tmp_path, network) * 1000 == pytest.approx(schedule.time_ps, rel=2e-3)


def test_a_table_has_every_transfer(tmp_path: Path) -> None:
    schedule = synthesize(Collective(Kind.ALL_REDUCE, 4, 4 * MIB), load("mesh:2x2,bandwidth=50GB/s,latency=500ns"))
    save(schedule, tmp_path / "a.schedule")
    for name in ("a.csv", "a.json"):
        done = hocket("translate", tmp_path / "a.schedule", "--to", "table", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    table = transfer_table(schedule)
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == schedule.num_transfers
    assert [int(row["start_ps"]) for row in rows] == table["start_ps"].tolist()
    assert sum(int(row["reduce"]) for row in rows) == int(schedule.reduce.sum())
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["time_ps"] == schedule.time_ps
    assert content["transfers"]["chunk"] == schedule.chunk.tolist()
    wrong = hocket("translate", tmp_path / "a.schedule", "--to", "table", "-o", tmp_path / "a.txt")
    assert wrong.returncode == 2
    assert ".csv or a .json" in wrong.stderr


def test_rings_become_a_graph_file(tmp_path: Path) -> None:
    topology = load("switch:4,bandwidth=100GB/s,latency=500ns")
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, 4 * MIB), topology)
    assert rings(schedule) == [(0, 1, 2, 3)]
    graph = ElementTree.fromstring(nccl_graph(schedule))
    (one,) = graph.findall("graph")
    assert (one.get("id"), one.get("pattern"), one.get("nchannels"), one.get("speedintra")) == ("0", "4", "1", "100")
    assert [gpu.get("dev") for gpu in one.iter("gpu")] == ["0", "0x1", "0x2", "0x3"]  # NCCL reads base 16
    save(retime(schedule), tmp_path / "a.schedule")
    done = hocket("translate", tmp_path / "a.schedule", "--to", "nccl-graph", "-o", tmp_path / "rings.xml")
    assert done.returncode == 0, done.stderr
    assert "NCCL_GRAPH_FILE=" in done.stdout


def test_what_is_no_ring_is_refused() -> None:
    # on a full graph each chunk goes straight to everybody
    full = load("fully_connected:5,bandwidth=9GB/s,latency=1us")
    with pytest.raises(ScheduleError, match=r"chunk 0 does not go round a ring of all 5 ranks"):
        rings(build("direct", Collective(Kind.ALL_GATHER, 5, 10 * MIB), full))


def test_what_has_no_rings_is_refused() -> None:
    topology = load("switch:4,bandwidth=100GB/s,latency=500ns")
    with pytest.raises(ScheduleError, match="all_to_all has no rings"):
        rings(build("direct", Collective(Kind.ALL_TO_ALL, 4, 4 * MIB), topology))
    two = load("dgx-a100:nodes=2")
    with pytest.raises(ScheduleError, match="between machines"):
        nccl_graph(build("ring", Collective(Kind.ALL_REDUCE, 16, 16 * MIB), two))


def test_a_program_is_written_as_what_it_does_on_a_topology(tmp_path: Path) -> None:
    schedule = retime(build("ring", Collective(Kind.ALL_REDUCE, 8, 8 * MIB), load(RING)))
    save(schedule, tmp_path / "ring.schedule")
    assert hocket("translate", tmp_path / "ring.schedule", "--to", "executor", "-o", tmp_path / "r.xml").returncode == 0
    on = ("--topology", RING, "--size", "8MiB")
    for target, name in (
        ("table", "t.csv"),
        ("chakra", "graph"),
        ("schedule", "again.schedule"),
        ("mscclpp", "p.json"),
    ):
        done = hocket("translate", tmp_path / "r.xml", "--to", target, "-o", tmp_path / name, *on)
        assert done.returncode == 0, done.stderr
    with (tmp_path / "t.csv").open() as table:
        assert len(list(csv.DictReader(table))) == 8 * 14
    assert len(list(tmp_path.glob("graph.*.et"))) == 8
    verified = hocket("verify", tmp_path / "again.schedule")
    assert "proved: 112 transfers" in verified.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("r.xml", "--to", "table", "-o", "t.csv"), "names no links and bytes: give --topology and --size"),
        (("r.xml", "--to", "rccl", "-o", "b.xml", "--size", "1MiB"), "keeps the program: drop --size"),
        (("r.schedule", "--to", "table", "-o", "t.csv", "--size", "1MiB"), "has a topology, size and root"),
    ],
)
def test_what_a_file_says_itself_is_not_asked_for(arguments: tuple[str, ...], expected: str, tmp_path: Path) -> None:
    for name in ("r.xml", "r.schedule"):
        (tmp_path / name).write_text("never read")
    done = hocket("translate", *(tmp_path / each if "." in each else each for each in arguments))
    assert done.returncode == 2
    assert expected in " ".join(done.stderr.split())
