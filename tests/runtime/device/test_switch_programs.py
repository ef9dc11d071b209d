"""Files over switches, run on threads: every collective, what other transports say, and a job that they serve."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from in_process import hocket

from hocket.schedule import Collective, Kind, retime, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator.bundle import read_bundle

RANKS = 4
NVLS = load(f"dgx-h100:gpus={RANKS},nvls=1")
JOB = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
for count in (8, 4099, 100_000):
    for dtype, op in ((torch.float32, "SUM"), (torch.bfloat16, "SUM"), (torch.float32, "AVG"), (torch.int64, "MAX")):
        tensor = torch.full((count,), rank + 1, dtype=dtype)
        dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
        right = {"SUM": 10, "AVG": 2.5, "MAX": 4}[op]
        assert bool((tensor == right).all()), (count, dtype, op, tensor)
dist.destroy_process_group()
"""


def bundled(folder: Path, kind: Kind) -> Path:
    made, network = "nvls", NVLS
    if kind is Kind.BROADCAST:
        made, network = "switch_tree", load(f"switch:{RANKS},bandwidth=100GB/s,latency=500ns,in_network=1")
    root = 2 if kind is Kind.BROADCAST else 0
    path = folder / f"{kind}.schedule"
    save(retime(build(made, Collective(kind, RANKS, 1 << 22, 2, root=root), network)), path)
    done = hocket("translate", path, "--to", "device", "--channels", "8", "--bundle", folder / str(kind))
    assert done.returncode == 0, done.stderr
    return folder / str(kind)


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.BROADCAST])
def test_every_value_is_right(kind: Kind, tmp_path: Path) -> None:
    """Of sizes that nothing divides, too; that of slices is in test_switches.py."""
    folder = bundled(tmp_path, kind)
    for file in read_bundle(folder).files:
        done = hocket("verify", folder / file.path)
        assert done.returncode == 0 and "chunks over switches: no deadlock, no race" in done.stdout, done.stderr
    common = ("run", "--bundle", folder, "--transport", "device", "--iters", "1", "--warmup", "1")
    for options in (("-b", "1200", "-e", "120000", "-f", "100"), ("-b", "4080", "--dtype", "bfloat16", "--op", "max")):
        done = hocket(*common, *options)
        assert done.returncode == 0, done.stderr
        assert "# Out of bounds values : 0 OK" in done.stdout and "none: stock" not in done.stdout, done.stdout


def test_other_transports_say_what_they_lack(tmp_path: Path) -> None:
    folder = bundled(tmp_path, Kind.ALL_REDUCE)
    file = folder / read_bundle(folder).files[0].path
    for what in (("--bundle", folder), (file,)):
        done = hocket("run", *what, "-b", "1M")
        assert done.returncode != 0
        assert "over switches, which the device engine alone runs: give --transport device" in done.stderr
    done = hocket("run", file, "--transport", "device", "-b", "64K", "--iters", "1", "--warmup", "1")
    assert "# Out of bounds values : 0 OK" in done.stdout, done.stderr


@pytest.mark.torch
def test_a_job_on_gloo(tmp_path: Path) -> None:
    """Sums, and what the kernel does not do itself, a mean; under another engine they are the stock library's."""
    pytest.importorskip("torch")
    folder, script = bundled(tmp_path, Kind.ALL_REDUCE), tmp_path / "job.py"
    script.write_text(JOB)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}", str(script)]
    for engine, calls in (("device", 12), ("native", 0)):
        report = tmp_path / f"{engine}.json"
        variables = {"HOCKET_ALGORITHMS": str(folder), "HOCKET_ALGORITHMS_REPORT": str(report), "OMP_NUM_THREADS": "1"}
        environment = {**os.environ, **variables, "HOCKET_ALGORITHMS_ENGINE": engine}
        done = subprocess.run(torchrun, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr[-4000:]
        found = json.loads(report.read_text())
        assert sum(entry["calls"] for entry in found["algorithms"]) == calls, found
        if not calls:
            assert {entry["reason"] for entry in found["stock"]} == {
                "its programs are over switches, which the device engine alone runs"
            }
