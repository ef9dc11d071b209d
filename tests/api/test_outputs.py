"""What one call writes appears together, or not at all: the last file cannot be written, and none is there."""

from pathlib import Path

import pytest

import hocket

RING = "ring:4,bandwidth=50GB/s,latency=500ns"


def _simulate(folder: Path) -> None:
    hocket.simulate("all_reduce", RING, "1MiB", json=folder / "a.json", report=folder / "blocked")


def _curves(folder: Path) -> None:
    hocket.simulate("all_reduce", RING, "1KiB..4KiB", csv=folder / "a.csv", report=folder / "blocked")


def _tables(folder: Path) -> None:
    hocket.simulate("all_reduce", RING, "1MiB", tables=folder / "tables", report=folder / "blocked")


def _choose(folder: Path) -> None:
    hocket.nccl_choose("dgx-h100", collective="all_reduce", csv=folder / "a.csv", graph_dump=folder / "blocked")


def _generate(folder: Path) -> None:
    hocket.generate_collective("all_reduce", ranks=4, size="1MiB", output=folder, prefix="job")


def _convert(folder: Path) -> None:
    made = hocket.generate_collective("all_reduce", ranks=4, size="1MiB", output=folder.parent / "made")
    hocket.trace_convert(made.folder, output=folder)


@pytest.mark.parametrize("ask", [_simulate, _curves, _tables, _choose, _generate, _convert])
def test_files_of_one_call_appear_together_or_not_at_all(ask: object, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for name in ("blocked", "comm_groups.json"):
        (folder / name).mkdir(parents=True)
    assert callable(ask)
    with pytest.raises(hocket.HocketError, match=r"(blocked|comm_groups\.json): cannot be written"):
        ask(folder)
    assert sorted(path.name for path in folder.rglob("*")) == ["blocked", "comm_groups.json"]
