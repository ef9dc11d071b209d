"""Tuner tables from what NCCL's profiler plugin recorded of jobs."""

from pathlib import Path

import pytest
from in_process import hocket
from nccl_profiles import write_profile

from hocket.base.errors import ExitCode, FormatError
from hocket.recording.nccl.timings import profile_timings


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
