"""Profiles that the plugin wrote in processes with several GPUs, as JAX, ncclCommInitAll and `all_reduce_perf -g` start
them: each GPU is a rank."""

from pathlib import Path

import pytest
from cuda_stand_in import build_cuda, load_cuda
from import_commands import communication, hocket, imported
from nccl_player import Communicator, play_ranks

from hocket.chakra import NodeType
from hocket.chakra.importers.nccl.devices import ranks_of
from hocket.chakra.importers.nccl.profile import profile_files, read_profile
from hocket.plugin.nccl.library import nccl_profiler_path
from hocket.recording.nccl.timings import profile_timings

LIBRARY = nccl_profiler_path()
WORLD = 8


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_cuda(tmp_path_factory.mktemp("cuda"))


def play_process(first: int, gpus: int, cuda: Path | None) -> None:
    """One of several processes: ranks `first` and so on, each a GPU; communicators of all, of the process in opposite
    order, and of the GPUs with one number."""
    select = load_cuda(cuda) if cuda else lambda device: None
    worlds, locals_, columns = [], [], []
    for gpu in range(gpus):
        select(gpu)
        worlds.append(Communicator(LIBRARY, first + gpu, WORLD, 0xA0, "world"))
    for gpu in reversed(range(gpus)):
        select(gpu)
        locals_.insert(0, Communicator(LIBRARY, gpus - 1 - gpu, gpus, 0xB0 + first, "local"))
        if gpus < WORLD:
            columns.insert(0, Communicator(LIBRARY, first // gpus, WORLD // gpus, 0xC0 + gpu, "column"))
    for gpu, world in enumerate(worlds):  # as in one group: each rank's part, then the next rank's
        begin = 1000 * first + 100 * gpu  # the GPUs' timers have zeros of their own
        world.collective("AllReduce", 1000, kernel=(begin + 10_000, begin + 60_000))
    for gpu, local in enumerate(locals_):
        local.collective("Broadcast", 64, "ncclInt8", root=gpus - 1, kernel=(70_000, 90_000))  # GPU 0's
        local.table.stop(local.message("Send" if gpu else "Recv", 96, peer=gpus - 1 if gpu else 0))
        for column in columns[gpu : gpu + 1]:
            column.collective("AllGather", 64, "ncclInt8", kernel=(100_000, 120_000))


def test_one_process_is_all_ranks(cuda: Path, tmp_path: Path) -> None:
    play_ranks(tmp_path / "profile", [0], lambda _: play_process(0, 8, cuda), RANK="0")
    (file,) = profile_files(tmp_path / "profile")
    parts = ranks_of(read_profile(file))
    assert [[own.rank for own in part.communicators] for part in parts] == [[gpu, 7 - gpu] for gpu in range(8)]
    traces, printed = imported(tmp_path, tmp_path / "profile", losses=True)
    assert len(traces.traces) == 8
    for trace in traces.traces:
        assert communication(trace)["all_reduce", 2000] == communication(trace)["broadcast", 64] == 1
        assert sorted(trace.duration_ns[trace.type == NodeType.COMM_COLL]) == [20_000, 50_000]
        assert trace.root[trace.root >= 0].tolist() == [0]
    # GPU 0's partner in the reversed communicator is its place 0: GPU 7.
    assert communication(traces.traces[0])["recv", 384] == communication(traces.traces[7])["send", 384] == 1
    assert "left out" not in printed.replace("tag 1, without partner: left out", "")


def test_two_processes_of_four(cuda: Path, tmp_path: Path) -> None:
    play_ranks(tmp_path / "profile", [0, 4], lambda first: play_process(first, 4, cuda), SLURM_PROCID="0")
    traces, _ = imported(tmp_path, tmp_path / "profile", losses=True)
    assert set(traces.groups.values()) == {(3, 2, 1, 0), (7, 6, 5, 4)} | {(gpu, gpu + 4) for gpu in range(4)}
    for trace in traces.traces:
        assert communication(trace)["all_gather", 64] == 1
    timed = profile_timings(tmp_path / "profile")
    assert sorted(own.time_ps for own in timed) == [20_000_000] * 6 + [50_000_000]
    shown = hocket("import", profile_files(tmp_path / "profile")[0], "-o", tmp_path / "half")
    assert shown.returncode == 0, shown.stderr
    assert "4 of 8 ranks are missing" in shown.stdout


def test_without_cuda_the_order_tells_where_all_have_the_same(tmp_path: Path) -> None:
    def play(_: int) -> None:
        for name in ("first", "second"):  # two communicators of the same ranks
            own = [Communicator(LIBRARY, rank, 4, 0xA0 + len(name), name) for rank in range(4)]
            for communicator in own:
                communicator.collective("AllReduce", 8)

    play_ranks(tmp_path / "profile", [0], play)
    traces, _ = imported(tmp_path, tmp_path / "profile", losses=True)
    assert [communication(trace)["all_reduce", 16] for trace in traces.traces] == [2] * 4


def test_without_cuda_parts_of_a_process_are_refused(tmp_path: Path) -> None:
    play_ranks(tmp_path / "profile", [0, 4], lambda first: play_process(first, 4, None))
    done = hocket("import", tmp_path / "profile", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert "CUDA did not tell the GPU of each of its 12 communicators" in done.stderr


def test_two_ranks_on_one_gpu_are_refused(cuda: Path, tmp_path: Path) -> None:
    def play(_: int) -> None:
        load_cuda(cuda)(0)
        own = [Communicator(LIBRARY, rank, 2, 0xA0) for rank in range(2)]
        Communicator(LIBRARY, 0, 1, 0xB0)
        assert len(own) == 2

    play_ranks(tmp_path / "profile", [0], play)
    done = hocket("import", tmp_path / "profile", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert "one rank per GPU" in done.stderr


def test_gpus_that_no_communicator_joins_are_ranks_in_their_order(cuda: Path, tmp_path: Path) -> None:
    def play(_: int) -> None:
        select = load_cuda(cuda)
        for gpu in range(4):
            select(gpu)
            Communicator(LIBRARY, gpu % 2, 2, 0xB0 + gpu // 2).collective("AllReduce", 4)

    play_ranks(tmp_path / "profile", [0], play)
    traces, _ = imported(tmp_path, tmp_path / "profile", losses=True)
    assert traces.groups == {"1": (0, 1), "2": (2, 3)}
