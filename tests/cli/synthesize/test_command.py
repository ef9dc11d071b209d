"""`hocket synthesize` from outside."""

import json
from functools import partial
from pathlib import Path

import in_process

from hocket.schedule import load, verify

MESH = "mesh:4x4,bandwidth=50GB/s,latency=500ns"


synthesize = partial(in_process.hocket, "synthesize")


def test_writes_a_schedule_that_verifies(tmp_path: Path) -> None:
    path = tmp_path / "ar.schedule"
    done = synthesize("all_reduce", "--topology", MESH, "--size", "64MiB", "--chunks", "2", "-o", str(path))
    assert done.returncode == 0, done.stderr
    for word in ("time", "bound", "ratio", "algbw", "busbw", "transfers", "links", "seed 0", str(path)):
        assert word in done.stdout
    schedule = load(path)
    assert schedule.collective.size_bytes == 2**26
    assert verify(schedule).num_transfers == 2 * 32 * 15


def test_writes_the_schedule_of_a_native_algorithm(tmp_path: Path) -> None:
    path = tmp_path / "ar.schedule"
    for name in ("ring", "torus_ring", "binary_tree"):
        done = synthesize(
            "all_reduce", "-t", "torus:4x4,bandwidth=50GB/s,latency=500ns", "-s", "64MiB", "--chunks", "1",
            "--engine", f"native:{name}", "-o", str(path),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        schedule = load(path)
        assert schedule.generator == name
        verify(schedule)
    # A ring has a chain of its own for reduce; halves or mirror images of what was named are something else.
    done = synthesize("gather", "-t", MESH, "-s", "1MiB", "--engine", "native:ring")
    assert (done.returncode, "ring does all_reduce, reduce_scatter" in done.stderr) == (3, True)


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


def test_help_has_examples_a_line_each() -> None:
    lines = synthesize("--help").stdout.splitlines()
    assert sum(line.strip().startswith("hocket synthesize ") for line in lines) == 4


CONTRACT = (
    "collective_time_ns bound_ns ratio synthesis_seconds transfers peak_rss_bytes engine seed algbw_bytes_per_s "
    "busbw_bytes_per_s"
)


def test_json_has_what_scripts_rely_on() -> None:
    numbers = json.loads(synthesize("all_gather", "-t", MESH, "-s", "1MiB", "--json", "-").stdout)
    for key in CONTRACT.split():
        assert isinstance(numbers[key], str if key == "engine" else int | float), key
    assert numbers["collective_time_ns"] * 1000 == numbers["time_ps"] >= numbers["bound_ns"] * 1000
    assert numbers["peak_rss_bytes"] > 2**20


def test_a_range_of_sizes_gives_a_schedule_for_each_window(tmp_path: Path) -> None:
    folder, path = tmp_path / "schedules", tmp_path / "windows.json"
    done = synthesize(
        "all_gather", "-t", MESH, "-s", "1KiB..64MiB:256", "-o", str(folder), "--json", str(path), "--seed", "1"
    )
    assert done.returncode == 0, done.stderr
    windows = json.loads(path.read_text())["windows"]
    sizes = [one["size_bytes"] for window in windows for one in window["sizes"]]
    assert sizes == [2**10, 2**18, 2**26]
    for window in windows:
        schedule = load(folder / window["schedule"])
        assert schedule.collective.size_bytes == window["max_bytes"]
        assert schedule.time_ps == window["sizes"][-1]["time_ps"]
        verify(schedule)
    # Small messages pay for latency, large ones for bandwidth: no one schedule is the quickest at both ends.
    assert len(windows) > 1


def test_the_objective_decides_which_size_is_looked_at() -> None:
    times = {}
    for objective in ("latency", "bandwidth"):
        for size in ("16", "256MiB"):
            done = synthesize("all_gather", "-t", MESH, "-s", size, "--objective", objective, "--json", "-")
            times[objective, size] = json.loads(done.stdout)["time_ps"]
    # From corner to corner there are 6 hops of 500 ns.
    assert 3_000_000 <= times["latency", "16"] <= times["bandwidth", "16"]
    assert times["bandwidth", "256MiB"] <= times["latency", "256MiB"]


def test_a_time_limit_ends_the_search_with_the_best_so_far() -> None:
    done = synthesize("all_gather", "-t", MESH, "-s", "1MiB", "--time-limit", "2s", "--json", "-")
    assert json.loads(done.stdout)["ratio"] >= 1
    for text, words in [("0s", "more than 0"), ("soon", "30s"), ("-1s", "30s")]:
        done = synthesize("all_gather", "-t", MESH, "-s", "1MiB", f"--time-limit={text}")
        assert done.returncode == 3, done.stderr
        assert words in done.stderr
