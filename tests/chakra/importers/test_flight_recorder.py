"""Flight Recorder dumps: PyTorch's own of gloo, and hand-written ones of NCCL, whose fields follow FlightRecorder.hpp
2.10 (what only NCCL's have: durations, states, point-to-point, ranks of groups)."""

import json
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handwritten import dump, entry
from import_commands import communication, hocket, imported, types

from hocket.chakra import NodeType


@pytest.mark.shared
def test_gloo_dumps_have_what_the_interposer_saw(shared: Path, tmp_path: Path) -> None:
    folder = shared / "torch_traces/interposed/ddp_tf"
    traces, printed = imported(tmp_path, *sorted(folder.glob("fr.*.json")))
    for rank, trace in enumerate(traces.traces):
        lines = map(json.loads, (folder / f"coll.{rank}.jsonl").read_text().splitlines())
        calls = [(line["kind"], line["in_bytes"]) for line in lines if line["k"] == "coll"]
        # The recorder began before the interposer and ended after it: barriers around the steps.
        seen = {call: count for call, count in communication(trace).items() if call[0] != "barrier"}
        assert seen == {call: calls.count(call) for call in set(calls)}
    assert "operations of unknown duration" in printed


FRESH = """
import sys, torch, torch.distributed as dist
from torch._C import _distributed_c10d as c10d
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
dist.all_reduce(torch.ones(25))
dist.broadcast(torch.ones(3, dtype=torch.bfloat16), 0)
open(sys.argv[1] + "/json0", "wb").write(c10d._dump_fr_trace_json(backend="gloo"))
open(sys.argv[1] + "/pickle0", "wb").write(c10d._dump_fr_trace(backend="gloo"))
"""


@pytest.mark.torch
def test_what_pytorch_writes_now(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    subprocess.run([sys.executable, "-c", FRESH, str(tmp_path)], check=True, timeout=100)
    for form in ("json", "pickle"):
        traces, _ = imported(tmp_path / form, tmp_path / f"{form}0")
        seen = {call: count for call, count in communication(traces.traces[0]).items() if call[0] != "barrier"}
        assert seen == {("all_reduce", 100): 1, ("broadcast", 6): 1}, form
        assert types(traces.traces[0]) >= Counter([("all_reduce", "float32"), ("broadcast", "bfloat16")])


def test_nccl(tmp_path: Path) -> None:
    for rank in range(2):
        tp = {"process_group": ("7", "tp"), "collective_seq_id": 1}
        ends = ("send 0->1", "recv 1<-0")
        entries = [
            entry(1, "nccl:all_reduce", [[1000]]),
            entry(2, "nccl:_all_gather_base", [[10, 10]], output_sizes=[[20, 10]], **tp),
            entry(3, f"nccl:{ends[rank]}", [[64]], is_p2p=True, collective_seq_id=1),
            entry(4, "nccl:coalesced", []),
        ]
        dump(tmp_path / f"nccl_trace_rank_{rank}", entries, {"0": "[0, 1]", "7": "[1, 0]"})
    traces, printed = imported(tmp_path, *tmp_path.glob("nccl_trace_rank_?"))
    assert traces.groups == {"1": (1, 0)}
    first, second = traces.traces
    assert communication(first) == {("all_reduce", 4000): 1, ("all_gather", 400): 1, ("send", 256): 1}
    assert communication(second) == {("all_reduce", 4000): 1, ("all_gather", 400): 1, ("recv", 256): 1}
    row = int(np.flatnonzero(first.type == NodeType.COMM_SEND)[0])
    assert (first.comm_src[row], first.comm_dst[row], first.duration_ns[row]) == (0, 1, 250_000)
    # Issues are 50 us apart: that is the computation between them.
    assert first.duration_ns[first.type == NodeType.COMP].tolist() == [50_000, 50_000]
    assert "'nccl:coalesced'" in printed


def test_a_job_that_hangs(tmp_path: Path) -> None:
    begun = {"state": "started", "retired": False, "duration_ms": None}
    late = [entry(2, "nccl:all_reduce", [[8]]), entry(3, "nccl:broadcast", [[8]])]
    dump(tmp_path / "rank0", [*late, entry(4, "nccl:all_reduce", [[16]], **begun)], {"0": "[0, 1]"})
    dump(tmp_path / "rank1", [entry(1, "nccl:all_reduce", [[4]]), *late], {"0": "[0, 1]"})
    traces, printed = imported(tmp_path, tmp_path / "rank0", tmp_path / "rank1")
    assert [communication(trace) for trace in traces.traces] == [{("all_reduce", 32): 1, ("broadcast", 32): 1}] * 2
    assert "rank 0: all_reduce #4 of group 0: started, never completed" in printed
    assert "all_reduce #4 of group 0: by ranks [0], not by [1]: left out" in printed
    assert "before all its ranks' records begin: left out" in printed


class Harmful:
    def __reduce__(self) -> Any:
        return print, ("a pickle called a function",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(Harmful()), "it wants builtins.print"),
        (pickle.dumps({"version": "1.0", "entries": []}), "version 1.0; versions 2.x"),
        (pickle.dumps({"version": "2.4", "entries": [{"profiling_name": 3}]}), "no Flight Recorder dump"),
        (b'{"pg_config": {}}', "no Flight Recorder dump"),
    ],
)
def test_refusals(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "rank0").write_bytes(content)
    done = hocket("import", tmp_path / "rank0", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert message in done.stderr
    assert "a pickle called" not in done.stdout
    assert not (tmp_path / "out").exists()


def test_a_dump_names_its_rank(tmp_path: Path) -> None:
    dump(tmp_path / "dump", [], {})
    assert "ends in its rank" in hocket("import", tmp_path / "dump", "-o", tmp_path / "out").stderr
