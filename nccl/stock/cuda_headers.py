"""Where CUDA's headers are: NCCL's sources include them, and nothing else of CUDA is needed."""

import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from hocket.base.errors import HocketError
from hocket.base.extras import install_command

__all__ = ["CudaHeaders", "find_cuda_headers"]

_VERSION = re.compile(r"^#define CUDART_VERSION +(\d+)", re.MULTILINE)


class CudaHeaders:
    """The `folders` to include, of CUDA `version`, (13, 2)."""

    def __init__(self, folder: Path) -> None:
        text = (folder / "cuda_runtime_api.h").read_text(encoding="utf-8", errors="replace")
        found = _VERSION.search(text)
        if found is None or not (folder / "crt" / "host_defines.h").exists():
            raise HocketError(f"{folder} holds not all of CUDA's headers: {_REMEDY}")
        self.version = (int(found[1]) // 1000, int(found[1]) % 1000 // 10)
        self.folders = [folder, *(beside for beside in (folder / "cccl",) if beside.is_dir())]


_REMEDY = f"{install_command('stock')}, or --cuda DIR"


def find_cuda_headers(folder: Path | None = None) -> CudaHeaders:
    """Those in `folder`, else of the packages of the extra `stock`, else of /usr/local/cuda. Raises HocketError."""
    for place in [folder] if folder else _usual():
        for inside in (place, place / "include"):
            if (inside / "cuda_runtime_api.h").exists():
                return CudaHeaders(inside)
    raise HocketError(f"CUDA's headers (cuda_runtime_api.h) are not in {folder or 'any usual place'}: {_REMEDY}")


def _usual() -> Iterator[Path]:
    packages = Path(sysconfig.get_path("purelib")) / "nvidia"
    yield from sorted(packages.glob("cu1[2-9]"), reverse=True)
    yield packages / "cuda_runtime"
    yield Path("/usr/local/cuda")
