"""Profiles that others published, each of one rank: imported, completed and simulated. They are read in place, from the
folder that HOCKET_PUBLIC_PROFILES names, and skipped where it is not set or lacks one."""

import os
from pathlib import Path

import pytest
from in_process import hocket

from hocket.chakra import NodeType, read_trace

HTA = "facebookresearch+HolisticTraceAnalysis/tests/data"
LENS = "AMD-AGI+TraceLens/tests/traces"
#: Rank, ranks, operations of communication, machine, what has to be told.
PROFILES = {
    f"{HTA}/nccl_parser_config/nccl_data.json.gz": (0, 2, 21, "dgx-a100:gpus=2", ""),
    f"{HTA}/trace_diff/control/control.json.gz": (3, 8, 60, "dgx-a100", ""),
    f"{HTA}/trace_diff/test/test.json.gz": (1, 2, 60, "dgx-1:gpus=2", ""),
    f"{HTA}/df_index_resolver/df_index_resolver.json.gz": (1, 2, 2020, "dgx-1:gpus=2", "--size all_reduce=4MiB"),
    f"{HTA}/negative_queue_length_values_check/rank0.json.gz": (
        *(0, 16, 83, "dgx-a100:nodes=2"),
        "--group reduce_scatter=8 --group all_gather=8",
    ),
    f"{HTA}/trace_filter/sampled_rank-0.json.gz": (0, 128, 10, "dgx-a100:nodes=16", "--group all_gather=64"),
    f"{LENS}/b200/eager_trace.json.gz": (0, 8, 74, "dgx-b200", ""),
    f"{LENS}/mi300/resnet_act_checkpoint.json.gz": (0, 8, 12, "mi300x", ""),
    "deepseek-ai+profile-data/train.json": (
        0,
        64,
        32,  # 8 dispatches, 8 combines, and what ranks wait for each other in before each of them
        "dgx-h100:nodes=8",
        "--size dispatch=28MiB --size combine=56MiB",
    ),
}


@pytest.mark.parametrize("name", PROFILES)
def test_one_public_rank_becomes_a_simulated_job(tmp_path: Path, name: str) -> None:
    folder = os.environ.get("HOCKET_PUBLIC_PROFILES")
    if folder is None or not (Path(folder) / name).is_file():
        pytest.skip("HOCKET_PUBLIC_PROFILES names no folder with this profile")
    rank, ranks, count, machine, told = PROFILES[name]
    done = hocket("trace", "import", Path(folder) / name, *told.split(), "-o", tmp_path / "one")
    assert done.returncode == 0, done.stderr
    trace = read_trace(tmp_path / f"one/trace.{rank}.et")
    assert int((trace.type >= NodeType.COMM_SEND).sum()) == count
    done = hocket("trace", "complete", tmp_path / "one", "-o", tmp_path / "job")
    assert done.returncode == 0, done.stderr
    assert f"wrote {ranks} traces" in done.stdout
    done = hocket("trace", "validate", tmp_path / "job")
    assert done.returncode == 0, done.stdout
    done = hocket("simulate", tmp_path / "job", "-t", machine)
    assert done.returncode == 0, done.stderr
