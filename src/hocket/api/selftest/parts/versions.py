"""What is installed here, and which GPUs there are."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

from hocket.api.selftest.commands import ended, printed
from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.base.memory import available_bytes
from hocket.base.version import __version__

__all__ = ["find"]

_SMI = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")


def find(place: PartPlace) -> PartOutcome:
    """Fails where PyTorch is there and cannot be imported, or does not see GPUs that the driver sees."""
    faults: list[str] = []
    facts = {**_of_machine(), "torch": None, "gpus": [], **_of_torch(place, faults), **_of_driver(faults)}
    if facts["smi_gpus"] and facts["torch"] and not facts["gpus"]:
        built = f"built for CUDA {facts['cuda']}" if facts.get("cuda") else "built without CUDA"
        faults.append(
            f"nvidia-smi lists {len(facts['smi_gpus'])} GPUs and PyTorch {facts['torch']}, {built}, sees none: install"
            " a build for the driver's CUDA (pytorch.org), or look at CUDA_VISIBLE_DEVICES"
        )
    return PartOutcome.of_faults(", ".join(_said(facts)), tuple(faults), **facts)


def _of_machine() -> dict[str, Any]:
    """Nothing that names it."""
    return {
        "hocket": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "available_bytes": available_bytes(),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def _of_torch(place: PartPlace, faults: list[str]) -> dict[str, Any]:
    if find_spec("torch") is None:
        return {}
    told = place.path / "torch.json"
    code, text = printed([sys.executable, "-m", "hocket.runtime.selftest.versions", str(told)], place.limit_s / 2)
    if told.is_file():
        return dict(json.loads(told.read_text(encoding="utf-8")))
    faults.append(f"import torch: {ended(code, text)}")
    return {}


def _of_driver(faults: list[str]) -> dict[str, Any]:
    if which(_SMI[0]) is None:
        return {"smi_gpus": [], "driver": None}
    code, text = printed(_SMI, 60.0)
    rows = [line.rpartition(", ") for line in text.splitlines() if ", " in line] if code == 0 else []
    if code:
        faults.append(f"nvidia-smi: {ended(code, text)}")
    return {"smi_gpus": [name for name, _, _ in rows], "driver": rows[0][2] if rows else None}


def _said(facts: dict[str, Any]) -> Iterator[str]:
    yield f"Hocket {facts['hocket']}"
    yield f"Python {facts['python']}"
    yield f"PyTorch {facts['torch']}" if facts["torch"] else "no PyTorch"
    if facts.get("nccl"):
        yield f"NCCL {facts['nccl']}"
    if facts["driver"]:
        yield f"driver {facts['driver']}"
    gpus = facts["gpus"] or facts["smi_gpus"]
    yield f"{len(gpus)} x {gpus[0]}" if gpus else f"{facts['cores']} cores, no GPU"
