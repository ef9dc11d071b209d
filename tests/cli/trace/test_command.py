"""`hocket trace ...` as a user runs it, on real files."""

import json
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, read_traces, write_traces

hocket = partial(in_process.hocket, "trace")


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two ranks: compute, an all_reduce of 1 MiB in group dp, a barrier."""
    ranks = []
    for rank in range(2):
        builder = TraceBuilder({"rank": rank})
        first = builder.add_comp("compute", duration_ns=1_234_567)
        second = builder.add_collective(
            "all_reduce",
            CollectiveType.ALL_REDUCE,
            1 << 20,
            group="dp",
            dtype="bfloat16",
            deps=[first],
            duration_ns=2000,
        )
        builder.add_collective("barrier", CollectiveType.BARRIER, 0, deps=[second])
        ranks.append(builder.build())
    write_traces(tmp_path / "traces", TraceSet(tuple(ranks), {"dp": (0, 1)}))
    return tmp_path / "traces"


def test_info(traces: Path) -> None:
    done = hocket("info", traces)
    assert done.returncode == 0, done.stderr
    assert "2 ranks, 6 nodes, 4 dependencies" in done.stdout
    row = next(line.split() for line in done.stdout.splitlines() if "all_reduce" in line)
    # 2 nodes of 1 MiB = 2 MiB, each measured with 2 us.
    assert row == ["all_reduce", "dp", "1", "MiB", "1048576", "2", "2", "2", "MiB", "4"]


def test_info_as_json(traces: Path, tmp_path: Path) -> None:
    shown = json.loads(hocket("info", traces, "--json", "-").stdout)
    assert shown["nodes_per_type"] == {"COMP": 2, "COMM_COLL": 4}
    assert shown["communication"][0]["total_bytes"] == 2 << 20
    assert shown["collectives"] == [
        {"rank": rank, "kind": kind, "group_ranks": [0, 1], "bytes": size, "dtype": dtype, "count": 1}
        for rank in (0, 1)
        for kind, size, dtype in (("all_reduce", 1 << 20, "bfloat16"), ("barrier", 0, ""))
    ]
    assert hocket("info", traces / "trace.1.et", "--json", tmp_path / "one.json").returncode == 0
    assert json.loads((tmp_path / "one.json").read_text())["num_ranks"] == 1


def test_validate(traces: Path) -> None:
    done = hocket("validate", traces)
    assert (done.returncode, done.stdout) == (0, "2 ranks, 6 nodes: 0 errors, 0 warnings\n")
    done = hocket("validate", traces, "--profile", "astra-sim")
    assert done.returncode == 1
    assert "trace.0.et: node 2 'barrier': comm_type: ASTRA-sim does not simulate BARRIER" in done.stdout
    (traces / "comm_groups.json").write_text("{}")
    done = hocket("validate", traces)
    assert done.returncode == 1
    assert "trace.1.et: node 1 'all_reduce': pg_name: group 'dp' is unknown" in done.stdout


def test_unreadable_input_exits_3(traces: Path) -> None:
    path = traces / "trace.1.et"
    path.write_bytes(path.read_bytes()[:-1])
    done = hocket("validate", traces)
    assert done.returncode == 3
    assert done.stderr.startswith(f"error: {path}: byte ")
    path.unlink()
    (traces / "trace.3.et").write_bytes(b"")
    done = hocket("info", traces)
    assert (done.returncode, "rank 1 is missing" in done.stderr) == (3, True)
    assert hocket("convert", traces).returncode == 2


def test_to_json(traces: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    shown = hocket("to-json", traces / "trace.0.et").stdout
    assert hocket("to-json", traces / "trace.0.et", "-o", output).returncode == 0
    assert output.read_text() == shown
    metadata, first, second, _ = map(json.loads, shown.splitlines())
    assert metadata["version"] == "1.0.0"
    assert {"name": "duration_ns", "int64_val": "1234567"} in first["attr"]
    assert (second["type"], second["data_deps"]) == ("COMM_COLL_NODE", ["0"])


@pytest.mark.shared
def test_to_json_shows_attributes_that_hocket_does_not_know(shared: Path) -> None:
    done = hocket("to-json", shared / "chakra" / "generator" / "one_metadata_node_all_types.0.et")
    node = json.loads(done.stdout.splitlines()[1])
    assert node["type"] == "METADATA_NODE"
    # Every member of the oneof, as a value and as a list: 15 of each.
    assert len({next(key for key in a if key.endswith(("_val", "_list"))) for a in node["attr"]}) == 30


def test_convert(traces: Path, tmp_path: Path) -> None:
    done = hocket("convert", traces, "--profile", "astra-sim", "-o", tmp_path / "astra", "--prefix", "job")
    assert done.returncode == 0, done.stderr
    assert "2 x BARRIER replayed as COMP of the measured duration" in done.stdout
    assert read_traces(tmp_path / "astra" / "job").groups == {"1": (0, 1)}
    assert hocket("validate", tmp_path / "astra", "--profile", "astra-sim").returncode == 0


def test_convert_does_not_replace_the_traces_it_reads(traces: Path) -> None:
    before = (traces / "trace.0.et").read_bytes()
    done = hocket("convert", traces, "--profile", "astra-sim", "-o", traces / ".." / "traces")
    assert done.returncode == 2
    assert "choose another folder" in done.stderr
    assert (traces / "trace.0.et").read_bytes() == before
