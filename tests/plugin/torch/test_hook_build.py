"""The native hook is built beside the first job that lacks it, for the next; the slow one says what it costs."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
for _ in range(100):
    dist.all_reduce(torch.ones(4))
"""

# Says how often it is called, waits until the job is over, and gives out the library that another compiler made.
COMPILER = """#!/bin/sh
echo called >> {folder}/calls
while [ ! -e {folder}/over ]; do sleep 0.1; done
for last; do :; done
{makes}
"""


@pytest.fixture
def library() -> Path:
    """Built before, or now."""
    pytest.importorskip("torch")
    from hocket.plugin.torch.native.library import build_library

    return build_library()


def compiler(folder: Path, makes: str) -> str:
    path = folder / "compiler"
    path.write_text(COMPILER.format(folder=folder, makes=makes))
    path.chmod(0o755)
    return str(path)


def collect(folder: Path, **variables: str) -> str:
    """What a job under no launcher of ours says of its hook."""
    pytest.importorskip("torch")
    script = folder / "script.py"
    script.write_text(SCRIPT)
    fixed = {"HOCKET_COLLECT": str(folder / "out"), "HOCKET_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, str(script)], env=os.environ | fixed | variables, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("hook: ")]
    return line


def await_file(folder: Path, pattern: str) -> Path:
    while not (found := [*folder.glob(pattern)]):
        time.sleep(0.1)
    return found[0]


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().splitlines())


def test_the_next_job_has_the_native_hook(tmp_path: Path, library: Path) -> None:
    """The first is over before the compiler is; a second at the same time begins no other build."""
    made = compiler(tmp_path, f'cp {library} "$last"')
    first = collect(tmp_path, CXX=made)
    assert "yet: it is being built in the background, for the next job; it took 100 calls x " in first
    assert re.search(r"100 calls x \d+\.\d us = \d+\.\d\d% of the time of rank 0$", first)
    await_file(tmp_path, "calls")
    assert "it is being built in the background" in collect(tmp_path, CXX=made)
    (half,) = (tmp_path / "cache").glob(".hocket_hook-*")
    (tmp_path / "over").touch()
    await_file(tmp_path / "cache", "hocket_hook-*.so")
    assert not half.exists() and calls(tmp_path) == 1
    assert collect(tmp_path, CXX=made) == "hook: native"


def test_a_build_that_failed_is_said_and_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "over").touch()
    made = compiler(tmp_path, "exit 1")
    assert "it is being built in the background" in collect(tmp_path, CXX=made)
    await_file(tmp_path / "cache", "*.failed")
    told = collect(tmp_path, CXX=made)
    assert "its build failed: hocket_hook could not be built by: " in told
    assert "`hocket collect build` tries again" in told and calls(tmp_path) == 1


def test_what_a_build_that_was_killed_left_goes_with_the_next(tmp_path: Path, library: Path) -> None:
    (tmp_path / "over").touch()
    made = compiler(tmp_path, f'cp {library} "$last"')
    collect(tmp_path, CXX=made)
    built = await_file(tmp_path / "cache", "hocket_hook-*.so")
    built.rename(half := built.with_name(f".{built.name}.0123456789abcdef.part"))
    collect(tmp_path, CXX=made)
    await_file(tmp_path / "cache", "hocket_hook-*.so")
    assert not half.exists()


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"CXX": "no-such-compiler"}, "yet: there is no compiler no-such-compiler to build it"),
        ({"HOCKET_COLLECT_NO_BUILD": "1"}, "yet: `hocket collect build` builds it"),
        ({"LOCAL_RANK": "1"}, "yet: it is being built in the background"),  # by local rank 0
    ],
)
def test_nothing_is_built_where_it_cannot_or_shall_not(tmp_path: Path, variables: dict[str, str], told: str) -> None:
    assert told in collect(tmp_path, **{"CXX": compiler(tmp_path, "")} | variables)
    time.sleep(0.5)
    assert not (tmp_path / "calls").exists() and not (tmp_path / "cache").exists()
