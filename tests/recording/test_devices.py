"""Profiles of devices joined with what the collector recorded: streams and profiles by hand."""

from pathlib import Path
from typing import Any

import streams
from cuda_stand_in import build_cuda, load_cuda
from kineto_profiles import kineto, of_nccl
from nccl_player import Communicator, play_ranks

from hocket.chakra import NodeType, Trace, read_traces
from hocket.chakra.importers.nccl.profile import profile_files, read_profile
from hocket.chakra.messages import read_messages
from hocket.chakra.validate import validate
from hocket.plugin.nccl.library import nccl_profiler_path
from hocket.recording.merge import merge


def record(folder: Path, rank: int) -> None:
    """What `of_nccl` shows, with a reduction and under a tag, and an all_reduce behind the profile."""
    other = {"peer": 1 - rank, "tag": 5, "in": 64, "out": 64}
    streams.write(
        folder,
        rank,
        streams.meta(rank, epoch_ns=10**18, step=6),
        streams.group([0, 1]),
        {"k": "step", "n": 5, "t": 0},
        streams.call(0, 20_500, 0, reduce="MAX", **{"in": 4000, "out": 4000}),
        streams.call(1, 45_500, 0, op="send" if rank == 0 else "recv_", **other),
        streams.call(2, 400_000, 1),
        [
            line
            for number in range(3)
            for line in (streams.done(number, 500_000), streams.wait(number, 500_000, 500_001))
        ],
        {"k": "step", "n": 6, "t": 600_000},
        streams.END,
    )


def profile(folder: Path, rank: int, events: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"rank{rank}.json").write_text(kineto(events, rank, 2, {"0": [0, 1]}))


def told(trace: Trace) -> list[tuple[str, int, int, list[int]]]:
    """Of each node name, start in us, duration in ns and what it depends on."""
    deps = [
        trace.data_deps[begin:end].tolist()
        for begin, end in zip(trace.data_offset, trace.data_offset[1:], strict=False)
    ]
    names = [trace.strings[name] for name in trace.name]
    return list(zip(names, trace.start_us.tolist(), trace.duration_ns.tolist(), deps, strict=True))


def test_collectives_last_as_long_as_their_kernels(tmp_path: Path) -> None:
    for rank in range(2):
        record(tmp_path, rank)
        profile(tmp_path / "profiles", rank, of_nccl(rank))
    summary = merge(tmp_path, tmp_path / "profiles")
    both = "operations of the profile are not in the stream, 1 calls of the stream are not in the profile"
    inferred = "streams' waits, which have to be inferred (enable_cuda_sync_events=True records them) (2)"
    assert [mismatch.message for mismatch in summary.mismatches] == [f"ranks [0, 1]: 0 {both}", inferred]
    traces = read_traces(tmp_path)
    assert validate(traces) == []
    first = traces.traces[0]
    assert told(first) == [
        ("host", 0, 20_000, []),
        ("sgemm", 20, 30_000, [0]),
        ("all_reduce", 50, 100_000, [1]),
        ("host", 50, 5_000, [1]),  # its stream waits for the launch, beside the all_reduce
        ("sgemm", 55, 40_000, [1, 3]),
        ("send", 150, 30_000, [2, 4]),
        ("host", 180, 20_000, [4, 5]),
        ("add", 200, 10_000, [2, 4, 5, 6]),
        ("Memcpy DtoH (Device -> Pageable)", 210, 5_000, [7]),
    ]
    assert (first.comm_tag[5], first.type[8]) == (5, NodeType.MEM_STORE)
    assert first.metadata["step_numbers"] == [6]
    _, *nodes = read_messages(tmp_path / "trace.0.et")
    attributes = [{attribute.name: attribute for attribute in node.attr} for node in nodes]
    assert attributes[2]["reduce_op"].string_val == "MAX"
    assert [node["stream"].int64_val for node in attributes if "stream" in node] == [7, 7, 40, 7, 7, 41, 7, 7, 7]


def test_kernels_get_what_nccl_chose(tmp_path: Path) -> None:
    for rank in range(2):
        record(tmp_path, rank)
        profile(tmp_path / "profiles", rank, of_nccl(rank))
    library = nccl_profiler_path()
    play_ranks(
        tmp_path / "nccl",
        range(2),
        lambda rank: Communicator(library, rank, 2).collective("AllReduce", 1000, "ncclFloat32") and None,
    )
    merge(tmp_path, tmp_path / "profiles", tmp_path / "nccl")
    _, *nodes = read_messages(tmp_path / "trace.1.et")
    chosen = {
        (node.name, attribute.string_val)
        for node in nodes
        for attribute in node.attr
        if attribute.name == "nccl_algorithm"
    }
    assert chosen == {("all_reduce", "RING")}


def test_what_one_rank_has_no_kernel_of_is_left_out(tmp_path: Path) -> None:
    for rank in range(2):
        record(tmp_path, rank)
        events = [event for event in of_nccl(rank) if rank == 0 or "AllReduce" not in event["name"]]
        profile(tmp_path / "profiles", rank, events)
    summary = merge(tmp_path, tmp_path / "profiles")
    messages = [mismatch.message for mismatch in summary.mismatches]
    assert "all_reduce #0 of group 0: by ranks [0], not by [1]: left out (1)" in messages
    assert [int((trace.type == NodeType.COMM_COLL).sum()) for trace in read_traces(tmp_path).traces] == [0, 0]
    assert validate(read_traces(tmp_path)) == []


def test_a_device_without_the_others(tmp_path: Path) -> None:
    for rank in range(2):
        record(tmp_path, rank)
    profile(tmp_path / "profiles", 0, of_nccl(0))
    summary = merge(tmp_path, tmp_path / "profiles")
    lacking = "rank 1 without a profile of a device, so that the traces have times of the hosts"
    assert lacking in [mismatch.message for mismatch in summary.mismatches]
    assert [int((trace.type == NodeType.COMM_COLL).sum()) for trace in read_traces(tmp_path).traces] == [2, 2]


def test_a_process_with_more_gpus_has_the_one_with_its_rank(tmp_path: Path) -> None:
    """PyTorch's two ranks use the first and the third of four GPUs, another library all of them."""
    select_cuda = build_cuda(tmp_path)
    library = nccl_profiler_path()

    def play(rank: int) -> None:
        select = load_cuda(select_cuda)
        kept = []
        for gpu in range(4):
            select(gpu)
            kept.append(Communicator(library, 4 * rank + gpu, 8, 0xB0))
            kept[-1].collective("Broadcast", 8)
            if gpu == 2 * rank:
                kept.append(Communicator(library, rank, 2, 0xA0))
                kept[-1].collective("AllReduce", 1000, "ncclFloat32")

    play_ranks(tmp_path / "nccl", range(2), play)
    pids = [read_profile(path).process for path in profile_files(tmp_path / "nccl")]
    for rank, pid in enumerate(sorted(pids)):
        call = streams.call(0, 20_500, **{"in": 4000, "out": 4000})
        streams.write(tmp_path, rank, streams.meta(rank, pid=pid), streams.group([0, 1]), call, streams.END)
    summary = merge(tmp_path, None, tmp_path / "nccl")
    assert "no profile" not in str(summary.problems)
    for rank in range(2):
        _, *nodes = read_messages(tmp_path / f"trace.{rank}.et")
        assert "RING" in [attribute.string_val for node in nodes for attribute in node.attr]
