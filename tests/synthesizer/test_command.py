"""`hocket synthesize` from outside."""

import json
import subprocess
import sys
from pathlib import Path

from hocket.schedule import load, verify

MESH = "mesh:4x4,bandwidth=50GB/s,latency=500ns"


def synthesize(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hocket", "synthesize", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_writes_a_schedule_that_verifies(tmp_path: Path) -> None:
    path = tmp_path / "ar.schedule"
    done = synthesize("all_reduce", "--topology", MESH, "--size", "64MiB", "--chunks", "2", "-o", str(path))
    assert done.returncode == 0, done.stderr
    for word in ("time", "bound", "ratio", "algbw", "busbw", "transfers", "links", "seed 0", str(path)):
        assert word in done.stdout
    schedule = load(path)
    assert schedule.collective.size_bytes == 2**26
    assert verify(schedule).num_transfers == 2 * 32 * 15


def test_json_agrees_with_the_table_and_the_arithmetic() -> None:
    done = synthesize("all_gather", "--topology", MESH, "--size", "64MiB", "--blocking", "--json", "-")
    numbers = json.loads(done.stdout)
    assert numbers["ratio"] == round(numbers["time_ps"] / numbers["bound_ps"], 6)
    assert numbers["algbw_bytes_per_s"] == round(2**26 * 10**12 / numbers["time_ps"])
    assert abs(numbers["busbw_bytes_per_s"] - numbers["algbw_bytes_per_s"] * 15 / 16) <= 1


def test_same_command_writes_the_same_file(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.schedule", "two.schedule")]
    for path in paths:
        synthesize("broadcast", "-t", MESH, "-s", "1MiB", "--root", "5", "--seed", "3", "-o", str(path))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_bad_arguments_are_one_clear_error() -> None:
    for arguments, code, words in [
        (["all_gathr", "-t", MESH, "-s", "1MiB"], 2, "all_gather"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--engine", "magic"], 2, "matching"),
        (["all_gather", "-t", MESH, "-s", "1MiB", "--chunks", "0"], 2, "--chunks"),
        (["all_gather", "-t", MESH, "-s", "lots"], 3, "64MiB"),
        (["all_gather", "-t", MESH, "-s", "0"], 3, "--size"),
        (["broadcast", "-t", MESH, "-s", "1MiB", "--root", "16"], 3, "root 16"),
        (
            ["all_gather", "-t", "mesh:4x4,bandwidth=50GB/s+20GB/s,latency=1us", "-s", "1MiB", "--engine", "rounds"],
            3,
            "matching",
        ),
    ]:
        done = synthesize(*arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_help_has_an_example() -> None:
    assert "Example: hocket synthesize" in synthesize("--help").stdout
