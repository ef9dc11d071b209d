"""What nodes like these took, beside NCCL's model, in `hocket simulate` and `hocket nccl choose`."""

import json
import re
from pathlib import Path

import pytest
from in_process import hocket

TWO = "dgx-h100:nodes=2"


def said(*arguments: object) -> str:
    done = hocket(*arguments)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_one_size_has_the_time_of_the_model_and_beside_it_that_of_measurements(tmp_path: Path) -> None:
    path = tmp_path / "prediction.json"
    printed = said("simulate", "all_reduce", "-s", "8KiB", "-t", TWO, "--json", path)
    found = re.search(
        r"note: by public measurements, nodes of a kind that was measured: ([\d.]+) us, 90 % within", printed
    )
    assert found and "  time                   25.91 us" in printed
    assert 30 < float(found[1]) < 60  # two public tables of such nodes: 31 to 48 us
    assert sum("by public measurements" in note for note in json.loads(path.read_text())["notes"]) == 1


def test_several_sizes_have_lines_of_their_own() -> None:
    printed = said("simulate", "all_reduce", "-s", "8KiB..1GiB", "-t", TWO)
    lines = printed[printed.index("by public measurements") :].splitlines()[1:]
    assert len(lines) == 12 and lines[-1].split()[:2] == ["1", "GiB"]
    assert all(re.fullmatch(r" +\d+ \wiB [\d.]+ \ws, 90 % within [\d.]+ \ws to [\d.]+ \ws", line) for line in lines)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ndv2:nodes=2", "no nodes like these were measured: the time is NCCL's own expectation"),
        ("p4d:nodes=2", "nodes of a kind that was measured"),
        ("p5en:nodes=2", "nodes of a kind that was measured"),
        ("p6-b200:nodes=2", "nodes of parts that were"),
    ],
)
def test_how_near_the_measured_nodes_are_is_said(spec: str, expected: str) -> None:
    assert expected in said("simulate", "all_reduce", "-s", "1MiB", "-t", spec)


@pytest.mark.parametrize(
    "options",
    [
        ("all_reduce", "--algorithm", "ring"),
        ("all_reduce", "--algorithm", "nccl"),
        ("all_reduce", "--model", "congestion"),
        ("all_to_all",),
        ("all_reduce", "--library", "none"),
    ],
)
def test_other_times_than_the_model_s_have_none(options: tuple[str, ...]) -> None:
    assert "measure" not in said("simulate", *options, "-s", "1MiB", "-t", TWO)


def test_choices_have_them_too() -> None:
    printed = said("nccl", "choose", "-t", TWO, "-c", "all_reduce", "-c", "all_gather")
    assert re.search(r"  public tables .* NVLSTree/Simple +[\d.]+ \.\. [\d.]+ us, 90 % within x/ 1\.\d\d", printed)
    assert "no nodes like these were measured" in said("nccl", "choose", "-t", "ndv2:nodes=2", "-c", "all_reduce")
