"""Where ROCm's headers are: RCCL's host code includes HIP's and HSA's, and nothing else of ROCm is needed."""

import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from hocket.base.errors import HocketError

__all__ = ["RocmHeaders", "find_rocm_headers"]

_NUMBER = re.compile(r"^#define HIP_VERSION_(MAJOR|MINOR) +(\d+)", re.MULTILINE)
_NEEDED = ("hip/hip_version.h", "hip/hip_runtime_api.h", "hip/amd_detail/amd_hip_vector_types.h", "hsa/hsa.h")
_REMEDY = "pip install triton, whose package has them, or --rocm DIR of an installed ROCm, 6.4 or newer"


class RocmHeaders:
    """The `folders` to include, of HIP `version`, (7, 1)."""

    def __init__(self, folder: Path) -> None:
        absent = [name for name in _NEEDED if not (folder / name).exists()]
        if absent:
            raise HocketError(f"{folder} holds not all of ROCm's headers, {absent[0]} is absent: {_REMEDY}")
        text = (folder / _NEEDED[0]).read_text(encoding="utf-8", errors="replace")
        found = {name: int(value) for name, value in _NUMBER.findall(text)}
        if set(found) != {"MAJOR", "MINOR"}:
            raise HocketError(f"{folder / _NEEDED[0]} does not say which HIP it is of: {_REMEDY}")
        self.version = (found["MAJOR"], found["MINOR"])
        self.folders = [folder]


def find_rocm_headers(folder: Path | None = None) -> RocmHeaders:
    """Those in `folder`, else of an installed ROCm, else of the Python package triton. Raises HocketError."""
    for place in [folder] if folder else _usual():
        for inside in (place / "include", place):
            if (inside / "hip" / "hip_runtime_api.h").exists():
                return RocmHeaders(inside)
    raise HocketError(f"ROCm's headers (hip/hip_runtime_api.h) are not in {folder or 'any usual place'}: {_REMEDY}")


def _usual() -> Iterator[Path]:
    yield Path("/opt/rocm")
    yield Path(sysconfig.get_path("purelib")) / "triton" / "backends" / "amd"
