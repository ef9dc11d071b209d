"""The file of a self-test as measurements: for `hocket calibrate`, and for `hocket simulate --times`."""

import json
import zipfile
from pathlib import Path

import pytest
from in_process import hocket
from selftests import table, write_file_of

from hocket.base.errors import FormatError
from hocket.calibration import read_measurements

FULL = "fully_connected:2,bandwidth=1GB/s,latency=1us"
#: 10 us and a byte a nanosecond.
ROWS = [(1 << power, 10 + (1 << power) / 1000) for power in range(10, 21, 2)]


def test_the_stock_library_s_rows_are_measurements(tmp_path: Path) -> None:
    path = write_file_of(tmp_path, stock=table(ROWS), device=table([(1024, 1.0)]))
    found = read_measurements([path])
    assert [(each.size_bytes, each.ranks, each.nodes, each.in_place) for each in found] == [
        (size, 2, 1, True) for size, _ in ROWS
    ]
    assert found[0].time_ps == pytest.approx(11.02e6, rel=0.01)
    assert found[0].place.startswith(f"{path}: stock/table.txt:")


def test_gpus_come_before_processors_with_their_names_and_version_of_nccl(tmp_path: Path) -> None:
    path = write_file_of(tmp_path, stock=table(ROWS), gpu_stock=table(ROWS[:4], ranks=8, library="nccl"))
    found = read_measurements([path])
    assert {each.ranks for each in found} == {8} and len(found) == 4
    run = found[0].run
    assert run is not None and run.version == "2.29.7" and run.devices == {"NVIDIA H100 80GB HBM3"}


def test_calibrate_reads_it(tmp_path: Path) -> None:
    done = hocket("calibrate", write_file_of(tmp_path, stock=table(ROWS)))
    assert done.returncode == 0, done.stderr
    assert f"{len(ROWS)} measurements of 1 curve" in done.stdout and "all_reduce" in done.stdout


def simulated(path: Path, *options: object, size: str = "64KiB") -> dict[str, object]:
    json_file = path.parent / "made.json"
    done = hocket("simulate", "all_reduce", "-s", size, "-t", FULL, "--times", path, "--json", json_file, *options)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(json_file.read_text()))


def test_simulate_takes_its_times(tmp_path: Path) -> None:
    path = write_file_of(tmp_path, stock=table(ROWS))
    found = simulated(path)
    assert found["time_ps"] == pytest.approx((10 + 65.536) * 1e6, rel=0.1)
    assert "all_reduce on 2 ranks of 1 node, 1 KiB to 1 MiB" in str(found["assumed"])
    assert "extrapolated" not in str(found["assumed"])
    assert "extrapolated" in str(simulated(path, size="16MiB")["assumed"])


def test_a_curve_takes_its_times(tmp_path: Path) -> None:
    path, csv = write_file_of(tmp_path, stock=table(ROWS)), tmp_path / "made.csv"
    done = hocket("simulate", "all_reduce", "-s", "1KiB..64KiB:8", "-t", FULL, "--times", path, "--csv", csv)
    assert done.returncode == 0, done.stderr
    assert "all_reduce on 2 ranks of 1 node" in done.stdout
    assert len(csv.read_text().splitlines()) == 1 + 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-t", "fully_connected:4,bandwidth=1GB/s,latency=1us"), "on 4 ranks was not measured"),
        (("-t", FULL, "--algorithm", "ring"), "drop it, or --algorithm"),
        (("-t", FULL, "--times", "absent.zip"), "absent.zip: no such file of measurements"),
    ],
)
def test_what_it_does_not_tell_is_refused(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = write_file_of(tmp_path, stock=table(ROWS))
    done = hocket("simulate", "all_reduce", "-s", "64KiB", "--times", path, *options)
    assert done.returncode == 2 and message in done.stderr.replace("\n", " ")


def test_a_file_without_tables_says_why(tmp_path: Path) -> None:
    content = {"format": "hocket.selftest", "version": 1, "parts": {"stock": {"reasons": ["PyTorch is not installed"]}}}
    path = tmp_path / "out.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("selftest.json", json.dumps(content))
    with pytest.raises(FormatError, match="PyTorch is not installed"):
        read_measurements([path])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "not of hocket selftest"),
        ("[1]", "not of hocket selftest"),
        ('{"format": "hocket.selftest", "version": 9}', "version 9"),
    ],
)
def test_another_zip_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "out.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("selftest.json", content)
    with pytest.raises(FormatError, match=message):
        read_measurements([path])


def test_wrong_values_and_damage_are_refused(tmp_path: Path) -> None:
    path = write_file_of(tmp_path, stock=table(ROWS).replace("      0\n", "      3\n", 1))
    with pytest.raises(FormatError, match=r"stock/table.txt:\d+: 3 wrong values"):
        read_measurements([path])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(FormatError, match="no zip file, or a damaged one"):
        read_measurements([path])
