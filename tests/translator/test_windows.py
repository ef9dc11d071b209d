"""The sizes that a file serves: the same for every runtime that it is written for."""

import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.schedule import Collective, Kind, Program
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import PROFILES, Lowering, ProfileName, lower, read_xml, rewrite, to_xml
from hocket.translator.selection import Call, select

PAIRS = list(product(PROFILES, PROFILES))


@cache
def broadcast(chunks: int, runtime: ProfileName, smallest: int, largest: int) -> Program:
    """Of as many chunks as wanted, so that a size need not be a multiple of anything."""
    collective = Collective(Kind.BROADCAST, 2, 4096, chunks)
    schedule = build("direct", collective, load("ring:2,bandwidth=1GB/s,latency=1us"))
    return lower(schedule, runtime, Lowering(min_bytes=smallest, max_bytes=largest))


def served(path: Path, runtime: ProfileName, sizes: list[int]) -> list[int]:
    calls = (Call(Kind.BROADCAST, size, "int8", 2, in_place=True) for size in sizes)
    return [call.size_bytes for call in calls if select([path], call, runtime).chosen]


@settings(max_examples=8, deadline=None)
@given(chunks=st.integers(1, 3), smallest=st.integers(0, 40), width=st.integers(0, 40))
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_program_written_for_another_runtime_serves_the_same_sizes(
    tmp_path_factory: pytest.TempPathFactory,
    source: ProfileName,
    target: ProfileName,
    chunks: int,
    smallest: int,
    width: int,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    largest = max(smallest, 1) + chunks - 1 + width
    first, second = folder / f"{source}.xml", folder / f"{source}-{target}.xml"
    first.write_text(to_xml(broadcast(chunks, source, smallest, largest), source))
    rewrite(read_xml(first), second, target)
    sizes = list(range(1, largest + 4))
    expected = [size for size in sizes if smallest <= size <= largest and size % chunks == 0]
    assert served(first, source, sizes) == served(second, target, sizes) == expected


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_open_windows(tmp_path: Path, source: ProfileName, target: ProfileName) -> None:
    first, second = tmp_path / "first.xml", tmp_path / "second.xml"
    first.write_text(to_xml(broadcast(1, source, 0, 0), source))
    rewrite(read_xml(first), second, target)
    # msccl's are open up to its own default, below 128 MiB, and stay so
    end = 128 << 20
    sizes = [1, end - 1, end, 1 << 40]
    assert served(second, target, sizes) == sizes[: 2 if ProfileName.MSCCL in (source, target) else 4]


def test_files_of_others_say_by_their_form_or_with_from(tmp_path: Path) -> None:
    # `runtime` is Hocket's own attribute: without it, what executor takes is read as executor reads it
    text = to_xml(broadcast(1, ProfileName.EXECUTOR, 1, 64), "executor").replace(' runtime="executor"', "")
    other, out = tmp_path / "other.xml", tmp_path / "out.xml"
    other.write_text(text)
    bare = tmp_path / "bare.xml"
    bare.write_text(text.replace(' outofplace="0"', ""))

    def translate(file: Path, *arguments: str) -> str:
        command = [sys.executable, "-m", "hocket", "translate", str(file), "-o", str(out), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return out.read_text() if done.returncode == 0 else done.stderr

    assert 'maxBytes="65"' in translate(other, "--to", "msccl")
    assert 'maxBytes="64"' in translate(other, "--to", "msccl", "--from", "msccl")
    assert 'maxBytes="63"' in translate(other, "--to", "executor", "--from", "msccl")
    assert 'maxBytes="63"' in translate(bare, "--to", "rccl")
    assert "has no attribute outofplace" in translate(bare, "--to", "rccl", "--from", "executor")
    empty = tmp_path / "empty.xml"
    empty.write_text(text.replace('maxBytes="64"', 'maxBytes="1"'))
    out.unlink()
    refused = translate(empty, "--to", "executor", "--from", "msccl")
    assert "no size of minBytes 1 to maxBytes -1 selects the file" in refused
    assert not out.exists()
