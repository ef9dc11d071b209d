"""`.schedule` files: written whole, read back equal, and never believed when anything in them is wrong."""

import dataclasses
import struct
import zlib
from pathlib import Path

import machines
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.schedule import Bound, Collective, Kind, Schedule, load, retime, save, verify
from hocket.schedule.algorithms import build


def example() -> Schedule:
    group = np.array([3, 1, 2], np.int32)
    schedule = retime(build("direct", Collective(Kind.REDUCE, 3, 1001, 2, root=1), machines.mesh(2, 2), group))
    return dataclasses.replace(schedule, bound=Bound(7, "latency"), seed=5)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("storage") / "reduce.schedule"
    save(example(), path)
    return path


def test_reads_back_what_was_written(file: Path) -> None:
    written, read = example(), load(file)
    for field in dataclasses.fields(Schedule):
        before, after = getattr(written, field.name), getattr(read, field.name)
        if isinstance(before, np.ndarray):
            assert before.tolist() == after.tolist() and before.dtype == after.dtype, field.name
        elif field.name not in ("collective", "topology"):
            assert before == after, field.name
    assert read.topology.fingerprint == written.topology.fingerprint
    assert dataclasses.astuple(read.collective) == dataclasses.astuple(written.collective)
    assert verify(read).describe() == verify(written).describe()


def test_columns_are_maps_of_the_file(file: Path) -> None:
    read = load(file, check=False)
    assert isinstance(read.chunk, np.memmap) and not read.chunk.flags.writeable
    assert [part.name for part in file.parent.iterdir()] == [file.name]  # no temporary file is left


def test_writes_the_same_bytes_again(file: Path, tmp_path: Path) -> None:
    save(load(file), tmp_path / "again.schedule")
    assert (tmp_path / "again.schedule").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"HOCKETS", "7 bytes are too few"),
        (b"<algo name='x'>" * 10, "not a .schedule file"),
    ],
)
def test_refuses_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.schedule"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f"x.schedule: .*{message}"):
        load(path)


def test_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no\.schedule: No such file"):
        load(tmp_path / "no.schedule")
    with pytest.raises(FormatError, match="Is a directory"):
        load(tmp_path)


@settings(max_examples=150)
@given(st.data())
def test_every_changed_byte_is_noticed(file: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "mutated.schedule"
    path.write_bytes(content)
    try:
        read = load(path)
    except FormatError:
        return
    # Only the padding between the arrays may differ.
    save(read, tmp_path / "again.schedule")
    assert (tmp_path / "again.schedule").read_bytes() == file.read_bytes()


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=8), st.lists(st.integers(), max_size=3)
)


@settings(max_examples=150)
@given(st.data())
def test_a_forged_header_is_a_format_error_or_harmless(file: Path, tmp_path: Path, data: st.DataObject) -> None:
    content = file.read_bytes()
    magic, length, _ = struct.unpack_from("<8sQI", content)
    header = msgspec.json.decode(content[20 : 20 + length])
    place = data.draw(st.sampled_from([header, header["collective"], header["topology"], *header["arrays"]]))
    key = data.draw(st.sampled_from([*place, "unknown"]))
    value = data.draw(_VALUES)
    if key in ("num_ranks", "num_nodes", "chunks_per_rank") and isinstance(value, int):
        value %= 1000  # a right checksum over a huge machine would only be slow
    place[key] = value
    try:
        text = msgspec.json.encode(header)
    except (OverflowError, msgspec.EncodeError):
        return
    path = tmp_path / "forged.schedule"
    path.write_bytes(struct.pack("<8sQI", magic, len(text), zlib.crc32(text)) + text + content[20 + length :])
    try:
        load(path)
    except FormatError as error:
        assert "forged.schedule" in str(error)
