"""`hocket nccl tuner make` from runs of nccl-tests, as a user types it."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmark_outputs import json_output, new_table
from in_process import hocket

from hocket.base.errors import ExitCode

SIZES = [1 << power for power in range(3, 31, 3)]  # 8 B to 1 GiB
#: us: latency and GB/s; NCCL itself takes Ring/Simple throughout.
CURVES: dict[str, Callable[[int], float]] = {
    "ring/ll": lambda size: 20 + size / 5e3,
    "ring/ll128": lambda size: 30 + size / 100e3,
    "ring/simple": lambda size: 60 + size / 200e3,
}


def run(folder: Path, name: str, curve: str, env: list[str]) -> Path:
    content = json_output([(size, CURVES[curve](size)) for size in SIZES])
    content["env"] = env
    (folder / name).write_text(json.dumps(content))
    return folder / name


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """One free, one for each curve forced."""
    files = [run(tmp_path, "free.json", "ring/simple", [])]
    for curve in CURVES:
        algorithm, protocol = curve.split("/")
        env = [f"NCCL_ALGO={algorithm}", f"NCCL_PROTO={protocol}"]
        files.append(run(tmp_path, f"{protocol}.json", curve, env))
    return files


def rules(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]


def test_from_forced_runs_to_a_table(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    done = hocket("nccl", "tuner", "make", *runs, "-o", out)
    assert done.returncode == ExitCode.DONE, done.stderr
    # LL and LL128 cross at 10 / (1/5e3 - 1/100e3) = 52.6 kB, LL128 and Simple at 30 / (1/100e3 - 1/200e3) = 6 MB.
    assert rules(out) == [
        ["allreduce", "8", "92681", "ring", "ll", "-1", "2", "16"],  # 32 KiB | 256 KiB: their mean is 92681.9
        ["allreduce", "92682", "5931641", "ring", "ll128", "-1", "2", "16"],  # 2 MiB | 16 MiB
    ]
    assert "2 rules, 0 constants, 0 errors, 0 warnings" in hocket("nccl", "tuner", "check", out).stdout
    # At 8 B 20 us against 60: 66.7 % less.
    assert "66.7% less time than NCCL takes by itself" in done.stdout and "wrote" in done.stdout
    assert "as NCCL does" in done.stdout


def test_files_that_do_not_say_their_choice(tmp_path: Path) -> None:
    files = {}
    for curve in CURVES:
        files[curve] = tmp_path / f"{curve.replace('/', '-')}.txt"
        files[curve].write_text(new_table([(size, CURVES[curve](size)) for size in SIZES]))
    out = tmp_path / "table.csv"
    told = hocket("nccl", "tuner", "make", *files.values(), "-o", out)
    assert told.returncode == ExitCode.BAD_INPUT and "not told which algorithm and protocol" in told.stderr
    said = [word for curve, path in files.items() for word in ("--run", f"{curve}/16={path}")]
    done = hocket("nccl", "tuner", "make", *said, "--extrapolate", "-o", out)
    assert done.returncode == ExitCode.DONE, done.stderr
    assert [rule[1:6] for rule in rules(out)] == [
        ["0", "92681", "ring", "ll", "16"],
        ["92682", "5931641", "ring", "ll128", "16"],
        ["5931642", "-1", "ring", "simple", "16"],
    ]
    assert "no run in which NCCL chose itself" in done.stdout


def test_nccl_is_quickest_by_itself(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "table.csv"
    done = hocket("nccl", "tuner", "make", runs[0], runs[3], "-o", out)
    assert done.returncode == ExitCode.DONE and "no table is written" in done.stdout and not out.exists()


@pytest.mark.shared
def test_public_tables(shared: Path, tmp_path: Path) -> None:
    # Two machines of two nodes of eight H100: one sound, one that was misconfigured and forced to rings. Taken for one.
    sound, bad = (shared / "nccl_tests" / f"h100_16gpu_2node_{name}_allreduce.csv" for name in ("ib", "ringforced"))
    out = tmp_path / "table.csv"
    done = hocket("nccl", "tuner", "make", "--baseline", sound, "--run", f"ring/simple={bad}", "-o", out)
    assert done.returncode == ExitCode.DONE and not out.exists(), done.stderr
    done = hocket("nccl", "tuner", "make", "--baseline", bad, "--run", f"nvls_tree/simple={sound}", "-o", out)
    assert done.returncode == ExitCode.DONE, done.stderr
    # The bad one was measured from 8 MiB to 8 GiB.
    assert rules(out) == [["allreduce", "8388608", "8589934592", "nvls_tree", "simple", "-1", "2", "16"]]
    assert "not measured at 8 B, 16 B, 32 B, 64 B, ..." in done.stdout


def test_what_is_refused(runs: list[Path], tmp_path: Path) -> None:
    other = json.loads(runs[1].read_text())
    for device, info in zip(other["config"]["devices"], ["A100", "H100"] * 8, strict=True):
        device["device_info"] = info
    for name, change in {
        "alltoall.json": {"args": ["alltoall_perf"]},
        "partly.json": {"env": ["NCCL_ALGO=ring"]},
        "unknown.json": {"env": ["NCCL_PROTO=LL256"]},
        "small.json": {"env": ["NCCL_ALGO=ring", "NCCL_PROTO=ll", "NCCL_BUFFSIZE=65536", "NCCL_DEBUG=WARN"]},
        "large.json": {"env": ["NCCL_ALGO=ring", "NCCL_PROTO=simple", "NCCL_BUFFSIZE=131072", "NCCL_DEBUG=INFO"]},
    }.items():
        content = json.loads(runs[1].read_text()) | change
        for row in content["results"]:
            for half in (row["out_of_place"], row["in_place"]):
                half["bus_bw"] *= 0.5 if name == "alltoall.json" else 1  # 15/16 of algbw, all_reduce 30/16
        (tmp_path / name).write_text(json.dumps(content))
    second = json.loads(runs[2].read_text())
    for device in second["config"]["devices"]:
        device["device_info"] = "NVIDIA A100"
    (tmp_path / "a100.json").write_text(json.dumps(second))
    (tmp_path / "mixed.json").write_text(json.dumps(other))
    (tmp_path / "plain.txt").write_text(new_table([(size, 20 + size / 5e3) for size in SIZES]))
    for files, expected in (
        (["alltoall.json"], "NCCL asks no tuner about all_to_all"),
        (["partly.json"], "leave more than one choice"),
        (["unknown.json"], "NCCL_PROTO=LL256"),
        (["a100.json", "mixed.json"], "a table is for one kind of machine"),
        (["small.json", "large.json"], "measured with NCCL_BUFFSIZE=131072, but"),
        (["ll.json"], "nothing to choose from"),
        (["--run", "simple/ll=ll.json"], "algorithm 'simple'"),
        (["--run", "pat/simple=plain.txt"], "NCCL has no PAT/Simple for AllReduce, as --run says"),
        (["--run", "ring/simple=ll.json"], "NCCL ran Ring/LL here, not Ring/Simple"),
        (["--baseline", "ll.json"], "it is no --baseline"),
        ([], "give outputs of runs"),
        (["ll.json", "--set", "NCCL_NVLS_ENABLE=0"], "--set, --calibration and --simulate go with"),
    ):
        words = [word if word.startswith("--") or "=" in word else tmp_path / word for word in files]
        words = [re.sub(r"=(\w+\.(json|txt))$", rf"={tmp_path}/\1", str(word)) for word in words]
        done = hocket("nccl", "tuner", "make", *words, "-o", tmp_path / "out.csv")
        assert done.returncode in (ExitCode.BAD_INPUT, ExitCode.USAGE), (files, done.stdout)
        assert expected in " ".join(done.stderr.split()), done.stderr
        assert not (tmp_path / "out.csv").exists()
