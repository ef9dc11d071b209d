"""What `hocket trace import` says of files that it does not read: which command does."""

import shutil
from pathlib import Path

import in_process
import pytest
from import_commands import hocket

ROOT = Path(__file__).parents[3]
PROGRAM = ROOT / "tests" / "data" / "msccl_xml" / "all_reduce_all_pairs_4.xml"
OTHERS = {
    "trace.0.et": (ROOT / "examples" / "traces" / "trace.0.et", "a Chakra trace already"),
    "program.xml": (PROGRAM, "hocket verify"),
    "table.csv": (ROOT / "examples" / "nccl" / "h100_1node.csv", "hocket calibrate"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_commands_are_sent_there(name: str, tmp_path: Path) -> None:
    source, remedy = OTHERS[name]
    shutil.copy(source, tmp_path / name)
    (tmp_path / "README.md").write_text("of a folder with other files")
    done = hocket("import", tmp_path, "-o", tmp_path / "out")
    assert (done.returncode, f"{name}: is not imported, it is" in done.stderr) == (3, True), done.stderr
    assert remedy in done.stderr and not (tmp_path / "out").exists()


def test_results_and_schedules_are_not_taken_for_records(tmp_path: Path) -> None:
    ring = "ring:4,bandwidth=1GB/s,latency=1us"
    asked = ("simulate", "all_reduce", "-s", "1MiB", "-t", ring, "--json", tmp_path / "one.json")
    assert in_process.hocket(*asked).returncode == 0
    assert "hocket view" in hocket("import", tmp_path / "one.json", "-o", tmp_path / "out").stderr
    log = tmp_path / "log.txt"
    log.write_text("node0:1:1 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n")
    assert "hocket nccl log" in hocket("import", log, "-o", tmp_path / "out").stderr


def test_of_unknown_files_all_formats_are_told_and_no_way_out_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "unknown.txt").write_text("hello")
    done = hocket("import", tmp_path / "unknown.txt", "-o", tmp_path / "out")
    assert (done.returncode, "--from" in done.stderr) == (3, False), done.stderr
    assert "flight-recorder: PyTorch Flight Recorder dumps" in done.stderr
    (tmp_path / "graph.json").write_text('{"workload_graph": []}')
    done = hocket("import", tmp_path, "-o", tmp_path / "out")
    assert "unknown.txt" in done.stderr and "leave it out" in done.stderr
