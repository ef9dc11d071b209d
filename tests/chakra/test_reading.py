"""Traces of other tools are read field by field as protobuf reads them, and what is broken is named."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.base.errors import FormatError
from hocket.chakra import TraceBuilder, TraceSet, read_trace, read_traces, write_trace, write_traces
from hocket.chakra.messages import GlobalMetadata, Node, read_messages
from hocket.chakra.trace import Trace

INTEGERS = {
    "is_cpu_op": "is_cpu_op",
    "comm_type": "comm_type",
    "comm_size": "comm_bytes",
    "comm_src": "comm_src",
    "comm_dst": "comm_dst",
    "comm_tag": "comm_tag",
    "comm_priority": "comm_priority",
    "comm_root": "root",
    "num_ops": "num_ops",
    "tensor_size": "tensor_bytes",
}
FOREIGN = ["generator", "stg", "from_interposed", "astra_ok"]


def framed(*messages: Any) -> bytes:
    """A `.et` file of these messages, each shorter than 128 bytes."""
    payloads = [message.SerializeToString() for message in messages]
    assert max(map(len, payloads)) < 128
    return b"".join(bytes([len(payload)]) + payload for payload in payloads)


def assert_same_as_protobuf(path: Path) -> None:
    trace = read_trace(path)
    metadata, *nodes = read_messages(path)
    assert trace.version == metadata.version
    assert list(trace.metadata) == [attribute.name for attribute in metadata.attr]
    assert len(trace) == len(nodes)
    for row, node in enumerate(nodes):
        values = {a.name: getattr(a, a.WhichOneof("value")) for a in node.attr if a.WhichOneof("value")}
        assert trace.id[row] == node.id
        assert trace.type[row] == node.type
        assert trace.strings[trace.name[row]] == node.name
        assert trace.start_us[row] == node.start_time_micros
        assert trace.duration_us[row] == node.duration_micros
        assert trace.duration_ns[row] == values.get("duration_ns", 1000 * node.duration_micros)
        assert trace.data_deps[trace.data_offset[row] : trace.data_offset[row + 1]].tolist() == list(node.data_deps)
        assert trace.ctrl_deps[trace.ctrl_offset[row] : trace.ctrl_offset[row + 1]].tolist() == list(node.ctrl_deps)
        for name, column in INTEGERS.items():
            assert getattr(trace, column)[row] == values.get(name, -1)
        dims = list(values["involved_dim"].values) if "involved_dim" in values else None
        mask = -1 if dims is None else sum(value << at for at, value in enumerate([*dims, True]))
        assert trace.involved_dims[row] == mask
        group = int(trace.process_group[row])
        assert (trace.strings[group] if group >= 0 else None) == values.get("pg_name")


@pytest.mark.shared
@pytest.mark.parametrize("folder", FOREIGN)
def test_reads_every_field_as_protobuf_does(shared: Path, folder: str) -> None:
    paths = sorted((shared / "chakra" / folder).rglob("*.et"))
    assert paths
    for path in paths:
        assert_same_as_protobuf(path)


@pytest.mark.shared
def test_reads_a_capture_of_the_mlcommons_converter(shared: Path) -> None:
    path = shared / "chakra" / "gloo_torch215" / "ddp_cnn.0.et"
    assert_same_as_protobuf(path)
    assert read_trace(path).metadata["schema"] == "1.1.1-chakra.0.0.4"


MEMBERS = ["int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"]


@pytest.mark.parametrize("member", MEMBERS)
def test_an_integer_attribute_may_use_any_integer_member(tmp_path: Path, member: str) -> None:
    node = Node(id=3, type=7)
    node.attr.add(name="comm_size", **{f"{member}_val": 70000})
    node.attr.add(name="is_cpu_op", **{f"{member}_val": 1})
    signed = "u" not in member and not member.startswith("fixed")
    if signed:
        node.attr.add(name="comm_tag", **{f"{member}_val": -7})
    path = tmp_path / "a.0.et"
    path.write_bytes(framed(GlobalMetadata(version="1.0.0"), node))
    trace = read_trace(path)
    assert (trace.comm_bytes[0], trace.is_cpu_op[0]) == (70000, 1)
    assert trace.comm_tag[0] == (-7 if signed else -1)


def test_dependencies_may_be_unpacked(tmp_path: Path) -> None:
    # Field 5 as varints (key 5 << 3 = 0x28) and field 4 (key 0x20), which proto2 writers use.
    node = bytes([0x08, 9, 0x18, 4, 0x28, 1, 0x20, 5, 0x28, 2])
    path = tmp_path / "a.0.et"
    path.write_bytes(b"\x00" + bytes([len(node)]) + node)
    trace = read_trace(path)
    assert trace.data_deps.tolist() == [1, 2]
    assert trace.ctrl_deps.tolist() == [5]


def test_reads_gzip(tmp_path: Path) -> None:
    content = framed(GlobalMetadata(version="1.0.0"), Node(id=1, name="a", type=4))
    path = tmp_path / "a.0.et"
    path.write_bytes(gzip.compress(content))
    assert read_trace(path).strings == ("a",)
    path.write_bytes(gzip.compress(content)[:-9])
    with pytest.raises(FormatError, match=r"a\.0\.et"):
        read_trace(path)


def broken_files() -> Iterator[tuple[str, bytes, str]]:
    metadata = framed(GlobalMetadata(version="1.0.0"))
    node = framed(Node(id=1, name="abc", type=4))
    text, double, huge = Node(id=1), Node(id=1), Node(id=1)
    text.attr.add(name="comm_size", string_val="64")
    double.attr.add(name="pg_name", double_val=1.0)
    huge.attr.add(name="comm_size", uint64_val=2**63)
    # The metadata record is 1 + 7 bytes, so the first node's length is byte 8 and its first field byte 9.
    assert len(metadata) == 8
    yield "empty", b"", "byte 0 .*empty"
    yield "truncated record", metadata + node[:-1], "byte 8 .*truncated: 9 bytes announced, 8 left"
    yield "truncated length", metadata + b"\x80", "byte 8 .*varint"
    yield "empty record", metadata + b"\x00", "byte 9 .*node record 0.*empty record"
    yield "json", b'{"schema": "1.1.1-chakra.0.0.4", "nodes": []}' * 9, "byte [0-9]+ "
    yield "wire type", metadata + b"\x02\x12\x05", "byte 10 .*truncated"
    yield "old schema", metadata + b"\x03\x0a\x01a", "byte 9 .*field 1 of Node has wire type 2.*0.0.4"
    yield "node type", metadata + b"\x02\x18\x08", "byte 9 .*no node type has the number 8"
    yield "text for integer", metadata + framed(text), "byte 11 .*comm_size must be an integer"
    yield "number for text", metadata + framed(double), "byte 11 .*pg_name must be a string"
    yield "too large", metadata + framed(huge), "byte 11 .*comm_size exceeds"
    yield "not UTF-8", metadata + b"\x03\x12\x01\xff", "byte 11.*UTF-8"
    yield "not metadata", node, "GlobalMetadata.*--schema"


@pytest.mark.parametrize(("content", "message"), [pytest.param(c, m, id=i) for i, c, m in broken_files()])
def test_a_broken_file_is_named_with_its_byte(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.0.et"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=rf"broken\.0\.et.*{message}"):
        read_trace(path)


def small_trace(rank: int) -> Trace:
    builder = TraceBuilder({"rank": rank})
    builder.add_comp("compute", duration_ns=1500)
    return builder.build()


def test_reads_a_folder_or_a_prefix(tmp_path: Path) -> None:
    write_traces(tmp_path, TraceSet(tuple(map(small_trace, range(11))), {"1": (10, 0)}))
    for path in (tmp_path, tmp_path / "trace"):
        traces = read_traces(path)
        assert [trace.metadata["rank"] for trace in traces.traces] == list(range(11))
        assert traces.groups == {"1": (10, 0)}
        assert traces.members("1") == (10, 0)


def test_groups_may_lie_elsewhere(tmp_path: Path) -> None:
    write_trace(tmp_path / "a.0.et", small_trace(0))
    groups = tmp_path / "cg.json"
    groups.write_text('{"5": [0]}')
    assert read_traces(tmp_path / "a", groups).groups == {"5": (0,)}
    assert read_traces(tmp_path / "a").groups == {}
    for wrong in ("[", '{"1": 3}', '{"1": []}', '{"1": [0, 0]}', '{"1": [-1]}'):
        groups.write_text(wrong)
        with pytest.raises(FormatError, match=r"cg\.json"):
            read_traces(tmp_path / "a", groups)


def test_a_missing_rank_and_several_prefixes_are_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no trace here"):
        read_traces(tmp_path)
    with pytest.raises(FormatError, match="no such folder"):
        read_traces(tmp_path / "absent" / "trace")
    for rank in (0, 1, 3):
        write_trace(tmp_path / f"b.{rank}.et", small_trace(rank))
    with pytest.raises(FormatError, match=r"rank 2 is missing \(3 of 4"):
        read_traces(tmp_path)
    write_trace(tmp_path / "c.0.et", small_trace(0))
    with pytest.raises(FormatError, match=r"several runs.*/b, .*/c"):
        read_traces(tmp_path)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_missing_rank_is_named_even_when_it_is_the_last(tmp_path: Path, gone: int) -> None:
    traces = tuple(TraceBuilder({"rank": rank, "world_size": 3}).build() for rank in range(3))
    write_traces(tmp_path, TraceSet(traces))
    (tmp_path / f"trace.{gone}.et").unlink()
    with pytest.raises(FormatError, match=f"the trace of rank {gone} is missing"):
        read_traces(tmp_path)


def test_a_trace_of_another_job_is_refused(tmp_path: Path) -> None:
    for rank, world in enumerate((2, 2, 3)):
        write_trace(tmp_path / f"trace.{rank}.et", TraceBuilder({"rank": rank, "world_size": world}).build())
    with pytest.raises(FormatError, match=r"trace\.0\.et: of a job of 2 ranks, but 3 traces"):
        read_traces(tmp_path)
