"""Whether there is a GPU to be tested, and where it was looked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["what_is_missing"]


def what_is_missing(versions: dict[str, Any]) -> Iterator[str]:
    """Nothing where PyTorch or the driver have a GPU; else a line that says so, by what `versions` found."""
    if versions.get("gpus") or versions.get("smi_gpus"):
        return
    torch = "PyTorch is not installed, or cannot be imported"
    if versions.get("torch"):
        torch = f"PyTorch {versions['torch']} sees none" + ("" if versions.get("cuda") else ", built without CUDA")
    yield f"no GPU here: nvidia-smi is not on PATH, or lists none; {torch}. The half for CPU cores is tested alone"
