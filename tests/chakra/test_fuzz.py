"""Random and damaged bytes are read or refused with an error that names the file; never anything else."""

import gzip
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hocket.chakra import CollectiveType, TraceBuilder, read_trace, write_trace
from hocket.chakra.messages import read_messages
from hocket.chakra.validate import validate_trace
from hocket.core.errors import FormatError

quickly = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


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
    read_or_refuse(path, gzip.compress(bytes(content))[:-4] if zipped else bytes(content))
