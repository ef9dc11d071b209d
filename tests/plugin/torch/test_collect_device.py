"""Collectives on CUDA, by recorded streams and with CPU taken for a device: not run on hardware."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import streams
from streams import END, call, done, group, meta, wait, write

from hocket.chakra.messages import read_messages
from hocket.recording.folder import stream_path
from hocket.recording.merge import merge
from hocket.recording.recording import read_recording

# As if gloo's tensors were on CUDA; a Work of gloo knows when it is complete.
ON_CUDA = """
import time
import torch, torch.distributed as dist
from hocket.plugin.torch import hook
hook.on_device = lambda tensors: bool(tensors)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
for size in range(1, 5):
    work = dist.all_reduce(torch.ones(size), async_op=True)
    time.sleep(0.05)
work.wait()
dist.destroy_process_group()
"""


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
    from hocket.plugin.torch.describe import describer
    from hocket.plugin.torch.groups import CollectedGroup
    from hocket.plugin.torch.signature import signatures

    (signature,) = [signature for signature in signatures() if signature.op == "allgather_"]
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(stream_id=30 + device))
    tensor = SimpleNamespace(nbytes=8, dtype=torch.float32, is_cuda=True, device=1)
    text = describer(signature)(([[tensor]], [tensor], None, True), CollectedGroup(0, [0]), True)
    assert json.loads("{" + text + "}")["stream"] == 31


@pytest.mark.torch
def test_works_on_a_device_are_asked_whether_they_are_complete(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "script.py").write_text(ON_CUDA)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "hocket", "collect", "--out", str(out), "--completion", "-n", "1"]
    python = os.environ | {"HOCKET_COLLECT_HOOK": "python"}
    finished = subprocess.run(
        [*command, str(tmp_path / "script.py")], env=python, capture_output=True, text=True, timeout=100
    )
    assert finished.returncode == 0, finished.stderr
    records = streams.read(stream_path(out, 0))
    assert [(record["k"], record["id"]) for record in records if record["k"] in "cd"] == [
        (letter, n) for n in range(4) for letter in "cd"
    ]


def test_completions_are_written_as_they_are_seen() -> None:
    pytest.importorskip("torch")
    from hocket.plugin.torch.completions import Completions

    written: list[str] = []
    completions = Completions()
    answers = {0: [False, False, True], 1: [True], 2: [RuntimeError()], 3: [False] * 10**6}

    def ask(operation: int) -> bool:
        answer = answers[operation].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    completions.open(SimpleNamespace(write=written.append))
    for operation in answers:
        completions.add(operation, SimpleNamespace(is_completed=lambda operation=operation: ask(operation)))
    while answers[0]:
        pass  # the other thread asks
    completions.close()
    assert [line.split()[:2] for line in written] == [["d", "1"], ["d", "0"]]
