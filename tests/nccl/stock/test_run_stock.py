"""NCCL's own code, run: it chooses as the model says, moves every element where it belongs, loads both plugins."""

import json
from pathlib import Path

import pytest
from in_process import hocket
from nccl_releases import CHECKOUTS, needs_nccl

from hocket.base.errors import ExitCode, FormatError
from hocket.nccl.releases import release_of
from hocket.nccl.stock.sources import read_sources
from hocket.topology.formats.nccl.write import topology_text
from hocket.topology.machines.hosts import hosts_of

pytestmark = [needs_nccl, pytest.mark.timeout(1800)]
RELEASES = pytest.mark.parametrize("source", CHECKOUTS or [Path()], ids=lambda path: path.name)


def run(source: Path, out: Path, *arguments: str) -> str:
    done = hocket("nccl", "run-stock", "--source", str(source), "-o", str(out), *arguments)
    assert done.returncode == ExitCode.DONE, done.stderr
    return done.stdout


def is_modelled(source: Path) -> bool:
    try:
        return bool(release_of(read_sources(source).name))
    except FormatError:
        return False


@RELEASES
def test_nccl_chooses_as_the_model_says(tmp_path: Path, source: Path) -> None:
    said = run(source, tmp_path / "run", "-t", "dgx-h100")
    if is_modelled(source):
        assert "156 of 156 choices as modelled, times within 0.0" in said
    assert "NVLS/Simple" in said


@RELEASES
def test_two_hosts_move_every_element_over_their_nics(tmp_path: Path, source: Path) -> None:
    said = run(source, tmp_path / "run", "-t", "dgx-h100:nodes=2,gpus=4", "--do", "move", "--max", "64KiB")
    assert "buffers checked: none wrong" in said
    assert "all_reduce" in said


@RELEASES
def test_groups_splits_types_and_operations_come_out_right(tmp_path: Path, source: Path) -> None:
    job = tmp_path / "lines"
    job.write_text(
        """
        split rows world 0 0 0 0 1 1 1 1
        group 3
        call all_reduce rows 65536 bfloat16 sum 0 1
        call all_gather rows 32768 float16 sum 0 0
        call sendrecv world 4096 int8 sum 0 0
        split odd world -1 0 -1 0 -1 0 -1 0
        call broadcast odd 8192 int32 sum 2 0
        call reduce_scatter rows 65536 int32 avg 0 1
        call all_reduce world 65536 int64 min 0 0
        call all_reduce world 65536 uint8 max 0 0
        call all_reduce world 65536 float64 prod 0 0
        call all_to_all world 65536 float32 sum 0 0
        abort odd
        destroy rows
        call all_reduce world 4194304 float32 avg 0 0
        """
    )
    said = run(source, tmp_path / "run", "-t", "dgx-h100", "--do", "move", "--job", str(job))
    assert "buffers checked: none wrong" in said


@RELEASES
def test_both_plugins_are_loaded_and_heard(tmp_path: Path, source: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("allreduce,0,1048576,tree,simple,4,-1,-1\n")
    out = tmp_path / "run"
    arguments = ["-t", "dgx-h100", "--do", "move", "-c", "all_reduce", "--min", "64KiB", "--max", "128KiB"]
    said = run(source, out, *arguments, "--profile", "--table", str(table))
    assert "Tree/Simple" in said and "none wrong" in said
    log = (out / "nccl.0.log").read_text()
    assert "hocket" in log
    shown = hocket("nccl", "profile", "show", str(out / "profile"))
    assert shown.returncode == ExitCode.DONE, shown.stderr
    rows = [line.split() for line in shown.stdout.splitlines() if "AllReduce" in line]
    assert [row[0] for row in rows] == ["65536", "131072"]
    assert all(row[4] == "TREE" and row[8] == row[9] == "8" for row in rows)  # each rank's call, timed by its kernels


@RELEASES
def test_the_table_of_a_bundle_is_obeyed(tmp_path: Path, source: Path) -> None:
    """NCCL takes the setting where the bundle leaves a size to it, and its own choice elsewhere."""
    bundle = tmp_path / "bundle"
    asked = ["synthesize", "all_reduce", "-t", "p5:nodes=2", "-s", "32MiB..128MiB:2", "--engine", "native:ring"]
    done = hocket(*asked, "--for", "executor", "-o", str(bundle))
    assert done.returncode == ExitCode.DONE and (bundle / "tuner.csv").exists(), done.stderr
    sizes = ["-c", "all_reduce", "--min", "64MiB", "--max", "128MiB"]
    said = run(source, tmp_path / "run", "-t", "p5:nodes=2", *sizes, "--table", str(bundle / "tuner.csv"))
    rows = [line.split() for line in said.splitlines() if line.startswith("all_reduce")]
    assert any("64" in row and "Ring/LL128" in row for row in rows)
    assert any("128" in row and "NVLSTree/Simple" in row for row in rows)


@RELEASES
def test_what_is_launched_is_recorded(tmp_path: Path, source: Path) -> None:
    arguments = ["-t", "dgx-h100", "-c", "all_gather", "--min", "1MiB", "--max", "1MiB", "--do", "enqueue"]
    run(source, tmp_path / "run", *arguments)
    plans = [json.loads(line) for line in (tmp_path / "run" / "plans.0.jsonl").read_text().splitlines()]
    assert sorted(plan["rank"] for plan in plans) == list(range(8))
    (work,) = plans[0]["works"]
    assert work["channels"] == [0, bin(plans[0]["channel_mask"]).count("1") - 1]


@needs_nccl
def test_a_lost_link_is_seen_by_nccl(tmp_path: Path) -> None:
    """Two hosts, of which one's first GPU has 6 of its NVLinks: NCCL's rings get slower for all."""
    text = topology_text(hosts_of("dgx-h100").machine)
    (tmp_path / "whole.xml").write_text(text)
    (tmp_path / "torn.xml").write_text(text.replace('count="18"', 'count="2"', 1).replace('count="4"', 'count="1"', 4))
    expected = []
    for name in ("whole", "torn"):
        hosts = ["--machine", str(tmp_path / "whole.xml"), "--machine", str(tmp_path / f"{name}.xml")]
        size = ["-c", "all_reduce", "--min", "1GiB", "--max", "1GiB"]
        said = run(CHECKOUTS[-1], tmp_path / name, "-t", str(tmp_path / "whole.xml"), *hosts, *size)
        (line,) = [line for line in said.splitlines() if line.startswith("all_reduce")]
        expected.append(float(line.split("expects")[1].split()[0]))
    assert expected[1] > 1.5 * expected[0]


@needs_nccl
def test_data_that_do_not_move_are_found(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["-t", "dgx-h100", "--do", "move", "-c", "all_reduce", "--min", "4KiB", "--max", "4KiB"]
    arguments += ["--set", "HOCKET_KERNELS=count", "--source", str(CHECKOUTS[-1]), "-o", str(out)]
    done = hocket("nccl", "run-stock", *arguments)
    assert done.returncode == ExitCode.CHECK_FAILED
    assert "8 buffers checked: 8192 wrong" in done.stdout


@needs_nccl
def test_a_run_that_hangs_says_where_each_host_stood(tmp_path: Path) -> None:
    """Kernels that move nothing leave the network waiting when the communicator is taken down."""
    arguments = ["-t", "dgx-h100:nodes=2,gpus=2", "--do", "move", "-c", "all_reduce", "--min", "4KiB", "--max", "4KiB"]
    arguments += ["--set", "HOCKET_KERNELS=count", "--limit", "10", "--source", str(CHECKOUTS[-1])]
    done = hocket("nccl", "run-stock", *arguments, "-o", str(tmp_path / "run"))
    assert done.returncode == 3
    assert "nothing moved for 10 s" in done.stderr
