"""Profiles that the plugin itself wrote, of ranks that the tests play, as traces."""

from pathlib import Path

import in_process
import numpy as np
import pytest
from import_commands import communication, hocket, imported, types
from nccl_player import Communicator, play_ranks

from hocket.chakra import NodeType, read_traces
from hocket.chakra.groups import read_groups
from hocket.chakra.importers.nccl.calls import calls_done
from hocket.chakra.importers.nccl.clocks import host_shifts
from hocket.chakra.importers.nccl.profile import profile_files, read_profile
from hocket.chakra.messages import read_messages
from hocket.plugin.nccl.library import nccl_profiler_path
from hocket.runtime.replay.plan import plan_replay

LIBRARY = nccl_profiler_path()


def play(rank: int) -> None:
    """Four ranks; 0 and 1, 2 and 3 have communicators of their own. Kernels run for 50 us by the GPU's timer."""
    world = Communicator(LIBRARY, rank, 4, 0xA0, "world")
    pair = Communicator(LIBRARY, rank % 2, 2, 0xB0 + rank // 2, "pair")
    event = world.collective("AllReduce", 1000, kernel=(10_000, 60_000))
    # Two steps of 3000 and 1000 bytes out, one of 500 in.
    world.transfer(event, True, [3000, 1000])
    world.transfer(event, False, [500])
    # NCCL counts bytes of an all_gather and of a broadcast, whatever the type.
    pair.collective("AllGather", 64, "ncclInt8", kernel=(100_000, 150_000))
    pair.collective("ReduceScatter", 16, "ncclFloat32", kernel=(160_000, 210_000))
    world.collective("Broadcast", 256, "ncclInt8", root=2, kernel=(220_000, 270_000))
    world.table.stop(pair.message("Recv" if rank % 2 else "Send", 96, peer=1 - rank % 2))
    if rank != 3:
        world.collective("AllReduce", 8)
    world.table.finalize(world.context)
    pair.table.finalize(pair.context)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played") / "profile"
    play_ranks(folder, range(4), play, HOCKET_NCCL_TABLE="1", HOCKET_NCCL_PROMETHEUS="3600")
    return folder


def attributes(path: Path, name: str) -> dict[str, int | str]:
    """What NCCL did in the first node of that name."""
    node = next(node for node in read_messages(path) if getattr(node, "name", "") == name)
    return {told.name: told.string_val or told.int64_val for told in node.attr if told.name.startswith("nccl_")}


def test_a_job_becomes_traces(profile: Path, tmp_path: Path) -> None:
    traces, printed = imported(tmp_path, profile)  # beside the profiles lie the metrics and tables
    assert traces.groups == {"1": (0, 1), "2": (2, 3)}
    # 1000 x 2 bytes; 64 of each rank; 16 x 4 bytes a rank of two are 128 of input; 256; the last is not rank 3's.
    common = {("all_reduce", 2000): 1, ("all_gather", 64): 1, ("reduce_scatter", 128): 1, ("broadcast", 256): 1}
    for rank, trace in enumerate(traces.traces):
        assert communication(trace) == common | {("recv" if rank % 2 else "send", 96 * 4): 1}
    assert types(traces.traces[0])["all_reduce", "bfloat16"] == 1
    assert types(traces.traces[0])["all_gather", ""] == 1
    assert "all_reduce #1 of group 0xa0: by ranks [0, 1, 2], not by [3]: left out" in printed
    trace = traces.traces[2]
    node = int(np.flatnonzero(trace.type == NodeType.COMM_COLL)[0])
    assert trace.duration_ns[node] == 50_000
    told = attributes(tmp_path / "out" / "trace.2.et", "all_reduce")
    assert told.pop("nccl_queued_ns", 0) < 10**9
    assert told == {
        "nccl_algorithm": "RING", "nccl_protocol": "LL128", "nccl_channels": 1, "nccl_gpu_ns": 50_000,
        "nccl_sent_bytes": 4000, "nccl_received_bytes": 500,
    }  # fmt: skip
    roots = trace.root[trace.root >= 0]
    assert roots.tolist() == [2]


def test_the_traces_are_simulated_and_replayed(profile: Path, tmp_path: Path) -> None:
    assert hocket("import", profile, "--from", "nccl-profile", "-o", tmp_path / "traces").returncode == 0
    simulated = in_process.hocket(
        "simulate", tmp_path / "traces", "--topology", "ring:4,bandwidth=50GB/s,latency=500ns"
    )
    assert simulated.returncode == 0, simulated.stderr
    assert plan_replay(read_traces(tmp_path / "traces")).num_ranks == 4


def test_the_only_missing_rank_is_known(profile: Path, tmp_path: Path) -> None:
    files = [path for path in profile_files(profile) if read_profile(path).communicators[0].rank != 3]
    done = hocket("import", *files, "-o", tmp_path / "traces")
    assert done.returncode == 0, done.stderr
    assert "the traces of ranks 3: 1 of 4 ranks are missing" in done.stdout
    assert read_groups(tmp_path / "traces" / "comm_groups.json") == {"1": (0, 1), "2": (2, 3)}


def test_communicators_of_unknown_ranks_are_left_out(profile: Path, tmp_path: Path) -> None:
    files = [path for path in profile_files(profile) if read_profile(path).communicators[0].rank in (0, 2)]
    done = hocket("import", *files, "-o", tmp_path / "traces")
    assert done.returncode == 0, done.stderr
    assert "communicator 0xb0 of 2 ranks, of which only [0] are known: left out (3)" in done.stdout


def test_ranks_of_two_runs_are_refused(profile: Path, tmp_path: Path) -> None:
    play_ranks(tmp_path, [0, 0], lambda rank: Communicator(LIBRARY, rank, 4) and None)
    done = hocket("import", tmp_path, "-o", tmp_path / "traces")
    assert done.returncode == 3
    assert "give the files of one run" in done.stderr


def test_clocks_of_hosts_are_moved_where_collectives_contradict_them(profile: Path) -> None:
    profiles = [read_profile(path) for path in profile_files(profile)]
    done = [calls_done(own) for own in profiles]
    assert set(host_shifts(profiles, done).values()) == {0}
    # The second host's clock is behind by 10 s: there all collectives seem to end before rank 0 began them.
    far = [type(own)(**vars(own) | {"host": f"host{own.communicators[0].rank // 2}"}) for own in profiles]
    moved = []
    for own, calls in zip(far, done, strict=True):
        late = 10**10 if own.host == "host1" else 0
        records = calls.records.copy()
        records["start_ns"] -= late
        moved.append(type(calls)(**vars(calls) | {"records": records, "end_ns": calls.end_ns - late}))
    shifts = host_shifts(far, moved)
    first = far[0].host
    wrong = {"host0": -(10**10), "host1": 10**10}[next(host for host in shifts if host != first)]
    # The four processes ran one after another, within far less than a second.
    assert abs(max(shifts.values(), key=abs) - wrong) < 10**9


def test_calls_are_numbered_where_nccl_does_not(tmp_path: Path) -> None:
    """A graph's launches all have the number of the next call, here 1; the calls 2 and 3 have no record."""

    def play_graph(rank: int) -> None:
        world = Communicator(LIBRARY, rank, 1)
        for number in (0, 1, 1, 1, 4):
            world.counts["AllReduce"] = number
            world.collective("AllReduce", 1)

    play_ranks(tmp_path, [0], play_graph)
    (path,) = profile_files(tmp_path)
    assert calls_done(read_profile(path)).number.tolist() == [0, 1, 2, 3, 6]


def test_launchers_ranks_count_where_no_communicator_has_all(tmp_path: Path) -> None:
    for rank in range(4):
        pair = rank // 2

        def play_pair(rank: int, pair: int = pair) -> None:
            Communicator(LIBRARY, rank % 2, 2, 0xB0 + pair).collective("AllReduce", 4)

        play_ranks(tmp_path / "profile", [rank], play_pair, RANK=str(rank))
    traces, _ = imported(tmp_path, tmp_path / "profile")
    assert traces.groups == {"1": (0, 1), "2": (2, 3)}
