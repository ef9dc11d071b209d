"""The plugins beside NCCL's own sources, of the releases in the folders that HOCKET_NCCL_SOURCES lists (separated by
colons): what NCCL looks for, how its headers lay it out, and its example profiler chained behind ours."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from nccl_player import COLLECTIVE, Collective, Communicator, PointToPoint, play_ranks

from hocket.chakra.importers.nccl.profile import profile_files, read_profile
from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path

ROOT = Path(__file__).parents[3]
SOURCES = [Path(folder) for folder in os.environ.get("HOCKET_NCCL_SOURCES", "").split(":") if folder]
GROUP_API, COLLECTIVE_API = 256, 512
#: As much of CUDA's runtime as NVIDIA's example names.
CUDA = """
#pragma once
#include <stddef.h>
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef int cudaError_t;
enum { cudaSuccess = 0, cudaEventDisableTiming = 2 };
inline cudaError_t cudaEventCreate(cudaEvent_t*, unsigned = 0) { return 1; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return 1; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return 1; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return 1; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return 1; }
inline cudaError_t cudaEventElapsedTime(float*, cudaEvent_t, cudaEvent_t) { return 1; }
"""

pytestmark = pytest.mark.skipif(not SOURCES, reason="needs NCCL's sources: HOCKET_NCCL_SOURCES=/nccl-2.30.7:...")
each_release = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)


def example_of(source: Path, kind: str) -> Path:
    """NVIDIA's example of a plugin, with its headers in nccl/."""
    folders = source / "plugins" / kind / "example", source / f"ext-{kind}" / "example"
    return next(folder for folder in folders if folder.is_dir())


@each_release
@pytest.mark.parametrize(
    ("library", "symbol"), [(nccl_profiler_path(), "ncclProfiler_v"), (nccl_tuner_path(), "ncclTunerPlugin_v")]
)
def test_the_newest_that_nccl_looks_for_is_there(source: Path, library: Path, symbol: str) -> None:
    texts = [path.read_text() for path in (source / "src" / "plugin").rglob("*.cc")]
    newest = max(int(version) for text in texts for version in re.findall(rf'"{symbol}(\d+)"', text))
    exported = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert f" {symbol}{newest}\n" in exported.stdout


def layout_checks(source: Path) -> list[str]:
    """Lines of C++ that hold our declarations against NCCL's, as far as this release has them."""
    headers = example_of(source, "profiler") / "nccl"
    versions = [version for version in (4, 5, 6, 7) if (headers / f"profiler_v{version}.h").exists()]
    assert versions
    fields = {"rank": "rank", "parentObj": "parent"}
    members = {
        "coll": "collective",
        "p2p": "point_to_point",
        "proxyOp": "proxy_operation",
        "kernelCh": "kernel_channel",
    }
    members |= {"netPlugin": "net_plugin", "collApi": "collective_api", "p2pApi": "point_to_point_api"}
    members |= {"ceColl": "copy_collective"}
    since = {"collApi": 5, "p2pApi": 5, "ceColl": 6}
    lines = []
    for version in versions:
        theirs, ours = f"ncclProfilerEventDescr_v{version}_t", f"hocket::nccl::Descriptor{version}"
        lines.append(f"static_assert(sizeof({theirs}) == sizeof({ours}));")
        lines.append(f"static_assert(sizeof(ncclProfiler_v{version}_t) == 48);")
        lines += [f"static_assert(offsetof({theirs}, {a}) == offsetof({ours}, {b}));" for a, b in fields.items()]
        lines += [
            f"static_assert(sizeof(std::declval<{theirs}&>().{a}) == sizeof(std::declval<{ours}&>().{b}));"
            for a, b in members.items()
            if version >= since.get(a, 4)
        ]
    return lines


@each_release
def test_ncclis_headers_lay_it_out_as_ours(source: Path, tmp_path: Path) -> None:
    includes = ("<cstddef>", "<utility>", '"common.h"', '"err.h"', '"profiler.h"', '"plugin/nccl/profiler/abi.hpp"')
    lines = [f"#include {name}" for name in includes]
    (tmp_path / "layout.cpp").write_text("\n".join([*lines, *layout_checks(source)]))
    headers = example_of(source, "profiler") / "nccl"
    flags = ["-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{headers}", f"-I{ROOT}"]
    done = subprocess.run(["g++", *flags, tmp_path / "layout.cpp"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@each_release
def test_nvidias_example_is_chained(source: Path, tmp_path: Path) -> None:
    """By version 5 of the interface, which NCCL 2.28 speaks: to the example of 2.27 it is version 4."""
    example = example_of(source, "profiler")
    (tmp_path / "cuda_runtime.h").write_text(CUDA)
    library = tmp_path / "libnccl-profiler-example.so"
    files = [*example.glob("*.cc"), *example.glob("*.c")]
    flags = ["-x", "c++", "-w", "-fpermissive", "-fPIC", "-shared", f"-I{tmp_path}", f"-I{example / 'nccl'}"]
    subprocess.run(["g++", *flags, *files, "-o", library], check=True)

    def play(rank: int) -> None:
        world = Communicator(nccl_profiler_path(), rank, 2)
        group = world.start(GROUP_API)
        api = world.start(COLLECTIVE_API, group, p2p=PointToPoint(function=b"AllReduce", datatype=b"ncclFloat32"))
        legacy = world.start(1)
        call = Collective(function=b"AllReduce", count=1000, datatype=b"ncclFloat32", channels=1, parent_group=legacy)
        call.algorithm, call.protocol = b"RING", b"LL128"
        event = world.start(COLLECTIVE, api, collective=call)
        for handle in (event, legacy, api, group):
            world.table.stop(handle)
        world.run_kernel(event, 10_000, 60_000)
        world.table.finalize(world.context)

    dumped = {"NCCL_PROFILE_EVENT_MASK": str(COLLECTIVE | 64), "NCCL_PROFILE_DUMP_FILE": str(tmp_path / "dump")}
    # 2.28 takes gigabytes for its 256 of each unless told otherwise, and its init fails where there are none.
    dumped |= {f"NCCL_PROFILE_{kind}_POOL_SIZE": "8" for kind in ("GROUP_API", "COLL_API", "P2P_API", "COLL", "P2P")}
    play_ranks(
        tmp_path / "profile",
        [0],
        play,
        HOCKET_NCCL_PROFILER_CHAIN=str(library),
        HOCKET_NCCL_EVENTS="collective",
        **dumped,
    )
    (profile,) = [read_profile(path) for path in profile_files(tmp_path / "profile")]
    assert profile.select(COLLECTIVE)["algorithm"].tolist() == [b"RING"]
    assert len(profile.records) == 1  # the kernel's is the example's only
    (dump,) = tmp_path.glob("dump*")
    assert '"AllReduce"' in dump.read_text()
    assert "RING" in dump.read_text()
    assert "KernelCh" in dump.read_text()
