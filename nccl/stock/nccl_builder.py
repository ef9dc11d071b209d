"""NCCL's host code compiled from its sources, unchanged, with its kernels and CUDA as stand-ins of ours."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from hocket.base.errors import HocketError
from hocket.base.files import make_folder
from hocket.base.scratch import hand_over
from hocket.nccl.stock.builder import Builder

__all__ = ["CUDA", "HostCodeBuilder"]

#: Stand-ins that make up the library for CUDA.
CUDA = ("device", "multicast", "streams", "sockets", "runtime", "cuda_runtime", "cuda_driver")
_OURS = ("memset", "recv", "send")  # functions of the C library's that NCCL finds in the stand-ins
_KERNELS = re.compile(r"__global__ void (\w+)\((\w+) const\);")


class HostCodeBuilder(Builder):
    """Compiles what NCCL's Makefile does, with the headers and tables of kernels that its generators write."""

    library: ClassVar[str] = "libnccl.so.2"
    runtime: ClassVar[str] = "hocket-cuda"
    own_flags: ClassVar[Sequence[str]] = ("-fvisibility=hidden", "-DNCCL_OS_LINUX", "-DPROFAPI", "-DENABLE_TRACE")

    link_flags: ClassVar[Sequence[str]] = tuple(f"-Wl,--wrap={name}" for name in _OURS)

    @staticmethod
    def flags_of(version: tuple[int, int]) -> list[str]:
        no_gdaki = ["-DNCCL_GIN_PROXY_ENABLE=1", "-DNCCL_GIN_GDAKI_ENABLE=0"]
        return [f"-DCUDA_MAJOR={version[0]}", f"-DCUDA_MINOR={version[1]}", *no_gdaki]

    def files(self) -> list[Path]:
        self._write_headers()
        tables = self._write_tables()
        return [*(self.sources.src / file for file in self.sources.host_files), *tables]

    def includes(self) -> list[str]:
        own = ["include", "include/plugin", "transport/net_ib/gdaki/doca-gpunetio/include"]
        src = self.sources.src
        return [f"-I{self.compiled / 'include'}", f"-I{src}", *(f"-I{src / path}" for path in own)]

    def parts(self) -> list[Path]:
        return [self.own_object("kernels.cpp")]

    def link_runtime(self) -> None:
        self.shared("libhocket-cuda.so", CUDA)
        self.shared("libnvidia-ml.so.1", ["nvml", "device"], "-fvisibility=hidden")

    def _write_headers(self) -> None:
        """What NCCL's Makefile makes of its templates."""
        src, include = self.sources.src, self.compiled / "include"
        major, minor, patch = self.sources.version
        values = {"Major": major, "Minor": minor, "Patch": patch, "Suffix": self.sources.suffix}
        text = (src / "nccl.h.in").read_text(encoding="utf-8")
        for name, value in (values | {"Version": self.sources.code}).items():
            text = text.replace(f"${{nccl:{name}}}", str(value))
        hand_over(include / "nccl.h", text)
        hand_over(
            include / "nccl_git_version.h",
            '#define NCCL_GIT_BRANCH "unknown"\n#define NCCL_GIT_COMMIT_HASH "unknown"\n',
        )
        device = src / "include" / "nccl_device"
        for header in sorted(device.rglob("*.h")):
            copy = include / header.relative_to(src / "include")
            make_folder(copy.parent)
            hand_over(copy, header.read_bytes())
        if device.is_dir():
            hand_over(include / "nccl_device.h", (src / "include" / "nccl_device.h").read_bytes())

    def _write_tables(self) -> list[Path]:
        """The tables of kernels that NCCL's generators write for the host, and its kernels as functions that do
        nothing: a launch is what the stand-in for CUDA makes of it."""
        lines = ['#include "device.h"']
        tables = []
        src = self.sources.src
        for name, script, table in (
            ("device", "device/generate.py", "host_table.cc"),
            ("symmetric", "device/symmetric/generate.py", "sym*.cc"),
        ):
            out = self.compiled / name
            make_folder(out)
            self.run([sys.executable, str(src / script), str(out)], cwd=src / "device")
            found = sorted(out.glob(table))
            if len(found) != 1:
                raise HocketError(f"{script} of NCCL {self.sources.name} wrote no {table}")
            tables += found
            kernels = sorted(set(_KERNELS.findall(found[0].read_text(encoding="utf-8"))))
            if name == "symmetric" and kernels:
                header = "sym_kernels.h" if (src / "include/sym_kernels.h").exists() else "symmetric.h"
                lines.append(f'#include "{header}"')
            lines += [f"__global__ void {kernel}({arguments} const) {{}}" for kernel, arguments in kernels]
        hand_over(self.compiled / "kernel_names.cc", "\n".join(lines) + "\n")
        return [*tables, self.compiled / "kernel_names.cc"]
