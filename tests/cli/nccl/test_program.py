"""`hocket nccl program`: NCCL's own algorithms as MSCCL XML that is read back, run and rewritten."""

import subprocess
import sys
from pathlib import Path

import pytest
from generated_machines import machine_text, model_of
from in_process import hocket

from hocket.nccl.programs import NcclProgram, nccl_program
from hocket.translator import from_xml


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "four.xml"
    path.write_text(machine_text(gpus=4, nics=4))
    return path


@pytest.mark.parametrize("algorithm", ["ring/ll128/4", "tree/simple/2"])
def test_what_nccl_does_is_written_and_run(machine: Path, tmp_path: Path, algorithm: str) -> None:
    output = tmp_path / "nccl.xml"
    done = hocket("nccl", "program", "--topology", machine, "-s", "1MiB", "--algorithm", algorithm, "-o", output)
    assert done.returncode == 0, done.stderr
    assert "no deadlock, no race, every contribution exactly once" in done.stdout
    name, protocol, channels = algorithm.split("/")
    kinds = {"ring": "Ring", "tree": "Tree", "ll128": "LL128", "simple": "Simple"}
    model = model_of(tmp_path, machine_text(gpus=4, nics=4))
    found = nccl_program(model, "AllReduce", 1 << 20, kinds[name], kinds[protocol], int(channels))
    assert isinstance(found, NcclProgram)
    read = from_xml(output.read_text(), str(output))
    assert (read.gpus, read.protocol) == (found.program.gpus, kinds[protocol])
    command = ["run", str(output), "--backend", "mpi", "--size", "64KiB", "--iters", "1", "--warmup", "0"]
    ran = subprocess.run([sys.executable, "-m", "hocket", *command], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0 and "Out of bounds values : 0 OK" in ran.stdout, ran.stderr


def test_kernels_over_switches_are_no_programs(machine: Path, tmp_path: Path) -> None:
    output = tmp_path / "nvls.xml"
    done = hocket("nccl", "program", "--topology", machine, "-s", "1MiB", "--algorithm", "nvls", "-o", output)
    assert done.returncode == 3 and "which XML cannot say: take ring or tree" in done.stderr
    assert not output.exists()
