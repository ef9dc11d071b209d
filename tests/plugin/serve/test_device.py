"""Programs on a device of streams, with a backend that is late: order and memory are held by what comes out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import handmade
import pytest

from hocket.schedule import Kind

pytestmark = pytest.mark.torch

JOB = Path(__file__).with_name("device_job.py")


def test_programs_keep_the_order_of_a_gpu_s_streams(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    programs = handmade.write(tmp_path / "made", handmade.ring_all_reduce(2), handmade.direct_reduce_scatter(2))
    report = tmp_path / "report.json"
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    places = os.pathsep.join([str(Path(__file__).parents[2] / "late_device"), os.environ.get("PYTHONPATH", "")])
    environment = {"OMP_NUM_THREADS": "1", "PYTHONPATH": places, "HOCKET_ALGORITHMS_REPORT": str(report)}
    finished = subprocess.run(
        [*torchrun, str(JOB), str(programs)], env=os.environ | environment, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr[-4000:]
    found = json.loads(report.read_text())
    calls = {entry["collective"]: (entry["calls"], entry["calls_by_p2p"]) for entry in found["algorithms"]}
    assert calls == {Kind.ALL_REDUCE: (7, 7), Kind.REDUCE_SCATTER: (2, 2)}
    twin = next(entry["group"] for entry in found["stock"] if entry["group"] != "world")
    stock = [(entry["operation"], entry["reason"], entry["group"], entry["calls"]) for entry in found["stock"]]
    assert sorted(stock) == [
        ("allreduce", "a graph is captured", "world", 1),
        ("allreduce", "first call of this group happens in a capture: warm up first", twin, 1),
    ]
