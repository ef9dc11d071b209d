"""`hocket topology` from outside."""

import json
import re
from functools import partial
from pathlib import Path

import in_process
import pytest

hocket = partial(in_process.hocket, "topology")


def test_show_prints_and_writes_the_facts(tmp_path: Path) -> None:
    result = hocket("show", "mesh:4x4,bandwidth=50GB/s,latency=500ns", "--json", str(tmp_path / "facts.json"))
    assert result.returncode == 0, result.stderr
    # corner to corner 6 hops x 500 ns; a corner takes in 2 x 50 GB/s, so 15 ranks' data enter it at 100 GB/s
    assert "latency diameter     3 us" in result.stdout
    assert "15 ranks send 100 GB/s in all to the rest" in result.stdout
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["diameter_ps"] == 6 * 500_000
    assert facts["cut"] == [15, 100 * 10**9]
    # a dimension, which is a class of links, has 4 lines of 3 pairs, a link each way
    link = {"count": 4 * 3 * 2, "latency_ps": 500_000, "bandwidth": 50 * 10**9}
    assert facts["links"] == [{**link, "link_class": "0"}, {**link, "link_class": "1"}]
    assert facts["all_gather_bandwidth"] == 16 * 100 * 10**9 // 15


def test_save_then_check(tmp_path: Path) -> None:
    path = str(tmp_path / "cluster.yaml")
    assert hocket("save", "dgx-a100:nodes=2,gpus=2", "-o", path).returncode == 0
    result = hocket("check", path)
    assert result.returncode == 0
    assert result.stdout == "ok: dgx-a100:nodes=2,gpus=2: 4 ranks, 28 links, all ranks connected\n"


def test_a_failed_check_and_bad_input_have_their_exit_codes(tmp_path: Path) -> None:
    path = tmp_path / "apart.yaml"
    path.write_text("ranks: 3\nlinks: [{from: 0, to: 1, latency: 1us, bandwidth: 1GB/s, both: true}]\n")
    checked, shown = hocket("check", str(path)), hocket("show", str(path))
    assert (checked.returncode, shown.returncode) == (1, 3)
    assert checked.stderr == f"failed: {path}: rank 0 cannot reach rank 2: add links that connect them\n"
    assert shown.stderr == f"error: {path}: rank 0 cannot reach rank 2: add links that connect them\n"


@pytest.mark.shared
def test_a_note_about_units_is_printed(shared: Path) -> None:
    result = hocket("show", str(shared / "astra_sim/inputs/rt_template/network.yml"))
    assert result.returncode == 0
    assert "note: ASTRA-sim network file: its GB/s was read as 2^30 bytes/s" in result.stdout


@pytest.mark.parametrize("command", [[], ["show"], ["save"], ["check"], ["routes"]])
def test_help_shows_an_example(command: list[str]) -> None:
    result = hocket(*command, "--help")
    assert result.returncode == 0
    assert re.search(r"  Examples?:\n    hocket topology \w+ ", result.stdout)
