"""NCCL's profile joined with a collection of the same job."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import streams
from hypothesis import given
from hypothesis import strategies as st
from in_process import hocket
from nccl_player import Communicator, play_ranks

from hocket.chakra import read_traces
from hocket.chakra.messages import read_messages
from hocket.chakra.validate import validate
from hocket.plugin.nccl.library import nccl_profiler_path
from hocket.recording.nccl.alignment import Expected, Found, align_calls

EVENTS = "collective,p2p,kernel_channel,proxy_operation,proxy_step"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collection and, in `profile`, NCCL's profiles."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("joined")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*torchrun, "-m", "hocket.collect", "--out", str(folder), str(Path(__file__).with_name("nccl_job.py"))]
    variables = {"HOCKET_NCCL_PROFILE": str(folder / "profile"), "HOCKET_NCCL_EVENTS": EVENTS}
    subprocess.run(command, check=True, timeout=300, env=os.environ | variables)
    collected = streams.job(folder)
    (folder / "profile").rename(collected / "profile")
    return collected


def nodes(folder: Path, rank: int) -> list[tuple[str, str, dict[str, int | str]]]:
    """Name, group and NCCL's attributes of each call of a trace."""
    found = []
    for node in read_messages(folder / f"trace.{rank}.et"):
        told = {attribute.name: attribute.string_val or attribute.int64_val for attribute in getattr(node, "attr", ())}
        if "pg_name" in told or "comm_tag" in told:
            nccl = {name: value for name, value in told.items() if name.startswith("nccl_")}
            found.append((node.name, str(told.get("pg_name", "")), nccl))
    return found


@pytest.mark.torch
def test_calls_get_what_nccl_did(job: Path) -> None:
    before = read_traces(str(job))
    merged = hocket("collect", "merge", job, "--nccl-profile", job / "profile")
    assert merged.returncode == 0, merged.stderr
    traces = read_traces(str(job))
    assert validate(traces) == []
    for first, second in zip(before.traces, traces.traces, strict=True):
        assert first.data_deps.tolist() == second.data_deps.tolist()
        assert first.type.tolist() == second.type.tolist()
    for rank in range(2):
        calls = nodes(job, rank)
        # Of two steps: 3 + 1 all_reduces, a broadcast, an all_gather, a coalesced all_reduce, an all_to_all, a message,
        # a barrier. The last broadcast has no record.
        assert len(calls) == 20
        without = [name for name, _, nccl in calls if not nccl]
        assert without == ["broadcast"]
        rings = [nccl["nccl_gpu_ns"] for name, _, nccl in calls if name == "all_reduce" and "nccl_calls" not in nccl]
        assert rings == [40_000] * 8
        sent = [nccl["nccl_sent_bytes"] for _, _, nccl in calls if "nccl_sent_bytes" in nccl]
        assert sent == [400, 400, 1200] * 2
        # Two kernels a millisecond apart: from the first's begin to the second's end.
        coalesced = [(nccl["nccl_calls"], nccl["nccl_gpu_ns"]) for _, _, nccl in calls if nccl.get("nccl_calls") == 2]
        assert coalesced == [(2, 1_040_000)] * 2
        exchanged = [nccl["nccl_calls"] for name, _, nccl in calls if name == "all_to_all"]
        assert exchanged == [4, 4]
    summary = json.loads((job / "summary.json").read_text())
    # Messages and all_to_alls were not timed. Of the records the first all_reduce is no call's.
    assert [(row["calls"], row["found"], row["timed"], row["strange"]) for row in summary["nccl"]] == [
        (20, 19, 15, 1)
    ] * 2
    (told,) = [row["message"] for row in summary["mismatches"] if row["problem"] == "nccl"]
    assert told == "ranks [0, 1]: 1 of 20 calls have no record of NCCL's, 1 of 28 records no call"


@pytest.mark.torch
def test_the_collector_offers_the_plugin_and_the_merge_finds_what_it_wrote(tmp_path: Path) -> None:
    """Nobody names the plugin, nor its folder: true begins and ends are in the first traces."""
    pytest.importorskip("torch")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    script = str(Path(__file__).with_name("nccl_job.py"))
    without = {name: value for name, value in os.environ.items() if not name.startswith(("HOCKET_NCCL", "NCCL_"))}
    collected = without | {"HOCKET_COLLECT": str(tmp_path)}
    finished = subprocess.run([*torchrun, script], timeout=300, env=collected, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    (folder,) = {path.parent for path in tmp_path.rglob("trace.0.et")}
    summary = json.loads((folder / "summary.json").read_text())
    assert [(row["calls"], row["found"], row["timed"]) for row in summary["nccl"]] == [(20, 19, 15)] * 2
    for rank in range(2):
        rings = [nccl["nccl_gpu_ns"] for name, _, nccl in nodes(folder, rank) if nccl.get("nccl_gpu_ns") == 40_000]
        assert len(rings) == 13  # all but the coalesced ones, which are two kernels
    trace = read_traces(str(folder)).traces[0]
    names = [trace.strings[at] for at in trace.name.tolist()]
    durations = [ns for name, ns in zip(names, trace.duration_ns.tolist(), strict=True) if name == "all_gather"]
    assert durations == [40_000] * 2  # of the kernel, not from the issue on


@pytest.mark.torch
def test_the_collector_is_told_to_leave_nccl_alone(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo', store=dist.HashStore(), rank=0, world_size=1)\n"
        "dist.all_reduce(torch.ones(1))\n"
        "print(os.environ.get('NCCL_PROFILER_PLUGIN'), os.environ.get('HOCKET_NCCL_PROFILE'))\n"
    )
    without = {name: value for name, value in os.environ.items() if not name.startswith(("HOCKET_NCCL", "NCCL_"))}
    command = [sys.executable, "-m", "hocket.collect", "--out", str(tmp_path / "out"), "--no-nccl", str(script)]
    finished = subprocess.run(command, timeout=300, env=without, capture_output=True, text=True)
    assert finished.stdout.startswith("None None\n"), finished.stderr


@pytest.mark.torch
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"NCCL_PROFILER_PLUGIN": "ours"}),
        ({"NCCL_PROFILER_PLUGIN": "ours"}, {"NCCL_PROFILER_PLUGIN": "ours"}),
        (
            {"NCCL_PROFILER_PLUGIN": "inspector"},
            {"NCCL_PROFILER_PLUGIN": "ours", "HOCKET_NCCL_PROFILER_CHAIN": "inspector"},
        ),
        ({"NCCL_PROFILER_PLUGIN": "none"}, {"NCCL_PROFILER_PLUGIN": "none"}),
        (
            {"HOCKET_NCCL_PROFILE": "/elsewhere", "HOCKET_NCCL_EVENTS": "collective"},
            {"NCCL_PROFILER_PLUGIN": "ours", "HOCKET_NCCL_PROFILE": "/elsewhere", "HOCKET_NCCL_EVENTS": "collective"},
        ),
    ],
)
def test_what_is_chosen_for_nccl_is_kept(before: dict[str, str], after: dict[str, str], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from hocket.plugin.torch import nccl_events

    if torch.version.cuda is None:
        pytest.skip("this PyTorch has no NCCL")
    ours = str(nccl_profiler_path())
    environment = {name: ours if value == "ours" else value for name, value in before.items()}
    nccl_events.offer(tmp_path, environment)
    expected = {name: ours if value == "ours" else value for name, value in after.items()}
    if expected["NCCL_PROFILER_PLUGIN"] == ours:
        expected = {"HOCKET_NCCL_PROFILE": str(tmp_path), **expected}
        expected.setdefault("HOCKET_NCCL_EVENTS", "collective,p2p,kernel_channel")
    assert environment == expected


@pytest.mark.torch
def test_profiles_of_another_process_are_joined_by_rank(job: Path, tmp_path: Path) -> None:
    """Their clock is not the recording's: only the order tells."""
    library = nccl_profiler_path()

    def play(rank: int) -> None:
        comm = Communicator(library, rank, 2, 0xA0, "default_pg")
        for size in (100, 100, 300):
            comm.collective("AllReduce", size, "ncclFloat32", kernel=(1000, 51_000))
        comm.table.finalize(comm.context)

    play_ranks(tmp_path / "profile", range(2), play)
    merged = hocket("collect", "merge", job, "--nccl-profile", tmp_path / "profile")
    assert merged.returncode == 0, merged.stderr
    found = [index for index, (_, _, nccl) in enumerate(nodes(job, 0)) if nccl]
    assert found == [0, 1, 2]


@pytest.mark.torch
def test_a_folder_without_profiles_is_refused(job: Path, tmp_path: Path) -> None:
    merged = hocket("collect", "merge", job, "--nccl-profile", tmp_path)
    assert merged.returncode == 3
    assert "HOCKET_NCCL_PROFILE" in merged.stderr


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=40),
    skipped=st.integers(0, 5),
    lost=st.sets(st.integers(0, 39), max_size=10),
)
def test_what_either_side_lacks_moves_nothing_else(sizes: list[int], skipped: int, lost: set[int]) -> None:
    """Calls 10 ns apart with a record 1 ns later each; the recording begins late, records are lost anywhere."""
    calls = [Expected(row, 10 * row, size) for row, size in enumerate(sizes)][skipped:]
    records = [Found(row, 10 * row + 1, size, row) for row, size in enumerate(sizes) if row not in lost]
    kept = [row for row in range(skipped, len(sizes)) if row not in lost]
    pairs = align_calls(calls, records, one_clock=True)
    assert all(call == record for call, record in pairs) or skipped
    if skipped == 0 or not lost & set(range(skipped + 1)):
        assert pairs == [(row, row) for row in kept]


@given(parts=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=4), max_size=12))
def test_coalesced_calls_take_as_many_records_as_make_their_bytes(parts: list[list[int]]) -> None:
    calls = [Expected(row, row, sum(part), is_several=True) for row, part in enumerate(parts)]
    flat = [(row, size) for row, part in enumerate(parts) for size in part]
    records = [Found(number, 0, size, number) for number, (_, size) in enumerate(flat)]
    pairs = align_calls(calls, records, one_clock=False)
    assert pairs == [(row, number) for number, (row, _) in enumerate(flat)]
