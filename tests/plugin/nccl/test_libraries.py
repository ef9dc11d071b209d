"""NCCL's plugins as shared libraries: what they show, what they need, and that the real NCCL looks for them."""

import ctypes
import mmap
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path

PLUGINS = [
    pytest.param(nccl_profiler_path, "ncclProfiler_v", (4, 5, 6, 7), id="profiler"),
    pytest.param(nccl_tuner_path, "ncclTunerPlugin_v", (3, 4, 5, 6), id="tuner"),
]


@pytest.mark.parametrize(("place", "symbol", "versions"), PLUGINS)
def test_a_library_shows_four_symbols_and_needs_two_libraries(
    place: Callable[[], Path], symbol: str, versions: tuple[int, ...]
) -> None:
    def tool(*command: str) -> str:
        return subprocess.run([*command, str(place())], capture_output=True, text=True, check=True).stdout

    symbols = sorted(line.split()[-1] for line in tool("nm", "-D", "--defined-only").splitlines())
    assert symbols == [f"{symbol}{version}" for version in versions]
    needed = [line.split("[")[1].split("]")[0] for line in tool("readelf", "-d").splitlines() if "NEEDED" in line]
    assert set(needed) <= {"libstdc++.so.6", "libc.so.6", "libm.so.6", "libdl.so.2"}


def pytorchs_nccl() -> Path:
    package = pytest.importorskip("nvidia.nccl", reason="needs NCCL's wheel, which PyTorch for CUDA brings")
    return Path(*package.__path__, "lib", "libnccl.so.2")


def newest_nccl() -> Path:
    library = Path(sys.prefix, "newest-nccl", "nvidia", "nccl", "lib", "libnccl.so.2")
    if not library.exists():
        pytest.skip("needs the newest NCCL's wheel, which `make test` gets")
    return library


@pytest.mark.parametrize("place", [pytorchs_nccl, newest_nccl])
def test_the_real_nccl_loads_beside_the_plugins_and_looks_for_what_they_offer(place: Callable[[], Path]) -> None:
    library = place()
    script = (
        "import ctypes, sys; *plugins, nccl = map(ctypes.CDLL, sys.argv[1:]); version = ctypes.c_int()\n"
        "assert nccl.ncclGetVersion(ctypes.byref(version)) == 0 and version.value > 22700\n"
        "assert plugins[0].ncclProfiler_v4 and plugins[1].ncclTunerPlugin_v4\n"
    )
    plugins = str(nccl_profiler_path()), str(nccl_tuner_path())
    subprocess.run([sys.executable, "-c", script, *plugins, str(library)], check=True, timeout=120)
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        names = set(re.findall(rb"\0(nccl(?:Profiler|TunerPlugin)_v\d+)\0", text))
    assert {b"ncclProfiler_v4", b"ncclProfiler_v5", b"ncclTunerPlugin_v4", b"ncclTunerPlugin_v5"} <= names
    for path, symbol in zip(plugins, (b"ncclProfiler", b"ncclTunerPlugin"), strict=True):
        newest = max(name for name in names if name.startswith(symbol)).decode()
        # The first member of all these structures is the plugin's name.
        assert ctypes.c_char_p.in_dll(ctypes.CDLL(path), newest).value == b"hocket"
