"""`hocket doctor`: what is here works, what is absent says what it would add, what is broken ends with 1."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SHADOWS = {"mpi4py": "raise RuntimeError('no fabric')", "torch": "raise ImportError('libcudart.so.99: cannot open')"}


def doctor(folder: Path, **environment: str) -> tuple[int, dict[str, Any]]:
    told = folder / "doctor.json"
    command = [sys.executable, "-m", "hocket", "doctor", "--json", told]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    form = json.loads(told.read_text())
    assert "\n".join(form["lines"]) + "\n" == done.stdout
    return done.returncode, form


def test_what_is_here_works_and_commands_that_are_absent_say_what_they_would_add(tmp_path: Path) -> None:
    """With a PATH on which no command is, but with a Python that has all packages, of which none is imported: each is
    shadowed by a module that does nothing but be there."""
    for module in ("torch", "mpi4py", "pyarrow", "highspy"):
        (tmp_path / f"{module}.py").write_text(SHADOWS.get(module, ""))
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    code, form = doctor(tmp_path, PATH="", PYTHONPATH=path, CXX="")
    parts = {part["part"]: part for part in form["parts"]}
    assert {name for name, part in parts.items() if part["state"] == "works"} >= {
        "engine",
        "NCCL profiler",
        "NCCL tuner",
    }
    for name in ("C++ compiler", "Chromium"):
        assert parts[name]["state"] == "absent" and "would add" in parts[name]["found"] and parts[name]["remedy"]
    broken = {name: part for name, part in parts.items() if part["state"] == "broken"}
    assert {*broken} == {"PyTorch", "mpi4py"} and code == form["exit_code"] == 1
    assert "cannot open" in broken["PyTorch"]["found"] and "no fabric" in broken["mpi4py"]["found"]
    assert broken["PyTorch"]["remedy"] == "pip install 'torch>=2.4'"


def test_odd_installations_are_found_not_met(tmp_path: Path) -> None:
    """A CXX that is no command line, a driver's tool for another processor, packages that pip knows nothing of."""
    for module in ("torch", "mpi4py", "pyarrow", "highspy", "pandas"):
        (tmp_path / f"{module}.py").write_text(SHADOWS.get(module, ""))
    (tmp_path / "nvidia-smi").write_bytes(b"\x7fELF of another")
    (tmp_path / "nvidia-smi").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    code, form = doctor(tmp_path, PATH=str(tmp_path), PYTHONPATH=path, CXX="g++ '-O2")
    parts = {part["part"]: part for part in form["parts"]}
    assert code == 1 and parts["pandas"]["state"] == "works"
    assert parts["GPU driver"]["state"] == parts["C++ compiler"]["state"] == "broken"
    assert "CXX" in parts["C++ compiler"]["found"] and "nvidia-smi" in parts["GPU driver"]["found"]


def test_a_plugin_that_does_not_load_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hocket.api.doctor import native_parts
    from hocket.api.progress import SILENT

    path = tmp_path / "libnccl-tuner-hocket.so"
    path.write_bytes(b"no library")
    monkeypatch.setitem(native_parts._PLUGINS, "NCCL tuner", (lambda: path, "ncclTunerPlugin_v3"))
    profiler, tuner = native_parts.nccl_plugins(SILENT)
    assert (str(profiler.state), str(tuner.state)) == ("works", "broken")
    assert str(path) in tuner.found and tuner.remedy
