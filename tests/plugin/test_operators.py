"""`hocket collect --ops`: operators in place of the computation between calls."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hocket.chakra import NodeType, Trace, TraceSet, read_traces

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_ddp.py"
COLLECT = [sys.executable, "-m", "hocket", "collect"]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    out = tmp_path_factory.mktemp("ops") / "out"
    command = [*COLLECT, "--ops", "--out", str(out), "-n", "2", "--skip-steps", "2", "--steps", "1", str(EXAMPLE)]
    subprocess.run([*command, "--steps", "4"], check=True, timeout=300)
    return out


def merged(folder: Path) -> TraceSet:
    subprocess.run([*COLLECT, "merge", str(folder)], check=True, timeout=100, capture_output=True)
    return read_traces(folder)


def computed(trace: Trace) -> int:
    return int(trace.duration_ns[trace.type == NodeType.COMP].sum())


@pytest.mark.torch
def test_operators_take_the_place_of_computation(collected: Path) -> None:
    with_operators = read_traces(collected)
    profiles = collected / "ops"
    profiles.rename(collected / "elsewhere")
    without = merged(collected)
    for trace, plain in zip(with_operators.traces, without.traces, strict=True):
        # The same time, cut at the operators.
        assert computed(trace) == computed(plain)
        names = Counter(trace.strings[name] for name in trace.name[trace.type == NodeType.COMP])
        # The example's 3 layers of 4 products and its head; the backward pass has two products for each.
        assert (names["aten::linear"], names["aten::mm"]) == (13, 2 * 13)
        products = [row for row in range(len(trace)) if trace.strings[trace.name[row]] == "aten::linear"]
        assert all(trace.num_ops[row] > 0 and trace.tensor_bytes[row] > 0 for row in products)
        calls = trace.type == NodeType.COMM_COLL
        assert trace.comm_bytes[calls].tolist() == plain.comm_bytes[plain.type == NodeType.COMM_COLL].tolist()


@pytest.mark.torch
def test_a_profile_of_another_run_is_named(collected: Path, tmp_path: Path) -> None:
    for name in ("stream", "ops"):
        source = collected / name if (collected / name).exists() else collected / "elsewhere"
        (tmp_path / name).mkdir()
        for file in source.iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "ops" / "rank1.json"
    profile = json.loads(path.read_text())
    profile["baseTimeNanoseconds"] -= 10**12
    path.write_text(json.dumps(profile))
    merged(tmp_path)
    problems = json.loads((tmp_path / "summary.json").read_text())["mismatches"]
    assert [(problem["problem"], "rank1.json: not of this run" in problem["message"]) for problem in problems] == [
        ("operators", True)
    ]
