"""`hocket traffic` as a user runs it."""

import csv
import json
import re
from functools import partial
from pathlib import Path

import in_process
import pytest

import hocket

command = partial(in_process.hocket, "traffic")
NODES = "node:accelerators=2,link=pcie4x16,nodes=2"
SHORT = ("--duration", "20us", "--packets", "header=64,pcie=pcie4x16")


def test_loads_leave_a_table_rows_a_file_and_a_page(tmp_path: Path) -> None:
    rows, content, page = (tmp_path / name for name in ("rows.csv", "points.json", "page.html"))
    done = command("C1", "-t", NODES, "--load", "20%,100%", *SHORT, "--csv", rows, "--json", content, "--report", page)
    assert done.returncode == 0, done.stderr
    assert "seed 0" in done.stdout
    assert "where the time of messages between nodes goes" in done.stdout
    assert "\nsaturation " in done.stdout
    assert "load 20%: " in done.stderr
    found = json.loads(content.read_text())
    assert found["format"] == "hocket.traffic"
    assert found["setup"]["seed"] == 0
    assert [point["load"] for point in found["points"]] == [0.2, 1.0]
    for point in found["points"]:
        assert {*point["latency"]["inter"]} == {"messages", "mean_ps", "p50_ps", "p99_ps", "p99.9_ps", "most_ps"}
        parts = [point["stages"][name]["mean_ps"] for name in point["stages"]]
        assert len(parts) == 7
        assert sum(parts) == pytest.approx(point["latency"]["inter"]["mean_ps"])
        busy = point["utilisation"]["classes"]["pcie"]
        assert 0 < max(busy) <= 1
    with rows.open() as file:
        written = [*csv.DictReader(file)]
    assert [float(row["load"]) for row in written] == [0.2, 1.0]
    assert float(written[1]["throughput"]) == found["points"][1]["throughput"]
    html = page.read_text()
    for title in ("Throughput", "Latency", "Where the time between nodes goes", "Links and queues", "Provenance"):
        assert title in html


def test_links_between_nodes_count_whatever_their_class(tmp_path: Path) -> None:
    both, found = "latency: 1us, bandwidth: 50GB/s, both: true", []
    for link_class in ("trunk", "fabric"):
        file, content = tmp_path / f"{link_class}.yaml", tmp_path / f"{link_class}.json"
        joined = f"- {{from: 0, to: 2, {both}}}\n- {{from: 1, to: 2, {both}, class: {link_class}}}\n"
        file.write_text(f"ranks: 2\nswitches: 1\nmachine: [0, 1]\nlinks:\n{joined}")
        done = command("uniform", "-t", file, "--load", "10%", "--duration", "50us", "--json", content)
        assert done.returncode == 0, done.stderr
        (point,) = json.loads(content.read_text())["points"]
        found.append({name: stage["mean_ps"] for name, stage in point["stages"].items()})
    # Under `trunk` the switch is of neither node, so that both links are between them; under `fabric` the first is not.
    assert found[0]["inter-node network"] > 2_000_000
    assert 1_000_000 < found[1]["inter-node network"] < found[0]["inter-node network"]
    assert found[0]["destination intra-node network"] == 0


def test_seeds_change_what_is_random_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    asked = partial(hocket.traffic, "uniform", NODES, load="50%", duration="20us")
    first, again, other = asked(), asked(seed=0), asked(seed=1)
    assert first.summary() == again.summary() != other.summary()
    assert first.sweep.points[0].throughput == pytest.approx(other.sweep.points[0].throughput, rel=0.2)


def test_windows_in_place_of_loads() -> None:
    done = command(
        "permutation", "-t", "ring:4,bandwidth=50GB/s,latency=500ns", "--window", "1,4", "--duration", "20us"
    )
    assert done.returncode == 0, done.stderr
    assert "messages of each under way" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("C9", "-t", NODES), "there is no pattern of traffic 'C9'"),
        (("C1", "-t", NODES, "--load", "120%"), "load '120%': expected more than 0 %"),
        (("C1", "-t", NODES, "--load", "50%", "--window", "2"), "drop one"),
        (("C1", "-t", NODES, "--window", "none"), "expected numbers of messages"),
        (("C1", "-t", NODES, "--warm-up", "1ms"), "the warm-up takes all of the time"),
        (("C1", "-t", NODES, "--packets", "nvlink=nvlink4"), "the classes of links of"),
    ],
)
def test_what_makes_no_sense(arguments: tuple[str, ...], says: str) -> None:
    done = command(*arguments)
    assert done.returncode != 0
    assert says in done.stderr.replace("\n", " ")


def test_a_network_that_is_saturated_at_every_load_gets_lower_ones() -> None:
    done = command("uniform", "-t", "dgx-h100:nodes=2,gpus=2", "--load", "60%,80%", "--duration", "20us")
    assert done.returncode == 0, done.stderr
    assert re.search(r"at or below 60% of the load, .*; try lower loads, such as --load \d+%\.\.\d+%", done.stdout)
