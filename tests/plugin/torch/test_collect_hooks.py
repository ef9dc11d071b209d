"""What both hooks of the collector bear: forks, threads, streams and shapes that grow, a full disk, no compiler."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import streams

pytest.importorskip("torch")
import torch

from hocket.base.errors import FormatError
from hocket.chakra.job_folders import jobs_in
from hocket.plugin.torch.hook import LIMIT
from hocket.plugin.torch.signature import ABSENT, signatures
from hocket.recording.folder import stream_path
from hocket.recording.recording import read_recording
from hocket.recording.settings import Settings

pytestmark = pytest.mark.torch

SAYS_SYNCHRONOUS = next(found for found in signatures() if found.op == "allreduce_").is_async != ABSENT
NATIVE = Path(__file__).parents[3] / "plugin" / "torch" / "native"

START = """
import os, pathlib, resource, sys, threading, time
import torch, torch.distributed as dist
from hocket import collect
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
tensor = torch.ones(70_000)
def reduce(first, last):
    for size in range(first, last):
        dist.all_reduce(tensor[:size])
def completed():  # how many completions callbacks have told
    jobs = pathlib.Path(os.environ["HOCKET_COLLECT"]).glob("[!l]*/stream/rank0.stream")  # not of `latest`
    return sum(path.read_bytes().count(b"\\nd ") for path in jobs)
def until(condition):
    while not condition():
        time.sleep(0.001)
"""

SIZES = LIMIT + 1000  # more shapes than a hook remembers

BUSY = f"""
reduce(1, 2)
child = os.fork()
if child == 0:  # a data loader, say; gloo's threads are not there, so nothing that needs them
    dist.monitored_barrier()
    collect.step()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
reduce(2, {SIZES})
threads = [threading.Thread(target=reduce, args=(100 * n, 100 * n + 100)) for n in (1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
reduce(1, 2)
"""

FIRST_OF_TWO_THREADS = """
from hocket.plugin.torch import collector
agree_on_folder = collector.agree_on_folder
def other_has_come():
    others = [frame for thread, frame in sys._current_frames().items() if thread != threading.get_ident()]
    return any(frame.f_code is collector.Collector._start.__code__ for frame in others)
def agree_slowly(*arguments):
    until(other_has_come)
    return agree_on_folder(*arguments)
collector.agree_on_folder = agree_slowly
barrier = threading.Barrier(2)
def start():
    barrier.wait()
    reduce(1, 6)
threads = [threading.Thread(target=start) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# NCCL, in new versions of PyTorch, returns no Work of a synchronous call; and gloo refuses some calls.
NO_WORK_AND_REFUSED = """
class NoWork(torch._C._distributed_c10d.Backend):
    def __init__(self, *_):
        super().__init__(0, 1)
    def getBackendName(self):
        return "nowork"
    def allreduce(self, tensors, options):
        return None
dist.Backend.register_backend("nowork", NoWork, extended_api=True, devices=["cpu"])
group = dist.new_group(backend="nowork")
for _ in range(3):
    dist.all_reduce(tensor[:6], group=group)
try:
    dist.all_gather([tensor[:8]], tensor[:9])
    raise AssertionError("8 elements are not 9")
except RuntimeError:
    pass
reduce(10, 12)
"""

# Of what is recorded nothing is waited for; what follows lies where it lay and is.
UNRECORDED_WAITS = """
import gc
works = [dist.all_reduce(tensor[n:], async_op=True) for n in range(20)]
until(lambda: completed() == 20)
del works
gc.collect()
collect.step()
for n in range(20):
    work = dist.all_reduce(tensor[n:], async_op=True)
    torch.ops._c10d_functional.wait_tensor(tensor[n:])
    work.wait()
"""

# Each call has its size; the thread that issues it goes on only when it is complete.
WAITS = """
def issue(size):
    before = completed()
    work = dist.all_reduce(tensor[:size], async_op=True)
    until(lambda: work.is_completed() and completed() > before)
    return work
unseen = [issue(1)]
issue(2).wait()
issue(3).get_future().wait()
issue(4).get_future().then(lambda future: future.value()).then(lambda future: 0).wait()
torch.futures.wait_all([issue(5).get_future(), issue(6).get_future()])
failing = issue(7).get_future().then(lambda future: 1 / 0)
try:
    failing.wait()
except Exception:
    print("failed")
dist._broadcast_coalesced(dist.group.WORLD, [torch.ones(30), torch.ones(30)], 100, 0)
issue(8)
@torch.compile(backend="eager", dynamic=True)
def compiled(tensor):  # at its graph breaks Dynamo must not compile the collector
    doubled = 2 * tensor
    dist.all_reduce(doubled, async_op=True).get_future().wait()
    dist._broadcast_coalesced(dist.group.WORLD, [doubled, doubled], 100, 0)
    return doubled
compiled(torch.ones(30))
compiled(torch.ones(31))
try:
    dist._broadcast_coalesced(dist.group.WORLD, [torch.ones(40), torch.ones(40, dtype=torch.int16)], 100, 0)
    raise AssertionError("gloo has no such numbers")
except RuntimeError:
    pass
"""

# What a failed backward pass has issued is forgotten: 200 of 100 calls would leave 20,000 numbers.
FAILING_PASSES = """
import ctypes
names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in names]
heap = ctypes.CDLL(None).mallinfo2
heap.restype = Heap
def fail(gradient):
    works = [dist.all_reduce(tensor[:1], async_op=True) for _ in range(100)]
    for work in works:
        work.wait()
    raise ArithmeticError
def passes(count):
    for _ in range(count):
        weight = torch.ones(1, requires_grad=True)
        weight.register_hook(fail)
        try:
            (2 * weight).sum().backward()
        except ArithmeticError:
            pass
    return heap().uordblks, sys.getallocatedblocks()
before, after = passes(100), passes(200)
print("grown", *(late - early for early, late in zip(before, after)))
weight = torch.ones(1, requires_grad=True)
weight.register_hook(lambda gradient: dist.all_reduce(gradient, async_op=True) and None)
(2 * weight).sum().backward()
"""

FULL_DISK = """
reduce(1, 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))  # no file grows beyond: as a full disk
reduce(1, 40_000)
print("trained")
"""


@pytest.fixture(params=["native", "python"])
def hook(request: pytest.FixtureRequest) -> str:
    pytest.importorskip("torch")
    return str(request.param)


def run(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = folder / "script.py"
    path.write_text(START + script)
    command = [sys.executable, "-m", "hocket.collect", "--out", str(folder / "out"), str(path)]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, timeout=100)


def test_everything_is_recorded_once_and_in_order(tmp_path: Path, hook: str) -> None:
    finished = run(tmp_path, BUSY, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    cost = r"; it took \d+ calls x \S+ us = \S+% of the time of rank 0" if hook == "python" else ""
    assert re.search(rf"^hook: {hook}{cost}$", finished.stdout, re.MULTILINE)
    recording = read_recording(stream_path(streams.job(tmp_path / "out"), 0))
    calls = recording.columns
    sizes = [recording.shapes[shape].input_bytes // 4 for shape in calls.shape]
    main = calls.thread == calls.thread[0]
    # What the forked child did is not there.
    assert {shape.kind for shape in recording.shapes} == {"all_reduce"} and not recording.steps
    assert [size for size, is_main in zip(sizes, main, strict=True) if is_main] == [1, *range(2, SIZES), 1]
    assert sorted(size for size, is_main in zip(sizes, main, strict=True) if not is_main) == [*range(100, 300)]
    assert len(set(calls.thread.tolist())) == 3
    assert sorted(calls.sequence.tolist()) == list(range(len(sizes)))
    assert (calls.start <= calls.wait_begin).all() and (calls.wait_begin <= calls.wait_end).all()
    ends, waits = calls.end.tolist(), calls.wait_end.tolist()
    # PyTorch whose operations do not say that they are synchronous tells their ends, too, by themselves
    assert ends == waits if SAYS_SYNCHRONOUS else all(end <= wait for end, wait in zip(ends, waits, strict=True))
    assert len(recording.shapes) > LIMIT  # the first shape was forgotten, and came again
    assert recording.ended
    # before PyTorch 2.15 the Python hook cannot read the reduction, and says so
    assert [what for what in recording.errors if not what.startswith("torch.distributed.ReduceOp.unbox:")] == []


@pytest.mark.skipif(torch.__version__ < "2.14", reason="backends in Python come with PyTorch 2.14")
def test_threads_open_one_stream_and_calls_without_work_or_refused_are_told_apart(tmp_path: Path, hook: str) -> None:
    finished = run(tmp_path, FIRST_OF_TWO_THREADS + NO_WORK_AND_REFUSED, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    assert len(jobs_in(tmp_path / "out")) == 1
    recording = read_recording(stream_path(streams.job(tmp_path / "out"), 0))
    assert Counter(shape.input_bytes // 4 for shape in map(recording.shapes.__getitem__, recording.columns.shape)) == {
        **dict.fromkeys(range(1, 6), 2),
        6: 3,
        10: 1,
        11: 1,
    }
    assert "not recorded: rank 0: allgather_: raised: ProcessGroupGloo::allgather: invalid tensor" in finished.stdout
    assert "did not end" not in finished.stdout


def test_what_is_not_recorded_is_not_taken_for_what_nobody_waited_for(tmp_path: Path, hook: str) -> None:
    finished = run(tmp_path, UNRECORDED_WAITS, HOCKET_COLLECT_HOOK=hook, HOCKET_COLLECT_STEPS="1")
    assert finished.returncode == 0, finished.stderr
    records = streams.read(stream_path(streams.job(tmp_path / "out"), 0))
    assert [sum(record["k"] == letter for record in records) for letter in "cw"] == [20, 0]


def test_waits_are_those_that_were_seen(tmp_path: Path, hook: str) -> None:
    finished = run(tmp_path, WAITS, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    assert "failed" in finished.stdout
    calls = streams.issued(read_recording(stream_path(streams.job(tmp_path / "out"), 0)))
    reduces = {call.num_bytes // 4: call for call in calls if call.kind == "all_reduce"}
    assert [size for size, call in reduces.items() if call.wait_end is None] == [1, 7, 8]
    assert all(call.end is not None and call.start < call.end for call in reduces.values())
    # To ask whether it is complete, as for all of them, is no wait, and one that failed, as for 7, neither.
    asynchronous = [call for call in calls if call.is_async]
    assert f"unwaited: rank 0: no wait was seen for 4 of {len(asynchronous)} asynchronous calls" in finished.stdout
    broadcasts = [call for call in calls if call.kind == "broadcast"]
    assert len(broadcasts) == 8  # in C++, as soon as there are 100 bytes; the last two in a call that raised
    assert all(call.end <= call.wait_end for call in broadcasts[:6])
    assert [(call.end is None, call.wait_end) for call in broadcasts[6:]] == [(False, None), (True, None)]
    assert {30, 31} <= set(reduces)
    assert "UserWarning" not in finished.stderr


def test_passes_that_fail_leave_nothing(tmp_path: Path, hook: str) -> None:
    finished = run(tmp_path, FAILING_PASSES, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    (grown,) = [line.split()[1:] for line in finished.stdout.splitlines() if line.startswith("grown")]
    in_bytes, in_blocks = map(int, grown)
    assert in_bytes < 200 * 100 * 8 / 2 and in_blocks < 200 * 100 / 2
    passes = [r for r in streams.read(stream_path(streams.job(tmp_path / "out"), 0)) if r["k"] == "backward"]
    assert [record["ids"] for record in passes] == [[300 * 100]]  # the one that did not fail


def test_a_full_disk_ends_the_recording_not_the_job(tmp_path: Path, hook: str) -> None:
    finished = run(tmp_path, FULL_DISK, HOCKET_COLLECT_HOOK=hook)
    assert finished.returncode == 0, finished.stderr
    assert "trained" in finished.stdout
    (said,) = [line for line in finished.stderr.splitlines() if "recording stops here" in line]
    stream = stream_path(streams.job(tmp_path / "out"), 0)
    assert said.startswith(f"hocket: {stream}: File too large")
    assert 0 < len(streams.calls(stream)) < 40_000
    assert "unended: rank 0" in finished.stdout


@pytest.mark.parametrize(
    ("variables", "remark"),
    [
        ({"HOCKET_COLLECT_HOOK": "native", "CXX": "no-such-compiler"}, "python: no-such-compiler: cannot be run"),
        ({"CXX": "g++ '-O2"}, "python: CXX=g++ '-O2: No closing quotation; mend it, or unset CXX"),
        ({"HOCKET_COLLECT_HOOK": "native", "CXX": "false"}, "python: hocket_hook could not be built by: false"),
        ({"HOCKET_COLLECT_NO_BUILD": "1"}, "python: no native hook is there for PyTorch"),
    ],
)
def test_without_the_compiled_hook_python_records_and_says_why(
    tmp_path: Path, variables: dict[str, str], remark: str
) -> None:
    pytest.importorskip("torch")
    finished = run(tmp_path, "reduce(1, 3)", HOCKET_CACHE=str(tmp_path / "cache"), **variables)
    assert finished.returncode == 0, finished.stderr
    assert f"hook: {remark}" in finished.stdout
    assert "hocket collect build" in finished.stdout
    assert len(streams.calls(stream_path(streams.job(tmp_path / "out"), 0))) == 2


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from hocket.base.errors import HocketError
    from hocket.plugin.torch.native.library import load_library

    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    with pytest.raises(HocketError, match=r"broken.so: cannot be loaded"):
        load_library(broken)


def test_the_hook_is_built_once_by_a_command(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    build = [sys.executable, "-m", "hocket", "collect", "build"]
    done = subprocess.run(build, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    library = Path(done.stdout.splitlines()[-1])
    assert library.name.startswith("hocket_hook-") and library.is_file()
    failed = subprocess.run(
        build, env=os.environ | {"HOCKET_CACHE": str(tmp_path), "CXX": "false"}, capture_output=True, text=True
    )
    assert failed.returncode == 3
    assert "error: hocket_hook could not be built by: false" in failed.stderr


def test_only_known_hooks_are_taken() -> None:
    assert Settings.from_environment({"HOCKET_COLLECT": "out", "HOCKET_COLLECT_HOOK": "native"}) == Settings(
        "out", hook="native"
    )
    with pytest.raises(FormatError, match="HOCKET_COLLECT_HOOK: 'fast' is not one of auto, native, python"):
        Settings.from_environment({"HOCKET_COLLECT": "out", "HOCKET_COLLECT_HOOK": "fast"})


def test_both_hooks_remember_as_much_and_one_table_drives_both() -> None:
    assert f"kLimit = 1 << {LIMIT.bit_length() - 1};" in (NATIVE / "recorder.hpp").read_text()
    from hocket.chakra.c10d import OPERATIONS

    sources = "".join(path.read_text() for path in NATIVE.glob("*.?pp"))
    assert [op for op in OPERATIONS if f'"{op}"' in sources] == []
