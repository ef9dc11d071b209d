"""What nodes like these took, beside NCCL's model, in `hocket simulate` and `hocket nccl choose`."""

import csv
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
    assert len(lines) == 18 and lines[-1].split()[:2] == ["1", "GiB"]
    assert all(re.fullmatch(r" +\d+ \wiB [\d.]+ \ws, 90 % within [\d.]+ \ws to [\d.]+ \ws", line) for line in lines)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ndv2:nodes=2", "no nodes like these were measured: the time is NCCL's own expectation"),
        ("a3-mega:nodes=2", "nodes of a kind that was measured"),
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


def test_sound_nodes_measurements_are_not_beside_what_is_asked_of_links() -> None:
    """No program is known of two racks, so that the time is the model's; what was measured had no degraded link."""
    printed = said("simulate", "all_gather", "-s", "32MiB", "-t", "gb200-nvl72:nodes=2", "--degrade", "nic:0.2=0.1")
    assert "feels nothing that is asked of links" in printed and "measure" not in printed
    printed = said("simulate", "all_gather", "-s", "32MiB", "-t", "dgx-h100:nodes=3", "--degrade", "nic:0.2=0.1")
    assert "chunk by chunk on the links" in printed and "measure" not in printed


def test_choices_have_them_too() -> None:
    printed = said("nccl", "choose", "-t", TWO, "-c", "all_reduce", "-c", "all_gather")
    assert re.search(r"  public tables .* NVLSTree/Simple +[\d.]+ \.\. [\d.]+ us, 90 % within x/ 1\.\d\d", printed)
    assert "no nodes like these were measured" in said("nccl", "choose", "-t", "ndv2:nodes=2", "-c", "all_reduce")


def test_measured_times_are_taken_where_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "prediction.json"
    printed = said("simulate", "all_reduce", "-s", "64MiB", "-t", TWO, "--times", "measured", "--json", path)
    time = re.search(r"^  time +([\d.]+ us)$", printed, re.M)
    assert time and f"nodes of a kind that was measured: {time[1]}, 90 % within" in printed
    assert "it takes NVLSTree/Simple" in printed and "as measured NVLSTree/Simple" in printed
    assert json.loads(path.read_text())["collectives"][0]["algorithm"] == "as measured NVLSTree/Simple"
    model = said("simulate", "all_reduce", "-s", "64MiB", "-t", TWO, "--times", "nccl")
    assert time[1] not in re.search(r"^  time .*$", model, re.M)[0] and time[1] in model


def test_curves_and_sweeps_take_them_too(tmp_path: Path) -> None:
    printed = said("simulate", "all_reduce", "-s", "1MiB..4MiB", "-t", TWO, "--times", "measured")
    (row,) = re.findall(r"^ +2 MiB +([\d.]+ us) .* as measured NVLSTree/Simple$", printed, re.M)
    assert re.search(rf"^ +2 MiB {row}, 90 % within", printed, re.M)
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(f"collective: all_reduce\ntopology: ['{TWO}']\nsize: [2MiB]\ntimes: [nccl, measured]\n")
    said("sweep", sweep, "-o", tmp_path / "out")
    nccl, measured = list(csv.DictReader((tmp_path / "out" / "results.csv").read_text().splitlines()))
    assert nccl["times"] == "nccl" and nccl["used_algorithm"] == "NCCL's model NVLSTree/Simple"
    assert measured["used_algorithm"] == "as measured NVLSTree/Simple" and f"{row}, 90 % within" in measured["notes"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("-t", "ndv2:nodes=2"), "no nodes like ndv2:nodes=2 were measured"),
        (("-t", "ring:8,bandwidth=50GB/s,latency=1us"), "NCCL runs, and it runs none here"),
        (("-t", TWO, "--algorithm", "ring"), "NCCL runs, and it runs none here"),
        (("-t", TWO, "--algorithm", "nccl:ring/ll"), "is of what NCCL itself does"),
        (("-t", TWO, "--model", "flow"), "is of what NCCL itself does"),
        (("-t", TWO, "--late", "0=1us"), "or --late"),
    ],
)
def test_what_has_no_measured_times_is_refused(options: tuple[str, ...], why: str) -> None:
    done = hocket("simulate", "all_reduce", "-s", "1MiB", "--times", "measured", *options)
    assert done.returncode == 2 and why in done.stderr
