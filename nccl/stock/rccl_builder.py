"""RCCL's host code compiled from its sources over HIP's headers, with its kernels, HIP and AMD SMI as stand-ins."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from hocket.base.errors import HocketError
from hocket.base.files import make_folder
from hocket.base.scratch import hand_over
from hocket.nccl.stock import hipify
from hocket.nccl.stock.builder import STAND_INS, Builder

__all__ = ["RcclBuilder"]

_OURS = STAND_INS / "rccl"
#: What RCCL's CMakeLists.txt sets unless told otherwise, on a machine whose HIP has all of it.
_SET = (
    "ENABLE_LL128",
    "ENABLE_COLLTRACE",
    "USE_AMDSMI",
    "HIP_UNCACHED_MEMORY",
    "HIP_HOST_UNCACHED_MEMORY",
    "HIP_CONTIGUOUS_MEMORY",
)
#: Headers for kernels: the one of ours has what the host code takes of them.
_FORWARDED = ("hip_fp16", "hip_bf16", "hip_bfloat16", "hip_fp8", "hip_ext", "hip_cooperative_groups")
#: A rank of a node holds as many nodes of a topology file as this, from every rank: 8192 are gigabytes a host.
_MOST_NODES = "#define NCCL_TOPO_XML_MAX_NODES {}"
_CONNECTING = ("_Z24ncclTransportRingConnectP8ncclComm", "_Z24ncclTransportTreeConnectP8ncclComm")


class RcclBuilder(Builder):
    """Compiles what RCCL's CMake does: a copy of the sources over HIP, with the table of kernels that is generated."""

    library: ClassVar[str] = "librccl.so.1"
    runtime: ClassVar[str] = "hocket-hip"
    own_flags: ClassVar[Sequence[str]] = ("-fpermissive", "-include", "hip/hip_runtime.h", *(f"-D{it}" for it in _SET))
    link_flags: ClassVar[Sequence[str]] = tuple(f"-Wl,--wrap={name}" for name in _CONNECTING)

    @staticmethod
    def flags_of(version: tuple[int, int]) -> list[str]:
        return ["-D__HIP_PLATFORM_AMD__=1", f"-DROCM_VERSION={version[0] * 10000 + version[1] * 100}"]

    @classmethod
    def made_with(cls) -> Iterator[bytes]:
        yield repr((_FORWARDED, _MOST_NODES)).encode() + Path(hipify.__file__).read_bytes()
        for path in sorted(_OURS.rglob("*.h")):
            yield str(path.relative_to(_OURS)).encode() + path.read_bytes()

    @property
    def _src(self) -> Path:
        """The copy over HIP."""
        return self.compiled / "src"

    def files(self) -> list[Path]:
        self._write_sources()
        self._write_headers()
        return [*(self._src / file for file in self.sources.host_files), self._write_table()]

    def includes(self) -> list[str]:
        own = ["device", "device/network/unpack", "include", "include/mlx5", "include/ionic", "include/nccl_device"]
        return [f"-I{self._src}", *(f"-I{self._src / path}" for path in [*own, "include/plugin"])]

    def parts(self) -> list[Path]:
        return [self.own_object("rccl/parts.cpp")]

    def link_runtime(self) -> None:
        self.shared("libhocket-hip.so", ["device", "streams", "runtime", "hip_runtime", "amd_smi"])

    def _first(self) -> list[str]:
        return [f"-I{_OURS / 'include'}", f"-I{self.compiled / 'include'}"]

    def _write_sources(self) -> None:
        """The sources over HIP, those of kernels replaced by what the host code takes of them."""
        for path in sorted(self.sources.src.rglob("*")):
            if path.suffix in (".cc", ".h", ".hpp", ".cuh"):
                copy = self._src / path.relative_to(self.sources.src)
                copy = copy.with_suffix(".h") if copy.suffix == ".cuh" else copy
                text = hipify.hipified(path.read_text(encoding="utf-8", errors="replace"))
                make_folder(copy.parent)
                hand_over(copy, text.replace(_MOST_NODES.format(8192), _MOST_NODES.format(1024)))
        for path in (_OURS / "src").rglob("*.h"):
            hand_over(self._src / path.relative_to(_OURS / "src"), path.read_bytes())
        # RCCL's build gives files of one name other ones, by which they include each other.
        device = self._src / "include" / "nccl_device"
        for name in ("core", "comm"):
            if (device / f"{name}.h").exists():
                hand_over(device / f"{name}_tmp.h", (device / f"{name}.h").read_bytes())

    def _write_headers(self) -> None:
        """What RCCL's CMake makes of its templates, and headers of HIP's that lead to ours."""
        include = self.compiled / "include"
        major, minor, patch = self.sources.version
        values = {"MAJOR": major, "MINOR": minor, "PATCH": patch, "SUFFIX": self.sources.suffix}
        text = (self.sources.src / "nccl.h.in").read_text(encoding="utf-8")
        for name, value in (values | {"VERSION": self.sources.code}).items():
            text = text.replace(f"${{NCCL_{name}}}", str(value))
        written = {"nccl.h": text, "rccl/rccl.h": text}
        written |= {f"hip/{name}.h": "#include <hip/hip_runtime.h>\n" for name in _FORWARDED}
        hip = ".".join(map(str, self.headers.version))
        written["rocm-core/rocm_version.h"] = f'#define ROCM_BUILD_INFO "{hip}"\n'
        for name, content in written.items():
            make_folder((include / name).parent)
            hand_over(include / name, content)

    def _write_table(self) -> Path:
        """The table of kernels that RCCL's generator writes for the host."""
        out = self.compiled / "device"
        script = self.sources.src / "device" / "generate.py"
        # Without calls through pointers, with traces of collectives, without MSCCL's kernels, for every architecture.
        self.run([sys.executable, str(script), str(out), "OFF", "ON", "OFF", "OFF"], cwd=script.parent)
        table = out / "host_table.cpp"
        if not table.exists():
            raise HocketError(f"device/generate.py of RCCL {self.sources.name} wrote no host_table.cpp")
        return table
