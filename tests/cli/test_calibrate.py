"""`hocket calibrate`, as a user types it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmark_outputs import new_table
from in_process import hocket
from synthetic import SIZES, cluster

from hocket.base.errors import ExitCode


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """all_reduce on 2 nodes, 64 B to 1 GiB."""
    sizes = SIZES[3:28]
    path = tmp_path / "two.txt"
    path.write_text(new_table(zip(sizes, cluster(2).time_us(sizes).tolist(), strict=True)))
    return path


def test_from_tables_to_a_simulated_topology(table: Path, tmp_path: Path) -> None:
    options = ["-t", "dgx-a100:nodes=2", "-o", "made.yaml", "--holdout", "sizes", "--report", "page.html"]
    command = [sys.executable, "-m", "hocket", "calibrate", table.name, *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == ExitCode.DONE, done.stderr
    for expected in ("50 measurements of 1 curve\n", "inter-node", "held out by sizes", "wrote made.yaml and"):
        assert expected in done.stdout
    assert "collective: all_reduce" in (tmp_path / "made.protocols.yaml").read_text()
    page = (tmp_path / "page.html").read_text()
    assert "all_reduce on 16 ranks of 2 nodes" in page and "uncalibrated" in page
    simulate = ["-t", tmp_path / "made.yaml", "--algorithm", "hierarchical", "--size", "64B"]
    told = hocket("simulate", "all_reduce", *simulate).stdout
    line = next(line.split() for line in told.splitlines() if line.split()[:1] == ["time"])
    assert line[2] == "us" and float(line[1]) == pytest.approx(float(cluster(2).time_us(64)), rel=0.05)


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (["-o", "made.yaml"], ExitCode.USAGE, "say --topology"),
        (["--holdout", "ranks"], ExitCode.USAGE, "known: nodes, sizes"),
        (["--holdout", "nodes"], ExitCode.BAD_INPUT, "two other numbers of nodes"),
        (["-t", "dgx-a100"], ExitCode.BAD_INPUT, "two.txt:26: all_reduce on 16 ranks of 2 nodes, but dgx-a100"),
        (["-t", "dgx-a100:nodes=2", "--by", "all_gather"], ExitCode.USAGE, "known: all_reduce"),
    ],
)
def test_usage_and_what_does_not_fit(table: Path, options: list[str], code: int, expected: str) -> None:
    done = hocket("calibrate", table, *options)
    assert done.returncode == code and expected in done.stderr


def test_runs_of_two_machines(table: Path, tmp_path: Path) -> None:
    sizes = SIZES[3:28]
    for factor, code in ((1.1, ExitCode.DONE), (1.5, ExitCode.BAD_INPUT)):
        other = tmp_path / "other.txt"
        other.write_text(new_table(zip(sizes, (factor * cluster(2).time_us(sizes)).tolist(), strict=True)))
        done = hocket("calibrate", table, other)
        assert done.returncode == code, done.stderr
    assert re.search(r"two.txt:\d+ and .*other.txt:\d+: both measure all_reduce .* 1.50 times apart", done.stderr)


def test_a_run_that_was_cut_off(table: Path) -> None:
    text = table.read_text()
    table.write_text(text[: text.index("  16777216")])
    done = hocket("calibrate", table)
    assert done.returncode == ExitCode.BAD_INPUT and "--partial" in done.stderr
    assert "36 measurements of 1 curve\n" in hocket("calibrate", table, "--partial").stdout


def test_a_calibration_is_refused_elsewhere(tmp_path: Path) -> None:
    """It names its nodes and NCCL's variables: a B200's has no times for an H100, nor for itself without NVLS."""
    tables = Path(__file__).parents[2] / "calibration" / "transfer" / "tables"
    parameters = tmp_path / "b200.protocols.yaml"
    made = hocket(
        "calibrate",
        tables / "b200-a4.csv",
        "-t",
        "dgx-b200:nodes=2",
        "--nccl",
        "dgx-b200",
        "-o",
        tmp_path / "b200.yaml",
    )
    assert made.returncode == 0, made.stderr
    assert "node: dgx-b200\n    gpus: 8\n    sm:\n    - 100\n    nics: 8 x 400 Gbit/s\n" in parameters.read_text()
    ask = ("-c", "all_gather", "--calibration", parameters)
    assert "  calibrated  " in hocket("nccl", "choose", "-t", "dgx-b200:nodes=2", *ask).stdout
    for spec, why in (("dgx-h100:nodes=2", "this is dgx-h100 (8 GPUs of sm 90"), ("dgx-b200:nodes=2,nvls=0", "asked")):
        chosen = hocket("nccl", "choose", "-t", spec, *ask)
        simulated = hocket("simulate", "all_gather", "-s", "1MiB", "-t", f"{spec},calibration={parameters}")
        made = hocket("nccl", "tuner", "make", "-t", spec, "--calibration", parameters, "-o", tmp_path / "t.csv")
        for done in (chosen, simulated, made):
            assert done.returncode == 3
            assert done.stderr.count("error: ") == 1 and f"{parameters}: was measured" in done.stderr
            assert why in done.stderr
    text = parameters.read_text()
    parameters.write_text(text[: text.index("  measured_on:")])
    older = hocket("nccl", "choose", "-t", "dgx-b200:nodes=2", *ask)
    assert older.returncode == 3 and "does not say on which nodes it was measured" in older.stderr
