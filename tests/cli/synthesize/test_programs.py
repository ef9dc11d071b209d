"""`hocket synthesize --for RUNTIME` from outside: bundles of programs that were chosen by what kernels take."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import in_process
import pytest

from hocket.schedule.switch_program import SWITCHED_BYTES
from hocket.translator.bundle import read_bundle

MACHINE = "dgx-h100:gpus=4"
synthesize = partial(in_process.hocket, "synthesize")


def made(folder: Path, collective: str, topology: str, sizes: str, runtime: str, *more: str) -> dict[str, Any]:
    done = synthesize(
        collective, "-t", topology, "-s", sizes, "--for", runtime, "-o", str(folder), "--json", "-", *more
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "reduce_scatter", "all_to_all"])
@pytest.mark.parametrize("runtime", ["device", "executor", "mscclpp"])
def test_no_size_is_slower_than_stock_nor_quicker_than_the_bound(tmp_path: Path, collective: str, runtime: str) -> None:
    found = made(tmp_path / "b", collective, MACHINE, "1KiB..256MiB:64", runtime)
    assert "NCCL 2.30" in found["stock"] and "launch" in found["assumed"][0]
    assert [row["size_bytes"] for row in found["rows"]] == [1 << 10, 1 << 16, 1 << 22, 1 << 28]
    served = [row for row in found["rows"] if row["time_ps"] is not None]
    assert served, "small messages are where programs win"
    for row in served:
        assert row["time_ps"] <= row["stock"]["time_ps"]
        assert row["time_ps"] >= row["bound_ps"] * (1 - 1e-6)
        assert (tmp_path / "b" / row["file"]).is_file()
    # what is left to the stock library has no file
    bundle = read_bundle(tmp_path / "b")
    for row in found["rows"]:
        files = [one for one in bundle.files if one.min_bytes <= row["size_bytes"] <= one.max_bytes]
        assert bool(files) == (row["time_ps"] is not None)


def test_the_programs_are_right_and_run(tmp_path: Path) -> None:
    made(tmp_path / "b", "all_reduce", MACHINE, "1KiB..4MiB:64", "device")
    for file in read_bundle(tmp_path / "b").files:
        assert in_process.hocket("verify", str(tmp_path / "b" / file.path), "--runtime", "executor").returncode == 0
    done = in_process.hocket(
        "run", "--bundle", str(tmp_path / "b"), "--transport", "device", "-b", "1K", "-e", "4M", "-f", "64"
    )
    assert done.returncode == 0, done.stderr
    assert "# Out of bounds values : 0 OK" in done.stdout


def test_where_switches_compute_their_programs_compete(tmp_path: Path) -> None:
    """The bound is that of switches, and the copies around what they do are paid for."""
    spec = f"{MACHINE},nvls=1"
    plain = made(tmp_path / "a", "all_reduce", f"{MACHINE},nvls=0", "64MiB", "device")
    found = made(tmp_path / "b", "all_reduce", MACHINE, "64MiB", "device")  # its switches compute, as they do for NCCL
    assert found["rows"][0]["bound_ps"] < plain["rows"][0]["bound_ps"]
    path = tmp_path / "nvls.schedule"
    done = synthesize("all_reduce", "-t", spec, "-s", "64MiB", "--engine", "native:nvls", "-o", str(path))
    assert done.returncode == 0, done.stderr
    done = in_process.hocket("translate", str(path), "--to", "device", "--bundle", str(tmp_path / "c"))
    assert done.returncode == 0, done.stderr
    for file in read_bundle(tmp_path / "c").files:
        (told,) = (one for one in file.predicted if one.size_bytes == 64 << 20)
        assert file.protocol == "NVLS" and told.schedule_ps is not None
        copied_ps = 2 * (64 << 20) * 10**12 // (38_700_000_000 * file.thread_blocks)
        meetings = 2 * (64 << 20) // SWITCHED_BYTES  # before and after each slice
        assert told.time_ps >= 8_400_000 + meetings * 3_400_000 + copied_ps + told.schedule_ps


def test_the_table_says_who_serves_what(tmp_path: Path) -> None:
    asked = ("all_reduce", "-t", MACHINE, "-s", "1KiB..1MiB:1024", "--for", "device", "-o")
    done = synthesize(*asked, str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    assert "assumed: kernels of device by Simple: launch 8.4 us" in done.stdout
    (first,) = (line for line in done.stdout.splitlines() if line.lstrip().startswith("1 KiB"))
    assert "LL, " in first and "Ring/LL" in first and "x" in first
    assert synthesize(*asked, str(tmp_path / "c")).returncode == 0
    again = synthesize(*asked, str(tmp_path / "c"))  # a bundle of the same collective is replaced
    assert again.stdout.replace(str(tmp_path / "c"), str(tmp_path / "b")) == done.stdout
    assert (tmp_path / "c" / "bundle.json").read_bytes() == (tmp_path / "b" / "bundle.json").read_bytes()


def test_where_nothing_is_gained_nothing_is_written(tmp_path: Path) -> None:
    asked = ("broadcast", "-t", "dgx-a100:gpus=4", "-s", "1KiB..64MiB:256", "--for", "device", "-o")
    done = synthesize(*asked, str(tmp_path / "b"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("left to the stock library") == 3
    assert "no program is quicker than the stock library at any of these sizes: nothing was written" in done.stdout
    assert not (tmp_path / "b").exists()


def test_measured_costs_choose(tmp_path: Path) -> None:
    costs = tmp_path / "costs.yaml"
    slow = "{launch: 50 us, step: 20 us, block: 1 GB/s}"
    costs.write_text(f"runtime: device\nmeasured: here\ncosts:\n  LL: {slow}\n  Simple: {slow}\n  LL128: {slow}\n")
    found = made(tmp_path / "b", "all_reduce", MACHINE, "1KiB..4MiB:64", "device", "--costs", str(costs))
    assert all(row["time_ps"] is None for row in found["rows"])
    assert not (tmp_path / "b").exists()
    assert "here" in found["assumed"][0]


def test_the_stock_library_takes_longer_on_the_same_degraded_links(tmp_path: Path) -> None:
    """Longer than its model says by what its messages take longer: some of its programs, chunk by chunk, take more than
    its model says even where nothing is slower."""

    def simulated_ps(*more: str) -> int:
        done = in_process.hocket("simulate", "all_gather", "-t", MACHINE, "-s", "64MiB", *more, "--json", "-")
        return int(json.loads(done.stdout)["time_ps"])

    slow = ("--degrade", "npu:3=0.1")
    found = made(tmp_path / "b", "all_gather", MACHINE, "64MiB", "device", *slow)
    assert "NCCL 2.30" in found["stock"] and "chunk by chunk" in found["stock"]
    longer_ps = simulated_ps(*slow) - simulated_ps("--algorithm", "nccl")
    assert found["rows"][0]["stock"]["time_ps"] == simulated_ps() + longer_ps > simulated_ps()


def test_the_stock_library_takes_longer_on_an_oversubscribed_fabric(tmp_path: Path) -> None:
    """As the programs that it is compared with, whose links are the same."""
    fabric = "dgx-h100:nodes=2,gpus=4,fabric=fat_tree,leaf=1"
    fast, slow = (
        made(tmp_path / name, "all_gather", spec, "64MiB", "executor", "--engine", "native:ring")["rows"][0]
        for name, spec in (("a", fabric), ("b", f"{fabric},oversubscription=8"))
    )
    assert slow["stock"]["time_ps"] > slow["bound_ps"] > 2 * fast["stock"]["time_ps"]


def test_of_nodes_that_lack_something_no_time_of_the_library_is_known_and_why_is_said(tmp_path: Path) -> None:
    lost = ("--without", "npu:3")
    done = synthesize("all_gather", "-t", MACHINE, "-s", "4MiB", "--for", "device", "-o", tmp_path / "b", *lost)
    assert done.returncode == 0, done.stderr
    assert "stock: not compared: the library's model is of whole nodes, and --without takes" in done.stdout
    assert made(tmp_path / "c", "all_gather", MACHINE, "4MiB", "device", *lost)["rows"][0]["stock"] is None


def test_without_a_library_every_size_has_a_program(tmp_path: Path) -> None:
    mesh = "mesh:2x2,bandwidth=50GB/s,latency=500ns"
    found = made(tmp_path / "b", "all_reduce", mesh, "1KiB..1MiB:1024", "executor")
    assert found["stock"] == "" and all(row["time_ps"] for row in found["rows"])
    assert found["assumed"] == ["links alone: what kernels of executor take here is not known; --costs FILE says it"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--for", "device"), "say where with -o"),
        (
            ("--for", "nccl", "-o", "b"),
            "stock NCCL loads no programs: executor and msccl are forks",
        ),
        (("--for", "device", "-o", "b", "--group", "0,1"), "drop --group"),
        (("--for", "device", "-o", "b", "--blocking"), "drop --blocking"),
        (("--costs", "costs.yaml", "-o", "b"), "name it with --for"),
    ],
)
def test_what_makes_no_sense_is_one_clear_error(more: tuple[str, ...], message: str) -> None:
    done = synthesize("all_reduce", "-t", MACHINE, "-s", "1MiB", *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_another_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("mine")
    done = synthesize("all_reduce", "-t", MACHINE, "-s", "1KiB", "--for", "device", "-o", str(tmp_path / "own"))
    assert done.returncode == 3 and "exists and is no bundle" in done.stderr
    assert (tmp_path / "own" / "notes.txt").read_text() == "mine"


def test_what_offsets_do_not_reach_is_left_to_the_stock_library(tmp_path: Path) -> None:
    found = made(tmp_path / "b", "all_gather", "dgx-h100", "64MiB..4GiB:64", "mscclpp")
    assert [row["time_ps"] is not None for row in found["rows"]] == [True, False]
    assert max(file.max_bytes for file in read_bundle(tmp_path / "b").files) < 1 << 32


def test_sizes_that_no_chunks_divide_are_left_and_said(tmp_path: Path) -> None:
    asked = ("all_reduce", "-t", "dgx-a100:gpus=3", "--for", "executor", "-o")
    left = synthesize(*asked, str(tmp_path / "a"), "-s", "64KiB", "--engine", "packing")
    assert left.returncode == 0, left.stderr
    assert "executor runs its own algorithm at 64 KiB: no program's chunks divide it" in left.stdout
    assert not (tmp_path / "a").exists()
    taken = synthesize(*asked, str(tmp_path / "b"), "-s", "48KiB")
    assert "quicker than the stock library at 1 of 1 sizes" in taken.stdout


@pytest.mark.parametrize("topology", ["dgx-a100:gpus=3", "dgx-h100:nodes=3,gpus=4"])
def test_an_all_reduce_of_any_number_of_ranks_is_cut_into_powers_of_two(tmp_path: Path, topology: str) -> None:
    found = made(tmp_path / "b", "all_reduce", topology, "64KiB..256KiB:4", "executor")
    assert all(row["time_ps"] < row["stock"]["time_ps"] for row in found["rows"])
    files = read_bundle(tmp_path / "b").files
    assert files and all(file.chunks.bit_count() == 1 for file in files)


def test_one_odd_size_is_padded_by_the_device_engine(tmp_path: Path) -> None:
    found = made(tmp_path / "b", "all_reduce", "dgx-h100:gpus=3", "1000003", "device")
    assert found["rows"][0]["time_ps"] is not None
    found = made(tmp_path / "c", "all_gather", "dgx-h100:gpus=3", "1000003", "device")
    assert found["rows"][0]["size_bytes"] == 1000008, "whole blocks"


def test_other_vendors_kernels_are_not_compared(tmp_path: Path) -> None:
    done = synthesize("all_reduce", "-t", MACHINE, "-s", "1MiB", "--for", "rccl", "-o", str(tmp_path / "a"))
    assert done.returncode == 2 and "runs on AMD's GPUs" in done.stderr
    found = made(tmp_path / "b", "all_reduce", "mi300x", "64KiB", "device")
    assert found["stock"] == "" and found["rows"][0]["stock"] is None
    assert any("on AMD's GPUs take what they take on NVIDIA's" in sentence for sentence in found["assumed"])


def test_explain_tells_what_else_was_tried(tmp_path: Path) -> None:
    arguments = ("all_reduce", "-t", MACHINE, "-s", "1KiB..64MiB:65536", "--for", "executor", "-o", str(tmp_path / "b"))
    done = synthesize(*arguments, "--explain")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split(" programs were simulated; the others have no chance by their bounds or guesses")[
        1:
    ]
    for part in (first, second):
        times = [line.split()[2] for line in part.splitlines() if line.split()[2:3] and line.split()[2].endswith("x")]
        assert times == sorted(times) and len(times) >= 4
        assert "stock library" in part and "bound" in part
    assert "1.000x" in first and "one_shot" in first
    refused = synthesize("all_reduce", "-t", MACHINE, "-s", "1KiB", "--explain")
    assert refused.returncode == 2 and "name it with --for" in refused.stderr


def test_sizes_that_more_files_would_serve_are_told(tmp_path: Path) -> None:
    """MSCCL loads four files, two for each kind of call."""
    done = synthesize(
        *("all_reduce", "-t", "dgx-h100:nodes=2,gpus=4", "-s", "1KiB..256MiB:512", "--for", "msccl"),
        *("-o", str(tmp_path / "b"), "--explain", "--json", str(tmp_path / "x.json")),
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "x.json").read_text())["rows"]
    missed = [
        row for row in rows if row["file"] is None and row["tried"][0]["time_ps"] * 65 < row["stock"]["time_ps"] * 64
    ]
    told = [line for line in done.stdout.splitlines() if "msccl loads no more files" in line]
    assert len(told) == bool(missed)
    for row in missed:
        assert f"{row['size_bytes'] >> 20} MiB" in told[0]
