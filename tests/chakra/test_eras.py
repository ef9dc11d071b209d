"""Traces of schema 0.0.1 to 0.0.3, whose enums have other numbers, are read as what they mean."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from old_schemas import framed, schema, set_attribute
from trace_commands import hocket

from hocket.base.errors import FormatError
from hocket.chakra import CollectiveType, NodeType, read_trace
from hocket.chakra.messages import read_messages

# Names by the old enums' numbers: COMP, a collective, a send; ALL_REDUCE, ALL_TO_ALL, ALL_GATHER, REDUCE_SCATTER.
COLLECTIVES = [
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_TO_ALL,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
]
LATER = ["0.0.2", "0.0.3", "0.0.3 of August"]


def first_schema() -> bytes:
    """COMP 3, COMM_COLL 6 and COMM_SEND 4; collectives are numbered from 1."""
    node, _ = schema("0.0.1")
    compute = node(id=0, name="compute", node_type=3, simulated_run_time=70, num_ops=5, tensor_size=9)
    collectives = [
        node(
            id=1 + number,
            name="c",
            node_type=6,
            parent=[number],
            comm_type=1 + number,
            comm_size=4096,
            involved_dim=[True, False],
            communicator_id=2,
        )
        for number in range(4)
    ]
    send = node(id=5, name="s", node_type=4, parent=[0, 1], comm_src=0, comm_dst=1, comm_tag=7, comm_size=8)
    return framed(compute, *collectives, send)


def later_schema(version: str) -> bytes:
    """COMP is 3 in 0.0.2 and 4 in 0.0.3, and so on; collectives are numbered from 0."""
    node, metadata = schema(version)
    shift = version != "0.0.2"
    compute = node(id=0, name="compute", type=3 + shift, inputs="[1]", output_types="['x']")
    set_attribute(compute, version, "runtime", "i", 70)
    set_attribute(compute, version, "num_ops", "i", 5)
    set_attribute(compute, version, "tensor_size", "u" if "August" in version else "i", 9)
    nodes = [compute]
    for number in range(4):
        nodes.append(node(id=1 + number, name="c", type=6 + shift, parent=[number]))
        set_attribute(nodes[-1], version, "comm_type", "i", number)
        set_attribute(nodes[-1], version, "comm_size", "i", 4096)
        set_attribute(nodes[-1], version, "pg_name", "s", "2")
        if shift:
            set_attribute(nodes[-1], version, "involved_dim", "bools", [True, False])
    send = node(id=5, name="s", type=4 + shift, parent=[0, 1])
    for name, value in (("comm_src", 0), ("comm_dst", 1), ("comm_tag", 7), ("comm_size", 8)):
        set_attribute(send, version, name, "i", value)
    set_attribute(send, version, "other", "floats", [0.5, 2.0])
    head = [metadata()] if metadata else []
    for one in head:
        set_attribute(one, version, "rank", "i", 3)
    return framed(*head, *nodes, send)


def old_file(version: str) -> bytes:
    return first_schema() if version == "0.0.1" else later_schema(version)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("version", ["0.0.1", *LATER])
def test_an_old_trace_is_read_as_what_it_means(tmp_path: Path, version: str, packed: bool) -> None:
    path = tmp_path / "old.0.et"
    path.write_bytes(gzip.compress(old_file(version)) if packed else old_file(version))
    trace = read_trace(path)
    assert trace.version == version[:5]
    assert trace.type.tolist() == [NodeType.COMP] + [NodeType.COMM_COLL] * 4 + [NodeType.COMM_SEND]
    assert trace.comm_type.tolist() == [-1, *COLLECTIVES, -1]
    assert trace.comm_bytes.tolist() == [-1, 4096, 4096, 4096, 4096, 8]
    assert (trace.duration_us[0], trace.num_ops[0], trace.tensor_bytes[0]) == (70, 5, 9)
    assert trace.data_deps.tolist() == [0, 1, 2, 3, 0, 1]
    assert trace.text(trace.process_group, 1) == "2"
    assert (trace.comm_src[5], trace.comm_dst[5], trace.comm_tag[5]) == (0, 1, 7)
    if version != "0.0.2":  # True, False, and the bit behind the last: 1 + 4
        assert trace.involved_dims[1] == 5
    assert trace.metadata == ({"rank": 3} if "August" in version else {})


@pytest.mark.parametrize("version", ["0.0.1", *LATER])
def test_commands_take_old_traces(tmp_path: Path, version: str) -> None:
    path = tmp_path / "old.0.et"
    path.write_bytes(old_file(version))
    done = hocket("convert", path, "--profile", "mlcommons", "-o", tmp_path / "new", "--gzip")
    assert done.returncode == 0, done.stderr
    assert f"6 x nodes of schema {version[:5]} written as of 1.0.0" in done.stdout
    new, old = read_trace(tmp_path / "new" / "trace.0.et.gz"), read_trace(path)
    assert (new.version, new.comm_type.tolist(), new.data_deps.tolist()) == (
        "1.0.0",
        old.comm_type.tolist(),
        old.data_deps.tolist(),
    )
    _, *nodes = read_messages(tmp_path / "new" / "trace.0.et.gz")
    if version in LATER:  # what has no column is there too
        assert nodes[0].inputs.values == "[1]"
        assert nodes[0].outputs.types == "['x']"
        assert {a.name: list(a.float_list.values) for a in nodes[5].attr if a.name == "other"} == {"other": [0.5, 2.0]}


def test_a_file_that_does_not_tell_its_schema_needs_to_be_told(tmp_path: Path) -> None:
    node, _ = schema("0.0.2")
    path = tmp_path / "old.0.et"
    path.write_bytes(framed(node(id=0, name="a", type=3), node(id=1, name="b", type=3, parent=[0])))
    done = hocket("info", path)
    assert (done.returncode, "--schema" in done.stderr) == (3, True)
    # 3 is COMP up to 0.0.2, and MEM_STORE since METADATA came in.
    for version, kind in (("0.0.1", "COMP"), ("0.0.2", "COMP"), ("0.0.3", "MEM_STORE")):
        assert f"2 {kind}\n" in hocket("info", path, "--schema", version).stdout
    assert hocket("info", path, "--schema", "0.0.4").returncode == 3
    assert hocket("info", path, "--schema", "2").returncode == 2


@pytest.mark.parametrize("version", ["0.0.1", *LATER])
def test_what_an_old_schema_has_no_meaning_for_is_refused(tmp_path: Path, version: str) -> None:
    node, _ = schema(version)
    shift = version not in ("0.0.1", "0.0.2")
    wrong = node(id=1, name="c")
    if version == "0.0.1":
        wrong.node_type, wrong.comm_type = 6, 9
    else:
        wrong.type = 6 + shift
        set_attribute(wrong, version, "comm_type", "i", 9)
    content = old_file(version)
    path = tmp_path / "old.0.et"
    path.write_bytes(content + framed(wrong))
    # the message begins behind its length
    with pytest.raises(FormatError, match=rf"byte {len(content) + 1}: no node of schema {version[:5]}.*comm_type"):
        read_trace(path)


quickly = settings(max_examples=60)


@pytest.mark.parametrize("version", ["0.0.1", *LATER])
def test_every_truncation_is_read_or_refused(tmp_path: Path, version: str) -> None:
    content = old_file(version)
    path = tmp_path / "old.0.et"
    whole = 0
    for size in range(len(content) + 1):
        path.write_bytes(content[:size])
        try:
            whole += len(read_trace(path, None if size > 60 else version[:5])) > 0
        except FormatError as error:
            assert str(path) in str(error)
    assert whole == 6  # after each of the nodes


@quickly
@given(
    st.sampled_from(["0.0.1", *LATER]),
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), min_size=1, max_size=5),
    st.sampled_from([None, "0.0.1", "0.0.2", "0.0.3", "0.0.4"]),
)
def test_damaged_old_files(tmp_path: Path, version: str, changes: list[tuple[int, int]], told: str | None) -> None:
    content = bytearray(old_file(version))
    for place, value in changes:
        content[place % len(content)] = value
    path = tmp_path / "old.0.et"
    path.write_bytes(content)
    for read in (lambda: read_trace(path, told), lambda: list(read_messages(path, told))):
        try:
            read()
        except FormatError as error:
            assert str(path) in str(error)
