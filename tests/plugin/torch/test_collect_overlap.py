"""Communication beside computation on the device `late`, by either hook: times, traces and what simulate makes of
them are those of streams."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import streams

pytest.importorskip("torch")
import torch

from hocket.chakra import read_traces
from hocket.chakra.trace import Trace
from hocket.recording.folder import stream_path
from hocket.recording.recording import Recording, read_recording
from hocket.recording.waits import NONE

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(torch.__version__ < "2.5", reason="PyTorch 2.4's devices are not asked for times"),
]

MS = 1_000_000
BESIDE, FIRST, SECOND, *OVER = range(6)  # the first calls of device_overlap_job.py


@pytest.fixture(scope="module", params=["native", "python"])
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of device_overlap_job.py, recorded by either hook."""
    out = tmp_path_factory.mktemp("overlap")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*torchrun, "-m", "hocket.collect", "--out", str(out), "--skip-steps", "1"]
    more = {"HOCKET_COLLECT_HOOK": request.param, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    script = Path(__file__).with_name("device_overlap_job.py")
    finished = subprocess.run(
        [*command, str(script)], env=os.environ | more, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stderr
    assert f"hook: {request.param}" in finished.stdout
    return streams.job(out)


def recordings(job: Path) -> Iterator[Recording]:
    for rank in range(2):
        yield read_recording(stream_path(job, rank))


def test_calls_are_in_order_and_waits_are_exposed(job: Path) -> None:
    for recording in recordings(job):
        columns = recording.columns
        assert (columns.begin >= columns.start).all() and (columns.end >= columns.begin).all()
        waited = columns.wait_end != NONE
        assert (columns.wait_end >= columns.wait_begin)[waited].all()
        assert (columns.wait_begin >= columns.start)[waited].all()
        # the stream computed first, then waited, until the end and not longer
        assert columns.wait_begin[BESIDE] - columns.start[BESIDE] > 1 * MS
        assert columns.wait_end[BESIDE] - columns.wait_begin[BESIDE] > 25 * MS
        assert columns.wait_end[BESIDE] == columns.end[BESIDE]
        # two groups on two streams at once, the second within the first
        assert columns.thread[SECOND] != columns.thread[FIRST] == columns.thread[BESIDE]
        assert columns.issued[FIRST] < columns.issued[SECOND] and columns.end[SECOND] < columns.end[FIRST]
        assert (columns.wait_begin[OVER] - columns.start[OVER] > 20 * MS).all()


def test_a_communicator_does_one_call_at_a_time(job: Path) -> None:
    for recording in recordings(job):
        columns = recording.columns
        collectives = np.flatnonzero(columns.sequence >= 0)
        keys = [recording.shapes[shape].group.key for shape in columns.shape[collectives].tolist()]
        for key in set(keys):
            own = collectives[[other == key for other in keys]]
            in_graph = np.array([recording.shapes[shape].graph is not None for shape in columns.shape[own].tolist()])
            own = own[~in_graph]
            assert (columns.begin[own[1:]] >= columns.end[own[:-1]]).all(), key
        assert (columns.end - columns.begin)[OVER].min() > 0  # what they took together is shared


def test_the_trace_has_computation_beside_communication(job: Path) -> None:
    """Nothing between issue and wait depends on the all_reduce; what follows the wait does."""
    for trace in read_traces(str(job)).traces:
        names = [trace.strings[name] for name in trace.name.tolist()]
        collectives = [at for at, name in enumerate(names) if name == "all_reduce"]
        assert len(collectives) == 8
        (call, begin, end) = collectives[0], *_interval(trace, collectives[0])
        after = _descendants(trace, call)
        computed = [at for at, name in enumerate(names) if name == "compute" and at not in collectives]
        inside = [at for at in computed if begin <= trace.start_us[at] and _interval(trace, at)[1] < end]
        assert inside and not after & set(inside)
        assert min(trace.start_us[at] for at in after & set(computed)) >= int(end)  # us
        assert len(after & set(computed)) > 2


def test_traces_are_simulated_and_nobody_is_blamed(job: Path) -> None:
    machine = "ring:2,bandwidth=50GB/s,latency=1us"
    command = [sys.executable, "-m", "hocket", "simulate", str(job), "-t", machine]
    simulated = subprocess.run(command, capture_output=True, text=True)
    assert simulated.returncode == 0, simulated.stderr
    assert json.loads((job / "summary.json").read_text())["mismatches"] == []
    assert [what for what in _unseen(job) if "host's times" in what] == []


def _unseen(job: Path) -> list[str]:
    told: list[str] = json.loads((job / "summary.json").read_text())["unseen"]
    return told


def _interval(trace: Trace, at: int) -> tuple[float, float]:
    """In us."""
    return float(trace.start_us[at]), float(trace.start_us[at]) + trace.duration_ns[at] / 1000


def _descendants(trace: Trace, of: int) -> set[int]:
    """What depends on a node, by nodes' places; nodes stand in order."""
    places = {identifier: at for at, identifier in enumerate(trace.id.tolist())}
    found = {of}
    for at in range(of + 1, len(places)):
        parents = trace.data_deps[trace.data_offset[at] : trace.data_offset[at + 1]].tolist()
        parents += trace.ctrl_deps[trace.ctrl_offset[at] : trace.ctrl_offset[at + 1]].tolist()
        if found & {places[parent] for parent in parents}:
            found.add(at)
    return found - {of}
