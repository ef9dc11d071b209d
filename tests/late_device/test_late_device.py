"""The device of the tests of streams and events keeps a GPU's order: else what they show would be worth nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

FOLDER = Path(__file__).parent


def test_the_device_keeps_a_gpu_s_order() -> None:
    pytest.importorskip("torch")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    finished = subprocess.run(
        [*torchrun, str(FOLDER / "late_device_job.py")], env=environment, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("as a GPU") == 2
