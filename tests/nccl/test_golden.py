"""NCCL 2.30.7's own answers, measured by others: channels, terms, every choice, every time."""

import csv
from pathlib import Path

import pytest
from in_process import hocket

from hocket.nccl import COLLECTIVES, NcclModel
from hocket.topology.formats.nccl.read import read_nccl_topology

CASES = [
    *[f"dgx_a100_{nodes}n" for nodes in (1, 2, 8, 16)],
    *[f"dgx_h100_{nodes}n" for nodes in (1, 2, 4, 16)],
    *[f"dgx_b200_{nodes}n" for nodes in (1, 4, 8)],
    "h100_nonic_1n",
]


def topology(shared: Path, case: str) -> Path:
    return shared / "nccl_topology" / "generated" / f"{case.rpartition('_')[0]}.xml"


def golden(shared: Path, case: str) -> list[dict[str, str]]:
    with open(shared / "nccl_model" / f"choice_{case}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.shared
@pytest.mark.parametrize("case", CASES)
def test_channels_terms_and_choices(shared: Path, case: str) -> None:
    model = NcclModel(read_nccl_topology(topology(shared, case)), int(case.rpartition("_")[2][:-1]))
    lines = (shared / "nccl_model" / f"model_{case}.txt").read_text(encoding="utf-8").splitlines()
    said = [
        f"pattern {graph['pattern']} crossNic {graph['cross_nic']} nChannels {graph['channels']}"
        f" bw {graph['intra']:g}/{graph['inter']:g} type {graph['type_intra']}/{graph['type_inter']}"
        f" same {int(graph['same_channels'])} lat {graph['latency']:g}"
        for graph in model.graphs.values()
    ]
    assert said == [line.partition(" pattern ")[1][1:] + line.partition(" pattern ")[2] for line in lines[:3]]
    assert model.channels[0] == int(lines[3].split()[2])
    of_nvls = int(lines[3].split()[5])
    # The answers are of a build that was not told how fast the NICs are: NCCL itself takes 24 (test_runs.py).
    tuned = case in ("dgx_b200_4n", "dgx_b200_8n")
    assert model.channels[1] == (24 if tuned else of_nvls)
    expected = {
        tuple(words[1:4]): (float(words[5]), float(words[7]))
        for words in (line.split() for line in lines if line.startswith("T "))
    }
    terms = {
        (collective, term.algorithm, term.protocol): (term.latency_us, term.bandwidth)
        for collective in COLLECTIVES
        for term in model.terms(collective, 8)
        if not term.out
    }
    assert terms.keys() == expected.keys()
    for key, numbers in expected.items():
        assert terms[key] == pytest.approx(numbers, abs=0.0051), key  # they were printed with two digits
    rows = golden(shared, case)
    for collective in COLLECTIVES:
        own = [row for row in rows if row["coll"] == collective]
        choices = model.choose(collective, [int(row["bytes"]) for row in own])
        assert [choices.name(at) for at in range(len(own))] == [f"{row['algo']}/{row['proto']}" for row in own]
        told = [24 if tuned and row["algo"] == "NVLSTree" else int(row["nchannels"]) for row in own]
        assert choices.channels.tolist() == told
        assert choices.warps.tolist() == [int(row["nwarps"]) for row in own]
        times = [float(row["time_us"]) for row in own]
        assert choices.time_us.tolist() == pytest.approx(times, rel=1e-3)


@pytest.mark.shared
def test_the_command_writes_the_golden_columns(shared: Path, tmp_path: Path) -> None:
    output = tmp_path / "choices.csv"
    machine = ["--topology", topology(shared, "dgx_h100_2n"), "--nodes", "2"]
    done = hocket("nccl", "choose", *machine, "--min", "8", "--max", "16GiB", "--csv", output, "--why")
    assert done.returncode == 0, done.stderr
    with open(output, encoding="utf-8") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == ["coll", "bytes", "algo", "proto", "time_us", "nchannels", "launched"]
        rows = list(reader)
    golden_rows = golden(shared, "dgx_h100_2n")
    assert [{key: row[key] for key in row if key != "launched"} for row in rows] == [
        {key: row[key] for key in rows[0] if key != "launched"} for row in golden_rows
    ]  # every digit
    assert {int(row["launched"]) for row in rows} <= set(range(1, 17))
    # AllReduce, NVLSTree at 2 MiB: 66.80 us + 2^21 / 246.19 GB/s = 75.32 us; NVLS over machines needs SHARP
    assert "NVLSTree/Simple             66.80    246.19        75.32  chosen" in done.stdout
    assert "needs CollNet (SHARP)" in done.stdout
