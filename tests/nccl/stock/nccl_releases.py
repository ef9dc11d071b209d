"""NCCL's sources, where whoever runs the tests has some: HOCKET_NCCL_SOURCES names checkouts, with `:` between them."""

import os
from pathlib import Path

import pytest

from hocket.base.errors import HocketError
from hocket.nccl.stock.cuda_headers import find_cuda_headers

__all__ = ["CHECKOUTS", "needs_cuda_headers", "needs_nccl"]

CHECKOUTS = [Path(path) for path in os.environ.get("HOCKET_NCCL_SOURCES", "").split(":") if path]


def _has_headers() -> bool:
    try:
        find_cuda_headers()
    except HocketError:
        return False
    return True


needs_cuda_headers = pytest.mark.skipif(not _has_headers(), reason="CUDA's headers are absent: pip install .[stock]")
needs_nccl = pytest.mark.skipif(
    not CHECKOUTS or not _has_headers(), reason="HOCKET_NCCL_SOURCES names no checkout of NCCL, or CUDA's headers lack"
)
