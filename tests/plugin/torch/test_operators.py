"""`hocket collect --ops`: operators in place of the computation between calls."""

import gzip
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import streams

from hocket.bench.feeder_rules import check_astra_sim, check_mlcommons
from hocket.chakra import NodeType, Trace, read_traces, write_traces
from hocket.recording.merge import merge

EXAMPLE = Path(__file__).parents[3] / "examples" / "train_ddp.py"
COLLECT = [sys.executable, "-m", "hocket", "collect"]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    out = tmp_path_factory.mktemp("ops") / "out"
    command = [*COLLECT, "--ops", "--out", str(out), "-n", "2", "--skip-steps", "2", "--steps", "1", str(EXAMPLE)]
    subprocess.run([*command, "--steps", "4"], check=True, timeout=300)
    return streams.job(out)


def problems(folder: Path, problem: str = "operators") -> list[str]:
    """What the summary says of operators, or of another problem."""
    told = json.loads((folder / "summary.json").read_text())["mismatches"]
    return [mismatch["message"] for mismatch in told if mismatch["problem"] == problem]


def computed(trace: Trace) -> int:
    return int(trace.duration_ns[trace.type == NodeType.COMP].sum())


@pytest.mark.torch
def test_operators_take_the_place_of_computation(collected: Path, tmp_path: Path) -> None:
    with_operators = read_traces(collected)
    check_mlcommons(collected)
    write_traces(tmp_path / "astra", with_operators, profile="astra-sim")
    check_astra_sim(tmp_path / "astra")
    folder = copied(collected, tmp_path / "without")
    shutil.rmtree(folder / "ops")
    merge(folder)
    for trace, plain in zip(with_operators.traces, read_traces(folder).traces, strict=True):
        # The same time, cut at the operators.
        assert computed(trace) == computed(plain)
        names = Counter(trace.strings[name] for name in trace.name[trace.type == NodeType.COMP])
        # The example's 3 layers of 4 products and its head; the backward pass has two products for each.
        assert (names["aten::linear"], names["aten::mm"]) == (13, 2 * 13)
        products = [row for row in range(len(trace)) if trace.strings[trace.name[row]] == "aten::linear"]
        assert all(trace.num_ops[row] > 0 and trace.tensor_bytes[row] > 0 for row in products)
        calls = trace.type == NodeType.COMM_COLL
        assert trace.comm_bytes[calls].tolist() == plain.comm_bytes[plain.type == NodeType.COMM_COLL].tolist()


SCRIPT = """
import sys, torch, torch.distributed as dist
from torch.profiler import profile
import hocket.collect

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:  # before the first collective
    own = profile()
    own.start()
for step in range(4):
    dist.all_reduce(torch.ones(100) @ torch.ones(100, 100))
    if rank == 1 and step == 2:  # in the midst of the recorded steps
        own = profile()
        own.start()
    hocket.collect.step()
dist.all_reduce(torch.ones(3))
if rank < 2:
    own.stop()
    own.export_chrome_trace(f"{sys.argv[1]}/rank{rank}.json")
"""


@pytest.mark.torch
def test_the_profiler_is_the_scripts_where_it_uses_it(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(SCRIPT)
    out = tmp_path / "out"
    command = [*COLLECT, "--ops", "--out", str(out), "-n", "3", "--skip-steps", "1", "--steps", "2"]
    subprocess.run([*command, str(tmp_path / "script.py"), str(tmp_path)], check=True, timeout=300)
    reason = "the script profiles itself, and PyTorch has one profiler per process"
    assert problems(streams.job(out)) == [f"none of rank {rank}: {reason}" for rank in range(2)]
    for rank, trace in enumerate(read_traces(out).traces):
        names = {trace.strings[name] for name in trace.name[trace.type == NodeType.COMP]}
        assert ("aten::matmul" in names) == (rank == 2), names
        assert (trace.type == NodeType.COMM_COLL).sum() == 2
    # The script's own profiles are whole: rank 0's has all five calls, rank 1's those after its begin.
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    for rank, calls in ((0, 5), (1, 2)):
        content = (tmp_path / f"rank{rank}.json").read_bytes()
        events = json.loads(content)["traceEvents"]
        assert sum(event["name"] == "c10d::allreduce_" for event in events) == calls
        (profiles / f"host_{rank}.pt.trace.json.gz").write_bytes(gzip.compress(content))
    # They do as well: two of rank 0's five calls were recorded, none of rank 1's.
    subprocess.run([*COLLECT, "merge", str(out), "--kineto", str(profiles)], check=True, timeout=60)
    other = "it has none of the rank's calls: it is of another run, or of other steps"
    absent = f"none of rank 2: {profiles}: no profile of it"
    assert problems(streams.job(out)) == [f"none of rank 1: {profiles / 'host_1.pt.trace.json.gz'}: {other}", absent]
    told = "rank 0: 3 operations of the profile are not in the stream, 0 calls of the stream are not in the profile"
    assert problems(streams.job(out), "profile") == [told]
    for rank, trace in enumerate(read_traces(out).traces):
        names = {trace.strings[name] for name in trace.name[trace.type == NodeType.COMP]}
        assert ("aten::matmul" in names) == (rank == 0), names


def copied(collected: Path, folder: Path) -> Path:
    shutil.copytree(collected, folder)
    return folder


@pytest.mark.torch
def test_profiles_that_are_not_to_be_had_leave_the_merge_whole(collected: Path, tmp_path: Path) -> None:
    whole = (collected / "ops" / "rank0.json").read_bytes()
    moved = json.loads(whole)
    moved["baseTimeNanoseconds"] -= 10**12
    for name, content, reason in (
        ("absent", None, "rank0.json: No such file or directory"),
        ("empty", b"", "rank0.json: no array 'traceEvents'"),
        ("cut", whole[: len(whole) // 2], "rank0.json: it is cut off"),
        (
            "other",
            json.dumps(moved).encode(),
            "rank0.json: it has none of the rank's calls: it is of another run, or of other steps",
        ),
    ):
        folder = copied(collected, tmp_path / name)
        path = folder / "ops" / "rank0.json"
        path.unlink()
        if content is not None:
            path.write_bytes(content)
        merge(folder)
        (problem,) = problems(folder)
        assert problem.startswith("none of rank 0: ") and problem.endswith(reason), problem
        for rank, trace in enumerate(read_traces(folder).traces):
            names = {trace.strings[name] for name in trace.name[trace.type == NodeType.COMP]}
            assert ("aten::linear" in names) == (rank == 1)
            assert computed(trace) == computed(read_traces(collected).traces[rank])


@pytest.mark.torch
def test_a_process_that_ends_early_has_told_so(collected: Path, tmp_path: Path) -> None:
    folder = copied(collected, tmp_path / "killed")
    stream = folder / "stream" / "rank1.stream"
    told = b'{"k":"operators","problem":""}\n'
    stream.write_bytes(stream.read_bytes().split(told)[0])
    merge(folder)
    assert "none of rank 1: its process ended before its profile was written" in problems(folder)
