"""What PyTorch says of itself, as JSON: `python -m hocket.runtime.selftest.versions FILE`. A process of its own: its
import may crash, or hang at a driver."""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from hocket.base.scratch import hand_over

__all__ = ["described"]


def described() -> dict[str, Any]:
    """Versions, backends, and the GPUs that PyTorch sees; `nccl`: as NCCL counts them (22907)."""
    has_groups = dist.is_available()
    has_nccl = has_groups and dist.is_nccl_available() and torch.version.cuda is not None
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "gloo": has_groups and dist.is_gloo_available(),
        "nccl": _code(torch.cuda.nccl.version()) if has_nccl else None,
        "gpus": [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())],
    }


def _code(version: tuple[int, ...]) -> int:
    major, minor, patch, *_ = version
    return major * 10000 + minor * 100 + patch


if __name__ == "__main__":
    hand_over(Path(sys.argv[1]), json.dumps(described()))
