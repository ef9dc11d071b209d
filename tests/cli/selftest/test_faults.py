"""Self-tests in which something is missing, crashes, hangs or is interrupted."""

import signal
import subprocess
from pathlib import Path

import pytest
from selftests import NO_TORCH, command, environment, manifest, members, selftest, states, stub_command

#: Of two GPUs, as drivers print it.
MATRIX = (
    "\t\033[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
    "GPU0\t X \tNV18\t0-63\t0\t\tN/A\nGPU1\tNV18\t X \t0-63\t0\t\tN/A\n"
)
DRIVER = "NVIDIA H100 80GB HBM3, 560.35.03"


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """A folder whose modules and commands come first; PyTorch is hidden there."""
    folder = tmp_path / "stubs"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(NO_TORCH)
    return folder


def stub_driver(stubs: Path, last: str = "") -> None:
    """An nvidia-smi that lists two GPUs."""
    (stubs / "matrix").write_text(MATRIX)
    script = f'case "$1" in topo) cat {stubs}/matrix;; *) printf "{DRIVER}\\n{DRIVER}\\n";; esac\n{last}'
    stub_command(stubs, "nvidia-smi", script)


def test_what_needs_pytorch_is_skipped_without_it(tmp_path: Path, stubs: Path) -> None:
    done = selftest(tmp_path, "--gpu", "--only", "stock", "--only", "job", stubs=stubs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no GPU here" in done.stdout and "PyTorch is not installed" in done.stdout
    assert states(tmp_path) == {"versions": "passed", "stock": "skipped", "job": "skipped"}
    assert "pip install 'torch>=2.4'" in manifest(tmp_path)["parts"]["stock"]["reasons"][0]


def test_gpus_of_the_driver_alone(tmp_path: Path, stubs: Path) -> None:
    """Without PyTorch the topology is what nvidia-smi prints."""
    stub_driver(stubs)
    done = selftest(tmp_path, "--gpu", "--only", "gpu-topology", "--only", "gpu-stock", stubs=stubs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert states(tmp_path) == {"versions": "passed", "gpu-topology": "passed", "gpu-stock": "skipped"}
    assert "2 ranks" in manifest(tmp_path)["parts"]["gpu-topology"]["said"]
    assert members(tmp_path)["gpu-topology/nvidia-smi-topo.txt"].decode() == MATRIX


@pytest.mark.torch
def test_gpus_that_pytorch_does_not_see_are_a_fault(tmp_path: Path, stubs: Path) -> None:
    stub_driver(stubs)
    (stubs / "sitecustomize.py").unlink()
    done = selftest(tmp_path, "--gpu", "--only", "gpu-stock", stubs=stubs, CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 1
    assert "nvidia-smi lists 2 GPUs and PyTorch" in done.stdout and "sees none" in done.stdout


def test_a_part_that_crashes_takes_no_other_along(tmp_path: Path, stubs: Path) -> None:
    """PyTorch's import ends its process."""
    (stubs / "sitecustomize.py").unlink()
    (stubs / "torch").mkdir()
    (stubs / "torch" / "__init__.py").write_text("import os\nos.abort()\n")
    done = selftest(tmp_path, "--only", "stock", stubs=stubs)
    assert done.returncode == 1
    assert "import torch: was ended by signal 6" in done.stdout
    assert states(tmp_path) == {"versions": "failed", "stock": "skipped"}
    assert manifest(tmp_path)["parts"]["versions"]["facts"]["python"]


def test_a_part_that_hangs_is_ended(tmp_path: Path, stubs: Path) -> None:
    stub_driver(stubs, "[ $1 != topo ] || { echo stuck; exec sleep 600; }")
    done = selftest(tmp_path, "--gpu", "--only", "gpu-topology", "--timeout", 15, stubs=stubs)
    assert done.returncode == 1
    assert "was not done in time" in done.stdout
    assert states(tmp_path) == {"versions": "passed", "gpu-topology": "failed"}


def test_a_file_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "out.zip").mkdir()
    done = selftest(tmp_path)
    assert done.returncode == 3 and "out.zip" in done.stderr and not done.stdout


def interrupted_behind(part: str, folder: Path, *options: str, stubs: Path) -> list[str]:
    """What it printed up to the line of that part, at which it got Ctrl-C."""
    printed = []
    with subprocess.Popen(
        command(*options), cwd=folder, env=environment(stubs), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            printed.append(line)
            if line.startswith(part):
                break
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    return printed


def test_what_was_done_before_an_interrupt_is_kept(tmp_path: Path, stubs: Path) -> None:
    """Ctrl-C in gpu-programs, which takes seconds; the next run goes on."""
    stub_driver(stubs)
    options = ("--gpu", "--only", "gpu-topology", "--only", "gpu-programs")
    for run in ("first", "second"):
        printed = interrupted_behind("gpu-topology", tmp_path, *options, stubs=stubs)
        assert ("done before" in printed[-1]) is (run == "second")
        assert states(tmp_path) == {"versions": "passed", "gpu-topology": "passed"}
        assert manifest(tmp_path)["finished"] is False
        assert "gpu-topology/nvidia-smi-topo.txt" in members(tmp_path)
