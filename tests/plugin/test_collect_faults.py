"""What befalls a job that is collected: the job goes on, what was recorded stays, and somebody is told."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import streams

from hocket.plugin.torch.folder import stream_path

pytestmark = pytest.mark.torch

ONE_RANK = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
"""

# As on a PyTorch that is newer than this version of Hocket.
NEWER_TORCH = """
import sys
from hocket.plugin.torch import operations
del operations.OPERATIONS["allreduce_coalesced_"]
from hocket.collect import main
main(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def _torch() -> None:
    pytest.importorskip("torch")


@pytest.fixture(params=["native", "python"])
def hook(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=200)


def script(folder: Path, text: str) -> str:
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def test_every_operation_of_this_torch_is_known() -> None:
    """A newer PyTorch that fails here has an operation for OPERATIONS or, if it moves nothing, for LOCAL."""
    from hocket.plugin.torch.signature import unknown_operations

    assert unknown_operations() == []


def test_an_operation_of_a_newer_torch_is_named_once(tmp_path: Path, hook: str) -> None:
    twice = ONE_RANK + "for _ in range(2): dist.all_reduce_coalesced([torch.ones(3)]); dist.all_reduce(torch.ones(3))"
    out = tmp_path / "out"
    command = [sys.executable, "-c", NEWER_TORCH, "--out", str(out), script(tmp_path, twice)]
    finished = run(command, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    assert [call["op"] for call in streams.calls(stream_path(out, 0))] == ["allreduce_"] * 2
    (problem,) = json.loads((out / "summary.json").read_text())["mismatches"]
    assert problem["problem"] == "not recorded"
    assert "allreduce_coalesced_: not known to this version of Hocket, and not recorded" in problem["message"]
