"""Files of two jobs, or of two profiles of one, in one import."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from handwritten import host_node, host_trace
from import_commands import hocket
from kineto_profiles import kineto, launched, span

from hocket.chakra import read_traces

STEP = span("user_annotation", "ProfilerStep#3", 0, 300)


def profile(path: Path, rank: int, groups: list[list[int]] | None = None, step: int = 3, **more: Any) -> None:
    """One kernel in one step on one of four ranks; `more` is put into distributedInfo and around it."""
    events = [STEP | {"name": f"ProfilerStep#{step}"}, *launched("sgemm", 20, 12, 30, 7, 2)]
    told = json.loads(kineto(events, rank, 4, {str(at): own for at, own in enumerate(groups or [[0, 1, 2, 3]])}))
    told["distributedInfo"] |= more.pop("info", {})
    path.write_text(json.dumps(told | more))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"info": {"nccl_version": "2.17.1"}}, "of a job with NCCL 2.21.5, but {b} is of one with NCCL 2.17.1"),
        ({"info": {"backend": "gloo"}}, "of a job with the backend nccl, but {b} is of one with the backend gloo"),
        ({"info": {"world_size": 8}}, "of a job of 4 ranks, but {b} is of one of 8 ranks"),
        ({"groups": [[0, 1, 2, 3], [1, 2]]}, "in a process group of ranks [0, 1], but {b} is of rank 1, not in it"),
        ({"step": 7}, "of steps 3 to 3, but {b} is of steps 7 to 7"),
        ({"baseTimeNanoseconds": 10**18 + 10**11}, "of an earlier time, but {b} is of 100 s after its end"),
    ],
)
def test_two_jobs_are_refused(tmp_path: Path, other: dict[str, Any], said: str) -> None:
    one, two = tmp_path / "a.json", tmp_path / "b.json"
    profile(one, 0, [[0, 1, 2, 3], [0, 1]], info={"nccl_version": "2.21.5"})
    profile(two, 1, **{"groups": [[0, 1, 2, 3], [0, 1]]} | other)
    refused = hocket("import", tmp_path, "-o", tmp_path / "out")
    assert refused.returncode == 3
    assert f"{one}: {said.format(b=two)}; give the files of one job and one profile" in refused.stderr


@pytest.mark.parametrize(
    ("number", "name", "refused"),
    [(9, "c10d::allreduce_", False), (9, "c10d::broadcast_", True), (40, "c10d::allreduce_", True)],
)
def test_an_execution_trace_and_a_profile_of_two_jobs(tmp_path: Path, number: int, name: str, refused: bool) -> None:
    """Whose record function ids are others, or those of other calls."""
    host, device = tmp_path / "host.0.json", tmp_path / "device.0.json"
    calls = [host_node(4, "gloo:all_reduce", []), host_node(9, "c10d::allreduce_", [])]
    host.write_text(host_trace(calls))
    told = {"Record_function_id": number, "External_id": number}
    device.write_text(kineto([span("cpu_op", name, 20, 9, **told)], 0, 4, {"0": [0, 1, 2, 3]}))
    done = hocket("import", host, device, "-o", tmp_path / "out")
    said = f"{host}: an execution trace, but {device} is the profile of another recording: they share no call"
    assert (done.returncode == 3, said in done.stderr) == (refused, refused), done.stderr


def test_ranks_of_one_job_begin_on_one_clock(tmp_path: Path) -> None:
    profile(tmp_path / "a.json", 0)
    for rank in (1, 2, 3):
        profile(tmp_path / f"{rank}.json", rank, baseTimeNanoseconds=10**18 + 5_000_000)
    done = hocket("import", tmp_path, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    begins = [int(trace.start_us.min()) for trace in read_traces(tmp_path / "out").traces]
    assert begins == [0, 5000, 5000, 5000]


def test_public_profiles_of_two_jobs(tmp_path: Path) -> None:
    folder = os.environ.get("HOCKET_PUBLIC_PROFILES")
    data = Path(folder or "") / "facebookresearch+HolisticTraceAnalysis/tests/data"
    if folder is None or not data.is_dir():
        pytest.skip("HOCKET_PUBLIC_PROFILES names no folder with these profiles")
    files = [data / "nccl_parser_config/nccl_data.json.gz", data / "df_index_resolver/df_index_resolver.json.gz"]
    refused = hocket("import", *files, "-o", tmp_path / "out")  # rank 0 and rank 1 of two ranks each
    assert (refused.returncode, "give the files of one job" in refused.stderr) == (3, True), refused.stderr
