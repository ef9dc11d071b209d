"""What Hocket writes is, byte for byte, what protobuf would write, and comes back as it was."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import TraceError
from hocket.chakra import CollectiveType, TraceBuilder, read_trace, write_trace
from hocket.chakra.messages import read_messages
from hocket.chakra.trace import Trace


def length(size: int) -> bytes:
    return bytes([size]) if size < 128 else bytes([size & 127 | 128]) + length(size >> 7)


def reserialized(path: Path) -> bytes:
    payloads = [message.SerializeToString() for message in read_messages(path)]
    return b"".join(length(len(payload)) + payload for payload in payloads)


def assert_equal(first: Trace, second: Trace) -> None:
    assert (first.version, first.metadata, len(first)) == (second.version, second.metadata, len(second))
    for row in range(len(first)):
        assert first.strings[first.name[row]] == second.strings[second.name[row]]
        groups = [int(trace.process_group[row]) for trace in (first, second)]
        assert (groups[0] < 0) == (groups[1] < 0)
        assert groups[0] < 0 or first.strings[groups[0]] == second.strings[groups[1]]
    for name, column in vars(first).items():
        if isinstance(column, np.ndarray) and name not in ("name", "process_group"):
            other = getattr(second, name)
            assert column.dtype == other.dtype, name
            assert column.tolist() == other.tolist(), name


def job() -> Trace:
    builder = TraceBuilder({"schema": "1.0.0", "rank": 3, "loss": 0.5, "flag": True, "steps": [1, 2], "raw": b"\xff"})
    first = builder.add_comp("compute", duration_ns=2_000_499, start_us=17)
    second = builder.add_collective(
        "all_reduce", CollectiveType.ALL_REDUCE, 1 << 40, group="dp", deps=[first], duration_ns=3000, start_us=2**40
    )
    builder.add_collective("broadcast", CollectiveType.BROADCAST, 0, root=2, ctrl_deps=[first, second])
    builder.add_send("send", 300, src=3, dst=1, tag=9, deps=[0, 1, 2])
    builder.add_recv("größe", 300, src=1, dst=3, group="pp")
    builder.add_comp("roofline", num_ops=10**12, tensor_bytes=10**10, is_cpu_op=True)
    return builder.build()


def test_round_trip_and_bytes_are_protobufs(tmp_path: Path) -> None:
    path = tmp_path / "trace.3.et"
    write_trace(path, job())
    assert_equal(read_trace(path), job())
    assert path.read_bytes() == reserialized(path)


def test_attributes_have_the_types_of_mlcommons(tmp_path: Path) -> None:
    write_trace(tmp_path / "trace.3.et", job())
    _, *nodes = read_messages(tmp_path / "trace.3.et")
    members = [{attribute.name: attribute.WhichOneof("value") for attribute in node.attr} for node in nodes]
    assert members[0] == {"is_cpu_op": "bool_val", "duration_ns": "int64_val"}
    assert members[1] == {
        "is_cpu_op": "bool_val",
        "comm_type": "int64_val",
        "comm_size": "int64_val",
        "pg_name": "string_val",
    }
    assert members[2]["comm_root"] == "int32_val"
    assert {members[3][name] for name in ("comm_src", "comm_dst", "comm_tag")} == {"int32_val"}
    assert members[5] == {"is_cpu_op": "bool_val", "num_ops": "int64_val", "tensor_size": "uint64_val"}


def test_the_schemas_duration_is_the_rounded_one() -> None:
    trace = job()
    # 2,000,499 ns are 2000.499 us, so 2000 us.
    assert (trace.duration_us[0], trace.duration_ns[0]) == (2000, 2_000_499)


def test_a_value_that_does_not_fit_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.add_send("send", 8, src=0, dst=1, tag=2**31)
    with pytest.raises(TraceError, match="node 0: comm_tag = 2147483648 does not fit its type, int32"):
        write_trace(tmp_path / "a.0.et", builder.build())
    assert list(tmp_path.iterdir()) == []


def test_metadata_of_another_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="metadata when"):
        write_trace(tmp_path / "a.0.et", TraceBuilder({"when": object()}).build())


def test_columns_that_disagree_are_refused(tmp_path: Path) -> None:
    trace = job()
    for changes, message in [
        ({"comm_tag": trace.comm_tag[:2].copy()}, "comm_tag has 2 rows, id has 6"),
        ({"id": trace.id.astype(np.int64)}, "column id is not a contiguous array"),
        ({"strings": ()}, "row 0: name, process_group, dtype or in_splits"),
        ({"data_offset": trace.data_offset[::-1].copy()}, "data_offset is not"),
        ({"type": trace.type + np.uint8(9)}, "row 0: no node type has the number 13"),
    ]:
        with pytest.raises(TraceError, match=message):
            write_trace(tmp_path / "a.0.et", Trace(**{**vars(trace), **changes}))


unsigned = st.integers(0, 2**64 - 1)
absent_or = {name: st.integers(-1, 2**31 - 1) for name in ("comm_src", "comm_dst", "comm_tag", "comm_priority", "root")}
absent_or |= {name: st.integers(-(2**63), 2**63 - 1) for name in ("comm_type", "comm_bytes", "num_ops")}
absent_or |= {"tensor_bytes": st.integers(-1, 2**63 - 1), "involved_dims": st.just(-1) | st.integers(1, 2**63 - 1)}
nodes = st.fixed_dictionaries(
    {
        "kind": st.integers(0, 7),
        "name": st.text(max_size=20),
        "start_us": unsigned,
        "duration_ns": st.integers(0, 2**63 - 501),
        "deps": st.lists(unsigned, max_size=3),
        "ctrl_deps": st.lists(unsigned, max_size=3),
        "group": st.text(max_size=3),
        "is_cpu_op": st.booleans(),
        **absent_or,
    }
)


@given(st.lists(nodes, max_size=5))
@settings(max_examples=50)
def test_any_trace_comes_back(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    builder = TraceBuilder()
    for row in rows:
        builder.add(**row)  # type: ignore[arg-type]  # drawn with these types
    path = tmp_path / "a.0.et"
    write_trace(path, builder.build())
    assert path.read_bytes() == reserialized(path)
    assert_equal(read_trace(path), builder.build())
