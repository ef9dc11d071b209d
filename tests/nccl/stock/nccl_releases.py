"""NCCL's and RCCL's sources, where whoever runs the tests has some: HOCKET_NCCL_SOURCES and HOCKET_RCCL_SOURCES name
checkouts, with `:` between them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.base.errors import HocketError
from hocket.nccl.stock.cuda_headers import find_cuda_headers
from hocket.nccl.stock.rocm_headers import find_rocm_headers

__all__ = [
    "CHECKOUTS",
    "RCCL_CHECKOUTS",
    "needs_cuda_headers",
    "needs_nccl",
    "needs_rccl",
    "needs_rocm_headers",
]


def _checkouts(variable: str) -> list[Path]:
    return [Path(path) for path in os.environ.get(variable, "").split(":") if path]


def _has(find_headers: Callable[[], object]) -> bool:
    try:
        find_headers()
    except HocketError:
        return False
    return True


CHECKOUTS = _checkouts("HOCKET_NCCL_SOURCES")
RCCL_CHECKOUTS = _checkouts("HOCKET_RCCL_SOURCES")

needs_cuda_headers = pytest.mark.skipif(
    not _has(find_cuda_headers), reason="CUDA's headers are absent: pip install .[stock]"
)
needs_nccl = pytest.mark.skipif(
    not CHECKOUTS or not _has(find_cuda_headers),
    reason="HOCKET_NCCL_SOURCES names no checkout of NCCL, or CUDA's headers lack",
)
needs_rocm_headers = pytest.mark.skipif(
    not _has(find_rocm_headers), reason="ROCm's headers are absent: pip install triton"
)
needs_rccl = pytest.mark.skipif(
    not RCCL_CHECKOUTS or not _has(find_rocm_headers),
    reason="HOCKET_RCCL_SOURCES names no checkout of RCCL, or ROCm's headers lack",
)
