"""The half for processors, once with real processes, and what is made of its file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import hocket
from selftests import manifest, members, selftest, states

from hocket.calibration import read_measurements

pytestmark = pytest.mark.torch
#: In environment and folders; none may be in the file.
SECRETS = {"USER": "marigold", "LOGNAME": "marigold", "HOCKET_TOKEN": "s3cr3t-t0ken", "HOSTNAME": "larkspur-node-7"}
PARTS = ["versions", "programs", "stock", "native", "device", "messages", "job"]
KINDS = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "gather", "scatter"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    """The folder of `out.zip`, in a folder with a private name."""
    folder = tmp_path_factory.mktemp("private") / "hellebore"
    folder.mkdir()
    return folder, selftest(folder, "--gpu", **SECRETS)


Made = tuple[Path, "subprocess.CompletedProcess[str]"]


def test_all_parts_pass_and_no_gpu_is_told(made: Made) -> None:
    folder, done = made
    assert done.returncode == 0, done.stdout + done.stderr
    assert states(folder) == dict.fromkeys(PARTS, "passed")
    assert "no GPU here: nvidia-smi is not on PATH, or lists none; PyTorch" in done.stdout
    assert "7 passed of 7 parts; wrote out.zip: send it back" in done.stdout
    assert manifest(folder)["finished"] is True


def test_the_libraries_times_stand_beside_each_other(made: Made) -> None:
    rows = [line.split() for line in made[1].stdout.splitlines()]
    assert ["collective", "size", "stock", "us", "native", "us", "device", "us", "messages", "us"] in rows
    times = [row for row in rows if row[:1] == ["all_reduce"] and len(row) == 7]
    assert len(times) == 5 and all(float(cell) > 0 for row in times for cell in row[3:])


def test_every_collective_type_and_reduction_was_called(made: Made) -> None:
    checks = members(made[0])["device/checks.txt"].decode()
    for kind in KINDS:
        assert f"programs by the device engine: {kind} on 2 gloo ranks" in checks
    types = {line.split()[2] for line in checks.splitlines() if line[:12].strip().isdecimal()}
    assert types == {"float", "double", "half", "bfloat16", "int8", "uint8", "int32", "int64"}
    served = json.loads(members(made[0])["device/served.json"])
    assert {program["collective"] for program in served["algorithms"]} == KINDS
    assert all(program["calls"] for program in served["algorithms"])


def test_the_job_was_collected(made: Made, tmp_path: Path) -> None:
    for name, content in members(made[0]).items():
        if name.startswith("job/traces/"):
            (tmp_path / Path(name).name).write_bytes(content)
    done = hocket("trace", "info", tmp_path)
    assert done.returncode == 0 and "2 ranks" in done.stdout, done.stderr


def test_nothing_private_is_in_it(made: Made) -> None:
    private = ["marigold", "s3cr3t", "larkspur", "hellebore", str(made[0].parent), sys.prefix, str(Path.cwd())]
    for name, content in members(made[0]).items():
        for word in private:
            assert word.encode() not in content, (name, word)
            assert word not in name


def test_calibrate_and_simulate_take_it(made: Made) -> None:
    path = made[0] / "out.zip"
    found = read_measurements([path])
    assert {str(each.kind) for each in found} == KINDS
    done = hocket("calibrate", path)
    assert done.returncode == 0 and "of 8 curves" in done.stdout, done.stderr
    full = "fully_connected:2,bandwidth=1GB/s,latency=1us"
    done = hocket("simulate", "all_reduce", "-s", "64KiB", "-t", full, "--times", path)
    assert done.returncode == 0 and "all_reduce on 2 ranks of 1 node, 1 KiB to 4 MiB" in done.stdout, done.stderr


#: All collectives between two ranks whose tensors are copied to and fro, as on a device.
COPIED = """
import torch, torch.distributed as dist
from hocket.runtime.selftest.calls import checks, placements
from hocket.runtime.selftest.placed import PlacedBuffers
dist.init_process_group("gloo")
for task in (each for each in checks(2, "gloo") if each.data_type in ("float32", "bfloat16") and each.op == "sum"):
    for in_place in placements(task.kind):
        buffers = PlacedBuffers(task, dist.get_rank(), task.sizes[1], in_place, torch.device("cpu"), copied=True)
        buffers.fill()
        assert not task.kind.spreads or dist.get_rank() == 0 or buffers.wrong()  # before anything came
        buffers.call()
        assert buffers.wrong() == 0, (task, in_place)
print("right", flush=True)
dist.destroy_process_group()  # else gloo's threads may outlive what they use, and abort the process at its end
"""


def test_tensors_that_are_copied_to_a_device_are_right(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(COPIED)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "job.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.count("right") == 2, done.stderr
