"""Collectives on devices: by recorded streams, and on the device `late`; not run on hardware."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from streams import END, call, done, group, meta, wait, write

from hocket.chakra.messages import read_messages
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording


def test_a_wait_on_a_device_is_not_the_end(tmp_path: Path) -> None:
    """Issued on stream 7 at 0 ns, "waited for" until 110 ns, seen complete at 900 ns; the second was not watched."""
    calls = [call(n, 1000 * n, **{"async": 1, "stream": 7}) for n in range(2)]
    write(
        tmp_path,
        0,
        meta(0, 1),
        group([0]),
        calls[0],
        wait(0, 100, 110),
        done(0, 900),
        calls[1],
        wait(1, 1100, 1110),
        END,
    )
    merge(tmp_path)
    columns = read_recording(stream_path(tmp_path, 0)).columns
    assert (columns.end.tolist(), columns.wait_end.tolist()) == ([900, 1110], [110, 1110])
    nodes = [node for node in read_messages(tmp_path / "trace.0.et") if node.DESCRIPTOR.name == "Node"]
    on_stream = [[a.int64_val for a in node.attr if a.name == "stream"] for node in nodes if node.name == "all_reduce"]
    assert on_stream == [[7], [7]]


def test_the_stream_that_is_current_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    from hocket.plugin.torch.groups import CollectedGroup
    from hocket.plugin.torch.python.describe import describer
    from hocket.plugin.torch.signature import signatures

    (signature,) = [signature for signature in signatures() if signature.op == "allgather_"]
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(stream_id=30 + device.index))
    tensor = SimpleNamespace(nbytes=8, dtype=torch.float32, device=torch.device("cuda", 1))
    text = describer(signature)(([[tensor]], [tensor], None, True), CollectedGroup(0, [0]), True)
    assert json.loads("{" + text + "}")["stream"] == 31


@pytest.fixture(scope="module", params=["native", "python"])
def on_late_device(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stream of device_job.py by either hook."""
    if pytest.importorskip("torch").__version__ < "2.5":
        pytest.skip("PyTorch 2.4's devices are not asked for times")
    out = tmp_path_factory.mktemp("late")
    command = [sys.executable, "-m", "hocket.collect", "--out", str(out), "--skip-steps", "1"]
    environment = os.environ | {"HOCKET_COLLECT_HOOK": request.param, "PYTHONPATH": os.pathsep.join(sys.path)}
    script = Path(__file__).with_name("device_job.py")
    finished = subprocess.run([*command, str(script)], env=environment, capture_output=True, text=True, timeout=600)
    assert finished.returncode == 0, finished.stderr
    (stream,) = out.rglob("rank0.stream")
    return stream


@pytest.mark.torch
def test_devices_tell_when_their_streams_came_and_went_on(on_late_device: Path) -> None:
    """What was held back for 50 ms was waited for as long, though the host's wait returned at once."""
    recording = read_recording(on_late_device)
    columns = recording.columns
    held, passed, broadcast = range(3)
    assert (columns.start > columns.issued)[[held, passed, broadcast]].all()
    assert (columns.end - columns.begin)[held] > 40e6
    assert (columns.wait_end - columns.wait_begin)[held] > 40e6
    assert (columns.end - columns.begin)[broadcast] > 25e6
    assert columns.wait_begin[passed] - columns.start[passed] > 40e6  # the stream came late to its wait
    assert columns.begin[passed] >= columns.end[held]
    assert len(set(columns.thread[[held, passed, broadcast]].tolist())) == 1


@pytest.mark.torch
def test_each_replay_of_a_graph_is_seen_and_its_capture_is_not(on_late_device: Path) -> None:
    """Two recorded replays of two calls, of 40 ms each; capture and first replay lie before the recorded steps."""
    recording = read_recording(on_late_device)
    columns = recording.columns
    assert [recording.shapes[shape].graph for shape in columns.shape.tolist()] == [None] * 3 + [0] * 4
    assert [recording.shapes[shape].num_bytes for shape in columns.shape.tolist()[3:]] == [32, 64, 32, 64]
    # One before, two captured, two of the first replay.
    assert columns.sequence.tolist() == [5, 6, 7, 8, 9, 10, 11]
    assert columns.step.tolist() == [1, 1, 1, 2, 2, 2, 2]
    assert ((columns.end - columns.start)[3:] > 30e6).all()
    assert columns.start[5] >= columns.end[3]
    assert len(set(columns.thread.tolist())) == 1  # on the stream of the other calls
    assert "when 4 calls in 2 replays of graphs ran: they have the replay's times" in recording.unseen
    assert not any("host's times" in what for what in recording.unseen)


@pytest.mark.torch
@pytest.mark.parametrize("hook", ["native", "python"])
def test_devices_are_asked_in_each_job_of_a_process(tmp_path: Path, hook: str) -> None:
    """Two processes that exchange their ranks are another job then."""
    pytest.importorskip("torch")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {"HOCKET_COLLECT_HOOK": hook, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["HOCKET_COLLECT_JOB"] = "turned"
    script = str(Path(__file__).with_name("turned_job.py"))
    command = [*torchrun, "-m", "hocket.collect", "--out", str(tmp_path), script]
    finished = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=600)
    assert finished.returncode == 0, finished.stderr
    first, second = (read_recording(stream_path(tmp_path / job, 0)).columns for job in ("turned", "turned-2"))
    assert [len(columns.start) for columns in (first, second)] == [2, 3]
    assert all((columns.start > columns.issued).all() for columns in (first, second))


def run_on_late_device(out: Path, script: str, hook: str, *options: str) -> Path:
    """The stream of a script of one rank."""
    if pytest.importorskip("torch").__version__ < "2.5":
        pytest.skip("PyTorch 2.4's devices are not asked for times")
    command = [sys.executable, "-m", "hocket.collect", "--out", str(out), *options]
    environment = os.environ | {"HOCKET_COLLECT_HOOK": hook, "PYTHONPATH": os.pathsep.join(sys.path)}
    path = str(Path(__file__).with_name(script))
    finished = subprocess.run([*command, path], env=environment, capture_output=True, text=True, timeout=600)
    assert finished.returncode == 0, finished.stderr
    return stream_path(out / "latest", 0)


@pytest.mark.torch
@pytest.mark.parametrize("hook", ["native", "python"])
def test_calls_of_other_threads_are_no_part_of_a_capture(tmp_path: Path, hook: str) -> None:
    """Two broadcasts, twice three all_reduces of 128 bytes, and eight times a replay of two and a broadcast."""
    recording = read_recording(run_on_late_device(tmp_path, "graph_job.py", hook))
    shapes = [recording.shapes[number] for number in recording.columns.shape.tolist()]
    done = [shape.num_bytes for shape in shapes if shape.graph is None]
    assert done == [256, 128] + [128] * 6 + [256] * 8
    assert [shape.num_bytes for shape in shapes if shape.graph is not None] == [32, 64] * 8
    assert recording.errors == () and recording.lost == ()
    sequences = recording.columns.sequence[recording.by_shape(lambda shape: shape.group.order) == 0].tolist()
    assert sequences[0] == 0 and sequences[1:] == list(range(5, 5 + 24))  # behind four that were captured


@pytest.mark.torch
@pytest.mark.parametrize("hook", ["native", "python"])
def test_replays_of_a_window_are_whole(tmp_path: Path, hook: str) -> None:
    """The capture lies before all windows; of each two steps, with a replay of two calls and a broadcast, one."""
    stream = run_on_late_device(tmp_path, "graph_job.py", hook, "--windows", "2:1", "--skip-steps", "1")
    first, *_ = sorted(stream.parent.iterdir())
    first.unlink()  # with the capture
    recording = read_recording(stream, "3")
    shapes = [recording.shapes[number] for number in recording.columns.shape.tolist()]
    assert [shape.num_bytes for shape in shapes] == [32, 64, 256]
    assert not any("replays of graphs are not recorded" in what for what in recording.unseen)
