"""What communicates past the dispatcher is told of in the summary."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys, types
import torch, torch.distributed as dist
from torch._C._distributed_c10d import _SymmetricMemory
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(4))
for again in range(2):
    dist.group.WORLD._get_backend(torch.device("cpu")).allreduce([torch.ones(4)]).wait()
    with_no_memory_here(_SymmetricMemory)
sys.modules["torchcomms"] = types.ModuleType("torchcomms")
dist.all_reduce(torch.ones(4))
dist.destroy_process_group()
"""
# Symmetric memory needs devices: what asks for it raises here, and is then no use of it.
RAISES = """
def with_no_memory_here(memory):
    try:
        memory.rendezvous(torch.ones(4), "0")
    except RuntimeError:
        pass
"""
# As on a device, where it returns. Set before the collector comes: at the import of torch.
RETURNS = """
def with_no_memory_here(memory):
    memory.rendezvous(torch.ones(4), "0")
"""
LATE = """
import torch
from torch._C._distributed_c10d import _SymmetricMemory
_SymmetricMemory.rendezvous = staticmethod(lambda tensor, group: None)
"""


def unseen(folder: Path, script: str, hook: str) -> list[str]:
    """What the summary of the script's collection says."""
    (folder / "script.py").write_text(script)
    starter = folder / "start.py"
    starter.write_text(
        f"{LATE if RETURNS in script else ''}\nimport sys\nfrom hocket.collect import main\nmain(sys.argv[1:])\n"
    )
    environment = os.environ | {"HOCKET_COLLECT_HOOK": hook, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(starter), "--out", str(folder / "out"), str(folder / "script.py")]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr
    (summary,) = (folder / "out").rglob("summary.json")
    told: list[str] = json.loads(summary.read_text())["unseen"]
    assert all(f"unseen: {what}" in finished.stdout for what in told)
    return told


@pytest.mark.torch
def test_what_passes_the_dispatcher_by_is_told_once(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    told = unseen(tmp_path, RETURNS + SCRIPT, "python")
    assert [what.removeprefix("rank 0: ").partition(" (")[0].partition(" of ")[0] for what in told] == [
        "calls on a backend itself",
        "operations on symmetric memory",
        "what communicators",
    ]


@pytest.mark.torch
def test_memory_that_could_not_be_had_is_not_told_of(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    told = unseen(tmp_path, RAISES + SCRIPT.replace('sys.modules["torchcomms"] =', "unused ="), "python")
    assert len(told) == 1 and "ProcessGroupGloo.allreduce" in told[0]
