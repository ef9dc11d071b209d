"""A real job recorded, bundled and run by its bundle: every collective, group and size has its program, or a reason."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from grouped_job import STEPS
from in_process import hocket
from test_algorithms import torchrun

pytestmark = pytest.mark.torch

JOB = Path(__file__).with_name("grouped_job.py")
# Ranks 0 and 1 are neighbours on the fast dimension, 0 and 2 on the slow one.
MESH = (
    "name: mesh\ndimensions:\n- {kind: ring, size: 2, latency: 1us, bandwidth: 50GB/s}\n"
    "- {kind: ring, size: 2, latency: 5us, bandwidth: 5GB/s}\n"
)


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of the programs of the recorded job, and the table of what was made."""
    folder = tmp_path_factory.mktemp("bundled")
    done = torchrun("-m", "hocket.collect", "--out", folder / "recorded", JOB)
    assert done.returncode == 0, done.stderr[-4000:]
    (traces,) = {path.parent for path in (folder / "recorded").rglob("trace.0.et") if not path.parent.is_symlink()}
    (folder / "mesh.yaml").write_text(MESH)
    made = hocket(
        *("bundle", traces, "-t", folder / "mesh.yaml", "-o", folder / "programs", "--json", folder / "made.json")
    )
    assert made.returncode == 0, made.stderr
    assert "run the job by them: HOCKET_ALGORITHMS=" in made.stdout
    return folder / "programs", json.loads((folder / "made.json").read_text())


def run(programs: Path, report: Path) -> tuple[dict[str, Any], str]:
    done = torchrun(JOB, HOCKET_ALGORITHMS=programs, HOCKET_ALGORITHMS_REPORT=report)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(report.read_text()), done.stderr


def test_one_command_makes_programs_for_every_collective_group_and_size(bundled: tuple[Path, dict[str, Any]]) -> None:
    rows = {(row["collective"], tuple(map(tuple, row["groups"]))): row for row in bundled[1]["rows"]}
    tp, dp, world = ((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 1, 2, 3),)
    assert rows.keys() == {
        ("all_reduce", tp),
        ("all_reduce", dp),
        ("all_reduce", world),
        ("all_gather", tp),
        ("all_gather", world),  # DDP's check of its parameters
        ("broadcast from or to 0", world),
    }
    assert bundled[1]["without"] == {}
    for row in rows.values():
        assert row["why"] == "" and row["programs"] >= 1 and row["programs_ps"] > 0
    assert (rows["all_reduce", tp]["min_bytes"], rows["all_reduce", tp]["calls"]) == (4 * 300_000, STEPS)
    # Each step 4000 bytes go both ways at once over 5 us and 5 GB/s, whole, or in halves there and back.
    assert 5.8e6 * STEPS <= rows["all_reduce", dp]["programs_ps"] <= 10.8e6 * STEPS


def test_the_job_runs_by_its_bundle(bundled: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    report, said = run(bundled[0], tmp_path / "report.json")
    assert report["stock"] == []
    ran = {(one["collective"], tuple(one["groups"][0])): one for one in report["algorithms"] if one["calls"]}
    for collective, group in (("all_reduce", (0, 1)), ("all_reduce", (0, 2)), ("all_gather", (0, 1))):
        assert ran[collective, group]["calls"] == STEPS and ran[collective, group]["time_ns"] > 0
    assert ran.keys() >= {("all_reduce", (0, 1, 2, 3)), ("broadcast", (0, 1, 2, 3))}
    assert "all_reduce on 2 ranks of 0,2 and 1 more" in said


def test_the_report_says_what_did_not_run_where_why_and_for_how_long(
    bundled: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    part = tmp_path / "part"
    shutil.copytree(bundled[0], part)
    for path in part.iterdir():
        bundle = json.loads((path / "bundle.json").read_text())
        if (bundle["collective"], bundle["groups"][0]) in (("all_gather", [0, 1]), ("all_reduce", [0, 2])):
            shutil.rmtree(path)
    report, said = run(part, tmp_path / "report.json")
    stock = {(one["operation"], tuple(one["group_ranks"])): one for one in report["stock"]}
    assert stock.keys() == {("allgather_base", (0, 1)), ("allreduce", (0, 2))}
    gathered, summed = stock["allgather_base", (0, 1)], stock["allreduce", (0, 2)]
    assert (gathered["calls"], gathered["min_bytes"], gathered["max_bytes"]) == (STEPS, 8000, 8000)
    assert (gathered["group"], summed["group"]) == ("mesh_tp", "mesh_dp")
    assert "no program for all_gather" in gathered["reason"]
    assert summed["reason"] == "no program for this group, only for 3 others"  # for (0, 1), (2, 3) and all
    assert gathered["time_ns"] > 0 and summed["time_ns"] > 0 and gathered["waits"] == STEPS
    (row,) = [line for line in said.splitlines() if "mesh_tp (0,1)" in line]
    assert row.split()[:1] + row.split()[3:6] == ["allgather_base", "7.812", "KiB", str(STEPS)]
    assert "the stock library ran 6 calls, which took their callers " in said


def test_a_folder_with_something_else_is_not_replaced(bundled: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    traces = bundled[0].parent / "recorded"
    done = hocket("bundle", traces, "-t", "ring:4,bandwidth=1GB/s,latency=1us", "-o", tmp_path / "mine")
    assert (done.returncode, "holds notes.txt, which is no bundle" in done.stderr) == (3, True)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
