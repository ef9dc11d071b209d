"""`hocket collect --mpi`: what programs issue, as they count it themselves, is what the traces hold."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import streams

from hocket.chakra import CollectiveType, NodeType, TraceSet, read_traces
from hocket.recording.folder import stream_path
from hocket.recording.recording import Recording, read_recording

pytestmark = pytest.mark.mpi

CALLS = Path(__file__).with_name("mpi_calls.py")
STENCIL = Path(__file__).parents[3] / "examples" / "stencil_mpi.py"
PROGRAM = Path(__file__).with_name("mpi_program.c")
HOCKET = [sys.executable, "-m", "hocket"]
KINDS = {NodeType.COMM_SEND: "send", NodeType.COMM_RECV: "recv"}


def mpich(tool: str) -> str:
    """A tool of the MPI beside this Python, which the wheel `mpich` brings."""
    found = shutil.which(tool, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"needs {tool}: pip install mpi4py mpich")
    return found


@pytest.fixture
def collect(cache: Path, tmp_path: Path):  # type: ignore[no-untyped-def]  # a function of the tests' own
    def run(
        *command: str, out: str = "traces", ranks: int = 2, options: Sequence[str] = (), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        line = [*HOCKET, "collect", "--out", str(tmp_path / out), *options, "--mpi"]
        line += [mpich("mpiexec"), "-n", str(ranks), *command]
        environment = os.environ | {"HOCKET_CACHE": str(cache)} | variables
        return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=200, cwd=tmp_path)

    return run


def recordings(folder: Path, ranks: int) -> list[Recording]:
    return [read_recording(stream_path(streams.job(folder), rank)) for rank in range(ranks)]


def nodes(traces: TraceSet, rank: int) -> list[tuple[str, tuple[int, ...], int, int]]:
    """Kind, members of the group, bytes and peer of a rank's communication, in order of issue."""
    trace = traces.traces[rank]
    found = []
    for k in range(len(trace.id)):
        kind = NodeType(int(trace.type[k]))
        if kind == NodeType.COMM_COLL:
            name = CollectiveType(int(trace.comm_type[k])).name.lower()
        elif kind in KINDS:
            name = KINDS[kind]
        else:
            continue
        peer = {"send": trace.comm_dst, "recv": trace.comm_src}.get(name)
        members = traces.members(trace.strings[trace.process_group[k]])
        found.append((name, tuple(members), int(trace.comm_bytes[k]), -1 if peer is None else int(peer[k])))
    return found


def test_every_kind_of_call_is_in_the_traces_as_the_program_counts_it(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    finished = collect(sys.executable, str(CALLS), str(tmp_path), ranks=4)
    assert finished.returncode == 0, finished.stderr
    assert "no disagreement between ranks" in finished.stdout
    traces = read_traces(tmp_path / "traces")
    for rank in range(4):
        issued = json.loads((tmp_path / f"rank{rank}.json").read_text())
        expected = [(kind, tuple(members), num_bytes, peer) for kind, members, num_bytes, peer in issued]
        assert Counter(nodes(traces, rank)) == Counter(expected)
    (recording, *_) = recordings(tmp_path / "traces", 4)
    operations = {call.op.removesuffix("_c") for call in streams.issued(recording)}
    assert {"MPI_Iallreduce", "MPI_Alltoallw", "MPI_Allreduce_init", "MPI_Bsend", "MPI_Sendrecv"} <= operations
    unended = [call.op.removesuffix("_c") for call in streams.issued(recording) if call.end is None]
    assert unended == ["MPI_Send_init"]  # freed while it was under way
    reductions = {call.reduction for call in streams.issued(recording) if call.kind == "reduce"}
    assert reductions == {"MAX", "SUM"}
    assert {call.dtype for call in streams.issued(recording)} == {"float64", ""}

    validate = [*HOCKET, "trace", "validate", "--profile", "mlcommons", str(tmp_path / "traces")]
    assert subprocess.run(validate, capture_output=True).returncode == 0
    topology = "ring:4,bandwidth=50GB/s,latency=500ns"
    simulated = subprocess.run(
        [*HOCKET, "simulate", str(tmp_path / "traces"), "--topology", topology], capture_output=True, text=True
    )
    assert simulated.returncode == 0, simulated.stderr
    assert "all_to_all" in simulated.stdout


def test_a_stencil_is_taken_by_the_simulator_and_by_astra_sims_rules(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    finished = collect(sys.executable, str(STENCIL), ranks=4, HOCKET_COLLECT_SKIP_STEPS="2")
    assert finished.returncode == 0, finished.stderr
    assert "4 ranks, 8 training steps recorded" in finished.stdout
    traces = str(tmp_path / "traces")
    validate = [*HOCKET, "trace", "validate", "--profile", "astra-sim", traces]
    assert subprocess.run(validate, capture_output=True).returncode == 0
    topology = "ring:4,bandwidth=12.5GB/s,latency=2us"
    simulate = [*HOCKET, "simulate", traces, "--topology", topology, "--json", str(tmp_path / "prediction.json")]
    assert subprocess.run(simulate, capture_output=True).returncode == 0
    # An edge of 1024 doubles to each neighbour in each of 8 steps, and one double agreed on.
    issued = [
        Counter((kind, num_bytes) for kind, _, num_bytes, _ in nodes(read_traces(traces), rank)) for rank in (0, 1)
    ]
    assert issued[0] == {("send", 8192): 8, ("recv", 8192): 8, ("all_reduce", 8): 8}
    assert issued[1] == {("send", 8192): 16, ("recv", 8192): 16, ("all_reduce", 8): 8}


def test_a_c_program_with_steps_that_forks_and_frees_requests(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = tmp_path / "program"
    subprocess.run([mpich("mpicc"), str(PROGRAM), "-o", str(program)], check=True)
    finished = collect(str(program))
    assert finished.returncode == 0, finished.stderr
    counted = dict(line.split() for line in finished.stdout.splitlines()[:3])
    for recording in recordings(tmp_path / "traces", 2):
        assert Counter(call.kind for call in streams.issued(recording)) == {kind: int(n) for kind, n in counted.items()}
        assert [call.step for call in streams.issued(recording) if call.kind == "all_reduce"] == [0, 1, 2]
        other = 1 - recording.rank
        # 8 floats came where 64 would fit; from anyone, with any tag, where that was asked for.
        received = [(call.peer, call.tag, call.num_bytes) for call in streams.issued(recording) if call.kind == "recv"]
        assert received == [(other, tag, 32) for tag in (1, 2, 3, 4)]
    assert "MPI_Scan: execution traces have no prefix sums" in finished.stdout

    skipped = collect(str(program), out="two", HOCKET_COLLECT_SKIP_STEPS="1", HOCKET_COLLECT_STEPS="1")
    assert skipped.returncode == 0, skipped.stderr
    (call,) = streams.issued(recordings(tmp_path / "two", 2)[0])
    assert (call.kind, call.step, call.sequence) == ("all_reduce", 1, 1)


def test_what_a_killed_rank_recorded_is_merged_and_named(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = (
        "import os, signal; from mpi4py import MPI\n"
        "for step in range(5):\n"
        "    MPI.COMM_WORLD.Barrier()\n"
        "    if step == 3 and MPI.COMM_WORLD.rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    finished = collect(sys.executable, "-c", program, options=["--watch"])
    assert finished.returncode not in (0, 3)  # the job's own
    assert "unended: rank 1" in finished.stdout
    killed = recordings(tmp_path / "traces", 2)[1]
    assert [call.kind for call in streams.issued(killed)] == ["barrier"] * 4 and not killed.ended


# Rank 1 as if on another machine: another boot, a clock 1000 s ahead.
ELSEWHERE = """
unset MPI_LOCALNRANKS
[ "$PMI_RANK" = 0 ] && exec "$@"
echo 00000000-0000-4000-8000-000000000001 > boot
exec unshare --time --monotonic 1000 --mount --fork sh -c \
  'mount --bind boot /proc/sys/kernel/random/boot_id && exec "$@"' sh "$@"
"""


def test_clocks_of_other_machines_are_brought_to_rank_0s(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    if subprocess.run(["unshare", "--time", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("needs the right to make a time namespace")
    program = "from mpi4py import MPI\nfor _ in range(9): MPI.COMM_WORLD.Barrier()"
    finished = collect("sh", "-c", ELSEWHERE, "sh", sys.executable, "-c", program)
    assert finished.returncode == 0, finished.stderr
    assert "clocks: ping-pongs, wrong by at most" in finished.stdout
    here, elsewhere = recordings(tmp_path / "traces", 2)
    assert streams.issued(elsewhere)[0].start - streams.issued(here)[0].start > 900 * 10**9
    begins = [trace.start_us[0] for trace in read_traces(tmp_path / "traces").traces]
    assert abs(int(begins[1]) - int(begins[0])) < 100 * 10**6


def test_what_mpi_refuses_or_a_program_cancels_is_as_if_it_had_not_been(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = (
        "from mpi4py import MPI; import numpy as np\n"
        "world, x = MPI.COMM_WORLD, np.zeros(4)\n"
        "world.Set_errhandler(MPI.ERRORS_RETURN)\n"
        "for refused in (\n"
        "    lambda: world.Send(x, 10**8), lambda: world.Isend(x, -5 * 10**6), lambda: world.Recv(x, 2),\n"
        "    lambda: world.Send(x, 0, -7), lambda: world.Bcast(x, 10**8), lambda: world.Bcast(x, -9),\n"
        "    lambda: world.Ibcast(x, 2),\n"
        "):\n"
        "    try: refused()\n"
        "    except MPI.Exception: print('refused', flush=True)\n"
        "request = world.Irecv(x, 1 - world.rank, 7)\n"
        "request.Cancel()\n"
        "request.Wait()\n"
        "world.Allreduce(MPI.IN_PLACE, x)\n"
    )
    finished = collect(sys.executable, "-c", program)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("refused") == 2 * 7
    assert "no disagreement between ranks" in finished.stdout and "cut:" not in finished.stdout
    for recording in recordings(tmp_path / "traces", 2):
        assert [(call.kind, call.sequence) for call in streams.issued(recording)] == [("all_reduce", 0)]


def test_threads_may_call_at_once(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = (
        "import threading, numpy as np; from mpi4py import MPI\n"
        "comms = [MPI.COMM_WORLD.Dup() for _ in range(4)]\n"
        "def work(comm, tag):\n"
        "    other, x, y = 1 - comm.rank, np.zeros(4), np.zeros(4)\n"
        "    for _ in range(200):\n"
        "        MPI.Request.Waitall([comm.Irecv(y, other, tag), comm.Isend(x, other, tag)])\n"
        "    comm.Allreduce(x, y)\n"
        "threads = [threading.Thread(target=work, args=(comm, tag)) for tag, comm in enumerate(comms)]\n"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
    )
    finished = collect(sys.executable, "-c", program)
    assert finished.returncode == 0, finished.stderr
    assert "no disagreement between ranks" in finished.stdout
    for recording in recordings(tmp_path / "traces", 2):
        kinds = Counter((call.group.order, call.tag, call.kind) for call in streams.issued(recording))
        expected = {(1 + tag, tag, kind): 200 for tag in range(4) for kind in ("send", "recv")}
        assert kinds == expected | {(1 + tag, 0, "all_reduce"): 1 for tag in range(4)}
        assert len({call.thread for call in streams.issued(recording)}) == 4
        assert all(call.wait_end is not None for call in streams.issued(recording))


@pytest.mark.parametrize(
    ("command", "variables", "expected"),
    [
        (["true"], {}, "no process initialized MPI through a shared library"),
        (["true"], {"CXX": "no-such-compiler"}, "no-such-compiler: cannot be run"),
        (["true"], {"CXX": "g++ '-O2"}, "CXX=g++ '-O2: No closing quotation; mend it, or unset CXX"),
    ],
)
def test_what_cannot_be_recorded_is_said(collect, tmp_path, command, variables, expected) -> None:  # type: ignore[no-untyped-def]
    finished = collect(*command, **variables)
    assert finished.returncode == 3 and expected in finished.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mpi", "no-such-launcher"], "no-such-launcher: no such command"),
        (["--mpicc", "no-such-wrapper", "--mpi", "true"], "no-such-wrapper: No such file"),
        (["--mpicc", "false", "--mpi", "true"], "false -show failed"),
        (["--mpicc", "echo", "--mpi", "true"], "mpi.h: No such file"),
    ],
)
def test_a_launch_line_that_cannot_work_is_refused(tmp_path: Path, options: list[str], expected: str) -> None:
    environment = os.environ | {"HOCKET_CACHE": str(tmp_path / "cache")}
    line = [*HOCKET, "collect", "--out", str(tmp_path / "traces"), *options]
    finished = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert finished.returncode == 3 and expected in finished.stderr
    assert not list(tmp_path.glob("traces/trace.*"))


def test_a_program_of_another_mpi_is_told_to_name_its_compiler(collect, cache: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = tmp_path / "program"
    subprocess.run([mpich("mpicc_abi"), str(PROGRAM), "-o", str(program)], check=True)
    finished = collect(str(program))
    assert finished.returncode == 3
    assert "has the interface of the MPI standard ABI" in finished.stderr and "by --mpicc" in finished.stderr
    line = ["--mpicc", mpich("mpicc_abi"), "--mpi", mpich("mpiexec"), "-n", "2", str(program)]
    environment = os.environ | {"HOCKET_CACHE": str(cache)}
    told = subprocess.run([*HOCKET, "collect", "--out", str(tmp_path / "two"), *line], env=environment)
    assert told.returncode == 0
    assert [call.kind for call in streams.issued(recordings(tmp_path / "two", 2)[0])].count("all_reduce") == 3


def test_a_cap_drops_the_oldest_calls_and_counts_them(collect, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    program = tmp_path / "program.py"
    program.write_text(
        "from mpi4py import MPI\nfor _ in range(1000):\n    MPI.COMM_WORLD.Barrier()\n    MPI.Pcontrol(1)\n"
    )
    finished = collect(sys.executable, str(program), options=["--max-bytes", "64KiB"])
    assert finished.returncode == 0, finished.stderr
    assert "dropped: of ranks [0, 1] the first" in finished.stdout
    for rank, recording in enumerate(recordings(tmp_path / "traces", 2)):
        files = list((streams.job(tmp_path / "traces") / "stream").glob(f"rank{rank}.*"))
        assert sum(path.stat().st_size for path in files) <= 65536
        assert recording.dropped + len(recording) == 1000
    assert json.loads((streams.job(tmp_path / "traces") / "summary.json").read_text())["mismatches"] == []
