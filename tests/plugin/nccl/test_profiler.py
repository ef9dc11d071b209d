"""The NCCL profiler plugin through its C interface, and what reads its files. The call sequences of all versions are
played in C++: plugin/nccl/tests."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from nccl_player import KERNEL_CHANNEL, Descriptor5

from hocket.base.errors import FormatError
from hocket.chakra.importers.nccl.profile import (
    COLLECTIVE,
    POINT_TO_POINT,
    RECORD,
    Communicator,
    profile_files,
    read_profile,
)
from hocket.plugin.nccl.library import nccl_profiler_path
from hocket.recording.nccl.calls import calls_alike

# A process for each rank, as in a job: two all_gathers, then a message that never ends. Rank 1 is killed.
RANK = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from nccl_player import Communicator
rank = int(sys.argv[2])
plugin = Communicator(sys.argv[3], rank, 4, name="tensor parallel group of the job")
plugin.collective("AllGather", 1000, kernel=(500, 2500 + 2000 * rank))
plugin.collective("AllGather", 1000, kernel=(500, 2500))
event = plugin.message("Send", 96, peer=2)
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
plugin.table.stop(event)
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("job") / "profile"
    environment = {"HOCKET_NCCL_PROFILE": str(folder), "HOCKET_NCCL_EVENTS": "collective,p2p,kernel_channel"}
    for rank, status in ((0, 0), (1, -9)):
        command = [sys.executable, "-c", RANK, str(Path(__file__).parents[2]), str(rank), str(nccl_profiler_path())]
        assert subprocess.run(command, env=os.environ | environment, timeout=120).returncode == status
    return folder


def test_descriptors_have_the_size_measured_from_nccl() -> None:
    # NCCL 2.28's own v5 header gives 112 bytes, the payload at 24.
    assert ctypes.sizeof(Descriptor5) == 112
    assert Descriptor5.payload.offset == 24


def test_profiles_of_a_job_are_read_whole(job: Path) -> None:
    first, second = sorted(
        (read_profile(path) for path in profile_files(job)), key=lambda profile: profile.communicators[0].rank
    )
    assert first.communicators == (Communicator(0xABC, "tensor parallel group of the job", 0, 4, 1, None),)
    calls = second.select(COLLECTIVE)
    assert calls["sequence"].tolist() == [0, 1]
    assert calls["function"].tolist() == [b"AllGather"] * 2
    assert (calls["gpu_stop_ns"] - calls["gpu_start_ns"]).tolist() == [4000, 2000]
    # Since the epoch, one after another.
    assert 1.7e18 < calls["start_ns"][0] <= calls["stop_ns"][0] <= calls["start_ns"][1]
    kernels = second.select(KERNEL_CHANNEL)
    assert (kernels["parent"] - 1).tolist() == calls["number"].tolist()
    assert [int(profile.select(POINT_TO_POINT)["stop_ns"][0] > 0) for profile in (first, second)] == [1, 0]


def test_calls_of_a_job_are_shown_as_nccl_tests_would(job: Path) -> None:
    shown = hocket("nccl", "profile", "show", job).stdout.splitlines()
    # 1000 elements of 2 bytes from each of 4 ranks are 8000 bytes, in 2 us three times and 4 us once: 2.5 us.
    # 8000 B / 2500 ns = 3.2 GB/s, of which 3/4 on the bus.
    gathers = "8000 1000 ncclBfloat16 AllGather RING LL128 1 4 4 4 2.00 2.50 3.20 2.40"
    sends = "384 96 ncclFloat32 Send - - 4 4 2 0 - - - -"
    assert [line.split() for line in shown[2:4]] == [gathers.split(), sends.split()]
    (rest,) = shown[4:]
    assert rest.endswith("1 calls were not finished, first Send 0 of rank 1 on communicator 0xabc")


def test_a_folder_without_profiles_says_what_to_set(tmp_path: Path) -> None:
    done = hocket("nccl", "profile", "show", tmp_path)
    assert done.returncode == 3
    assert "HOCKET_NCCL_PROFILE" in done.stderr


def test_fields_lie_where_the_plugin_writes_them() -> None:
    offsets = {name: RECORD.fields[name][1] for name in RECORD.names}
    assert RECORD.itemsize == 192
    assert (offsets["sequence"], offsets["function"], offsets["kind"], offsets["variant"]) == (64, 96, 172, 176)


@settings(max_examples=200)
@given(data=st.data())
def test_damaged_profiles_are_refused_or_read(
    job: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    original = profile_files(job)[0].read_bytes()[: 65536 + 16 * 192]
    damaged = bytearray(original[: data.draw(st.integers(0, len(original)) | st.just(len(original)))])
    # The header and the first records; between them nothing is read.
    places = st.integers(0, 399) | st.integers(65536, len(original) - 1)
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)):
        if place < len(damaged):
            damaged[place] = value
    path = tmp_path_factory.getbasetemp() / "damaged.ncclprofile"
    path.write_bytes(damaged)
    try:
        profile = read_profile(path)
    except FormatError as error:
        assert "damaged.ncclprofile" in str(error)
        return
    rows = calls_alike([profile])
    assert sum(row.calls for row in rows) == len(profile.select(COLLECTIVE | POINT_TO_POINT))
    assert all(np.isfinite(row.busbw or 0) for row in rows)
