"""Tuner tables from what NCCL's profiler plugin recorded of jobs."""

from pathlib import Path

import numpy as np
import pytest
from in_process import hocket

from hocket.base.errors import ExitCode, FormatError
from hocket.chakra.importers.nccl.profile import _HEADER, COLLECTIVE, COMMUNICATOR, RECORD
from hocket.recording.nccl.timings import profile_timings


def write_profile(folder: Path, rank: int, calls: list[tuple[int, str, str, int]], function: str = "AllGather") -> None:
    """One rank of a communicator of 16 on 2 nodes: (float32 elements, algorithm, protocol, ns by the GPU's timer)."""
    header = np.zeros(1, _HEADER)
    for name, value in (("magic", b"HOCKNCCL"), ("format", 1), ("record_bytes", 192), ("header_bytes", 65536)):
        header[name] = value
    records = np.zeros(len(calls) + 1, RECORD)
    opened = {"kind": COMMUNICATOR, "sequence": 0xABC, "peer": rank, "count": 16, "channels": 2}
    for name, number in opened.items():
        records[name][0] = number
    for at, (count, algorithm, protocol, time_ns) in enumerate(calls, start=1):
        call = {"kind": COLLECTIVE, "sequence": at, "function": function, "datatype": "ncclFloat32", "count": count}
        call |= {"algorithm": algorithm, "protocol": protocol, "gpu_start_ns": 5, "gpu_stop_ns": 5 + time_ns}
        call |= {"start_ns": at, "stop_ns": at, "end_ns": 10**6 + at}
        for name, value in call.items():
            records[name][at] = value
    folder.mkdir(exist_ok=True)
    (folder / f"node.{rank}.ncclprofile").write_bytes(header.tobytes().ljust(65536, b"\0") + records.tobytes())


def test_the_last_rank_to_come_tells_how_long_a_call_took(tmp_path: Path) -> None:
    write_profile(tmp_path / "job", 0, [(256, "RING", "LL", 9000), (256, "RING", "LL", 4000)])
    write_profile(tmp_path / "job", 1, [(256, "RING", "LL", 3000), (256, "RING", "LL", 5000)])
    found = profile_timings(tmp_path / "job")
    assert [each.time_ps for each in found] == [3_000_000, 4_000_000]
    assert {(each.size_bytes, each.ranks, each.nodes, each.choice.name) for each in found if each.choice} == {
        (256 * 4 * 16, 16, 2, "Ring/LL")
    }


def test_a_table_from_two_jobs(tmp_path: Path) -> None:
    write_profile(tmp_path / "free", 0, [(256, "RING", "LL", 4000), (512, "RING", "LL", 8000)])
    write_profile(tmp_path / "forced", 0, [(256, "NVLS_TREE", "SIMPLE", 6000), (512, "NVLS_TREE", "SIMPLE", 6000)])
    out = tmp_path / "table.csv"
    done = hocket("nccl", "tuner", "make", tmp_path / "forced", "--baseline", tmp_path / "free", "-o", out)
    assert done.returncode == ExitCode.DONE, done.stderr
    # 16 KiB and 32 KiB in all; between them sqrt(2) x 16384 = 23170.5.
    assert out.read_text().splitlines()[-1] == "allgather,23171,32768,nvls_tree,simple,-1,2,16"
    assert "25.0% less time than NCCL takes by itself" in done.stdout


@pytest.mark.parametrize(
    ("protocol", "function", "time"), [("", "AllGather", 9), ("LL", "AlltoAll", 9), ("LL", "Reduce", 0)]
)
def test_what_tells_nothing(protocol: str, function: str, time: int, tmp_path: Path) -> None:
    write_profile(tmp_path / "job", 0, [(256, "RING", protocol, time)], function)
    with pytest.raises(FormatError, match="HOCKET_NCCL_EVENTS=collective,kernel_channel"):
        profile_timings(tmp_path / "job")
