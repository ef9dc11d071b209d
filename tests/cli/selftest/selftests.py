"""`hocket selftest` as a process of its own, and the file that it writes."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

#: As if PyTorch were not installed.
NO_TORCH = (
    "import importlib.util as u, sys\n"
    "find = u.find_spec\n"
    "u.find_spec = lambda name, package=None: None if name == 'torch' else find(name, package)\n"
    "sys.modules['torch'] = None\n"
)


def environment(stubs: Path | None = None, **more: str) -> dict[str, str]:
    """With modules and commands of a folder before all others."""
    own = os.environ | more
    if stubs is not None:
        own |= {"PYTHONPATH": os.pathsep.join([str(stubs), os.environ.get("PYTHONPATH", "")])}
        own |= {"PATH": os.pathsep.join([str(stubs), own["PATH"]])}
    return own


def command(*options: object) -> list[str]:
    return [sys.executable, "-m", "hocket", "selftest", "-n", "2", "-o", "out.zip", *map(str, options)]


def selftest(
    folder: Path, *options: object, stubs: Path | None = None, **more: str
) -> "subprocess.CompletedProcess[str]":
    """Runs it in the folder, into `out.zip`."""
    return subprocess.run(
        command(*options), cwd=folder, env=environment(stubs, **more), capture_output=True, text=True, check=False
    )


def members(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(folder / "out.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest(folder: Path) -> dict[str, Any]:
    return dict(json.loads(members(folder)["selftest.json"]))


def states(folder: Path) -> dict[str, str]:
    return {name: part["state"] for name, part in manifest(folder)["parts"].items()}


def stub_command(folder: Path, name: str, script: str) -> None:
    """A command of that name, of a shell's lines."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def table(rows: list[tuple[int, float]], kind: str = "all_reduce", ranks: int = 2, library: str = "gloo") -> str:
    """What a part leaves in `table.txt`: bytes, and microseconds in place."""
    from hocket.runtime.run.job import Result, Row, RunTask
    from hocket.runtime.selftest.rows import JoinedTask, tables
    from hocket.schedule import Kind

    task = RunTask(Kind(kind), ranks, 0, library, tuple(size for size, _ in rows))
    done = [Row(size, size // 4, None, Result(round(us * 1e6), 0), None) for size, us in rows]
    described = [{"device": "NVIDIA H100 80GB HBM3"}] * ranks
    return tables([JoinedTask(task, done)], f"stock {library}", described, 22907 if library == "nccl" else 0)


def write_file_of(folder: Path, **tables: str) -> Path:
    """A self-test's file with these tables: `gpu_stock` for `gpu-stock/table.txt`."""
    content = {"format": "hocket.selftest", "version": 1, "finished": True, "asked": {}, "parts": {}}
    path = folder / "out.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("selftest.json", json.dumps(content))
        for part, text in tables.items():
            archive.writestr(f"{part.replace('_', '-')}/table.txt", text)
    return path
