"""`hocket nccl choose` on AMD's machines: RCCL's choices."""

import csv
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.errors import ExitCode


def test_what_rccl_takes_on_a_node_and_on_two(tmp_path: Path) -> None:
    path = tmp_path / "choices.csv"
    one = hocket("nccl", "choose", "-t", "mi300x", "--csv", path)
    assert one.returncode == ExitCode.DONE, one.stderr
    assert "mi300x: 1 node, 8 ranks, RCCL 2.28.3" in one.stdout
    assert "28 channels: 12 GB/s each over XGMI" in one.stdout and "NVL" not in one.stdout
    rows = {(row["coll"], int(row["bytes"])): row for row in csv.DictReader(path.read_text().splitlines())}
    large = rows["AllReduce", 1 << 30]
    assert (large["algo"], large["proto"], large["nchannels"], large["time_us"]) == ("Ring", "Simple", "56", "5638.80")
    direct = rows["AllGather", 1 << 20]
    assert (direct["algo"], direct["time_us"]) == ("Direct", "")
    two = hocket("nccl", "choose", "-t", "mi300x", "--nodes", 2, "-c", "all_reduce", "--why").stdout
    assert "2 nodes, 16 ranks" in two and "Tree/LL128" in two and "chosen" in two


def test_a_rule_that_overrides_the_cheapest_is_said() -> None:
    said = hocket("nccl", "choose", "-t", "mi300x", "--nodes", 2, "-c", "all_gather", "--why").stdout
    assert "Direct/Simple and not Ring/LL, the quickest by its times, by a rule: AllGather up to 4 MiB" in said
    assert "chosen, by a rule" in said and "quicker by" in said


@pytest.mark.parametrize("spec", ["mi250", "mi300x:gpus=4"])
def test_machines_that_are_not_modelled_say_what_to_do(spec: str) -> None:
    done = hocket("nccl", "choose", "-t", spec)
    assert done.returncode == ExitCode.BAD_INPUT
    assert "`hocket nccl run-stock` runs RCCL itself" in " ".join(done.stderr.split())


def test_the_commands_that_are_of_nccl_say_so(tmp_path: Path) -> None:
    log = tmp_path / "rank0.log"
    start = "node-a:400:455 [0] NCCL INFO"
    log.write_text(
        f"{start} comm 0x1 rank 0 nRanks 8 nNodes 1\n"
        f"{start} AllReduce: 1048576 Bytes -> Algo RING proto LL channel{{Lo..Hi}}={{0..7}}\n"
    )
    commands = (
        ["program", "-t", "mi300x", "-s", "1MiB", "-o", tmp_path / "p.xml"],
        ["log", log, "-t", "mi300x"],
        ["tuner", "make", "-t", "mi300x", "-o", tmp_path / "t.csv"],
    )
    for words in commands:
        done = hocket("nccl", *words)
        assert done.returncode == ExitCode.BAD_INPUT
        assert "`hocket nccl choose -t mi300x` tells RCCL's choices" in " ".join(done.stderr.split())
