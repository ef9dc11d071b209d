"""`hocket translate` says what stock NCCL takes beside the program, where both are known."""

import json
from pathlib import Path

import pytest
from in_process import hocket

from hocket.base.units import parse_duration

MACHINE = "dgx-h100:gpus=4"


def ring(folder: Path, topology: str, size: str, *more: str) -> Path:
    path = folder / "ring.schedule"
    done = hocket(
        "synthesize", "all_reduce", "-t", topology, "-s", size, "--engine", "native:ring", "-o", str(path), *more
    )
    assert done.returncode == 0, done.stderr
    return path


def translated(path: Path, to: str, *more: str) -> list[str]:
    """The lines that name the stock library."""
    out = () if "--bundle" in more else ("-o", str(path.with_suffix(".xml")), "--max-bytes", "64MiB")
    done = hocket("translate", str(path), "--to", to, *out, *more)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if "stock" in line]


@pytest.mark.parametrize(("size", "stock_wins"), [("16KiB", True), ("64MiB", False)])
def test_the_program_stands_beside_what_nccl_s_model_says(tmp_path: Path, size: str, stock_wins: bool) -> None:
    (line,) = translated(ring(tmp_path, MACHINE, size), "executor")
    done = hocket("simulate", "all_reduce", "-t", MACHINE, "-s", size, "--json", "-")
    told = json.loads(done.stdout)
    algorithm = told["collectives"][0]["algorithm"].removeprefix("NCCL's model ").replace("/", ", ")
    assert line.startswith(f"stock NCCL here {told['time_ps'] / 1e6:.4g} us ({algorithm}), this program ")
    assert f" us at {size[:-3]} {size[-3:]}" in line and line.endswith(": stock is quicker") == stock_wins


def test_of_a_bundle_each_file_stands_beside_it_where_it_gains_least(tmp_path: Path) -> None:
    path = ring(tmp_path, MACHINE, "64MiB")
    lines = translated(path, "executor", "--bundle", str(tmp_path / "bundle"))
    files = sorted(each.name for each in (tmp_path / "bundle" / "algorithms").iterdir())
    assert [line.split(":")[0].removeprefix("algorithms/") for line in lines] == files
    assert all(": stock NCCL here " in line and ", this program " in line for line in lines)


@pytest.mark.parametrize(
    ("topology", "to"),
    [
        ("ring:4,bandwidth=50GB/s,latency=500ns", "executor"),  # no machines
        (MACHINE, "json"),  # no runtime
        (MACHINE, "rccl"),  # another vendor's
    ],
)
def test_nothing_is_said_where_one_of_both_is_not_known(tmp_path: Path, topology: str, to: str) -> None:
    path = ring(tmp_path, topology, "64MiB")
    assert translated(path, to) == []


def test_links_that_are_slower_are_slower_for_both(tmp_path: Path) -> None:
    fabric = "dgx-a100:nodes=2,gpus=2,fabric=fat_tree,leaf=1"
    (fast,) = translated(ring(tmp_path, fabric, "64MiB"), "executor")
    (slow,) = translated(ring(tmp_path, f"{fabric},oversubscription=8", "64MiB"), "executor")
    times = [parse_duration("".join(line.split()[3:5])) for line in (fast, slow)]
    assert times[1] > 2 * times[0]
