"""Random and damaged bytes are read or refused with an error that names the file; never anything else."""

import gzip
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.chakra import CollectiveType, TraceBuilder, read_trace, write_trace
from hocket.chakra.eras import Era
from hocket.chakra.groups import read_groups
from hocket.chakra.messages import read_messages
from hocket.chakra.trace_file import TraceFile
from hocket.chakra.validate import validate_trace

quickly = settings(max_examples=150)


def written(path: Path) -> bytes:
    builder = TraceBuilder({"rank": 0})
    for node in range(6):
        builder.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 300 * node, group="dp", deps=range(node))
        builder.add_recv("recv", 5, src=1, dst=0, duration_ns=1_000_001)
    write_trace(path, builder.build())
    return path.read_bytes()


def read_or_refuse(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        trace = read_trace(path)
    except FormatError as error:
        assert str(path) in str(error)
    else:
        validate_trace(trace, str(path))
    try:
        list(read_messages(path))
    except FormatError as error:
        assert str(path) in str(error)


def read_in_blocks_or_refuse(path: Path) -> None:
    try:
        for trace in TraceFile(path).blocks(64, complete=True):
            write_trace(path.with_name("again.0.et"), trace)
    except FormatError as error:
        assert str(path) in str(error)


@quickly
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, content: bytes) -> None:
    read_or_refuse(tmp_path / "fuzz.0.et", content)
    read_or_refuse(tmp_path / "fuzz.0.et", b"\x1f\x8b" + content)


@quickly
@given(
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=4),
    st.integers(0, 700),
    st.booleans(),
)
def test_damaged_files(tmp_path: Path, changes: list[tuple[int, int]], cut: int, zipped: bool) -> None:
    path = tmp_path / "fuzz.0.et"
    content = bytearray(written(path))
    for place, value in changes:
        content[place % len(content)] = value
    del content[max(len(content) - cut, 1) :]
    read_or_refuse(path, gzip.compress(bytes(content), mtime=0)[:-4] if zipped else bytes(content))


def test_every_truncation_is_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "fuzz.0.et"
    content = written(path)
    for size in range(len(content)):
        read_or_refuse(path, content[:size])
        read_in_blocks_or_refuse(path)


@quickly
@given(st.integers(0, 700), st.integers(0, 2**80))
def test_huge_lengths(tmp_path: Path, place: int, length: int) -> None:
    path = tmp_path / "fuzz.0.et"
    content = bytearray(written(path))
    varint = bytes((length >> 7 * k) & 127 | 128 for k in range(12))[: max(1, length.bit_length() // 7)] + b"\x01"
    content[place % len(content) : place % len(content)] = varint
    read_or_refuse(path, bytes(content))
    read_in_blocks_or_refuse(path)


@quickly
@given(st.binary(max_size=300), st.sampled_from(list(Era)))
def test_random_bytes_of_any_schema(tmp_path: Path, content: bytes, era: Era) -> None:
    path = tmp_path / "fuzz.0.et"
    path.write_bytes(content)
    for read in (lambda: read_trace(path, era, complete=True), lambda: list(read_messages(path, era))):
        try:
            read()
        except FormatError as error:
            assert str(path) in str(error)


@quickly
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_random_groups(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "comm_groups.json"
    path.write_bytes(content)
    try:
        read_groups(path)
    except FormatError as error:
        assert str(path) in str(error)
