"""The sizes that a file serves: the same for every runtime that it is written for."""

from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, ScheduleError
from hocket.schedule import Collective, Kind, Program, save
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import (
    PROFILES,
    Lowering,
    from_program_json,
    from_xml,
    lower,
    read_xml,
    rewrite,
    to_program_json,
    to_xml,
)
from hocket.translator.selection.msccl import RuntimeCall, select

PAIRS = list(product(PROFILES, PROFILES))


@cache
def broadcast(chunks: int, runtime: str, smallest: int, largest: int) -> Program:
    """Of as many chunks as wanted, so that a size need not be a multiple of anything."""
    collective = Collective(Kind.BROADCAST, 2, 4096, chunks)
    schedule = build("direct", collective, load("ring:2,bandwidth=1GB/s,latency=1us"))
    return lower(schedule, runtime, Lowering(min_bytes=smallest, max_bytes=largest))


def served(path: Path, runtime: str, sizes: list[int]) -> list[int]:
    calls = (RuntimeCall(Kind.BROADCAST, size, "int8", 2, in_place=True) for size in sizes)
    return [call.size_bytes for call in calls if select([path], call, runtime).chosen]


@settings(max_examples=8)
@given(chunks=st.integers(1, 3), smallest=st.integers(0, 40), width=st.integers(0, 40))
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_a_program_written_for_another_runtime_serves_the_same_sizes(
    tmp_path_factory: pytest.TempPathFactory,
    source: str,
    target: str,
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
def test_open_windows(tmp_path: Path, source: str, target: str) -> None:
    first, second = tmp_path / "first.xml", tmp_path / "second.xml"
    first.write_text(to_xml(broadcast(1, source, 0, 0), source))
    rewrite(read_xml(first), second, target)
    # msccl's are open up to 128 MiB, and stay so
    end = 128 << 20
    sizes = [1, end, end + 1, 1 << 40]
    assert served(second, target, sizes) == sizes[: 2 if "msccl" in (source, target) else 4]


def test_an_open_end_that_msccl_has_not_is_said(tmp_path: Path) -> None:
    schedule = build("direct", Collective(Kind.BROADCAST, 2, 4096, 1), load("ring:2,bandwidth=1GB/s,latency=1us"))
    save(schedule, tmp_path / "b.schedule")
    for runtime, options in (("msccl", ()), ("msccl", ("--max-bytes", "0")), ("executor", ()), ("msccl", ("1G",))):
        given = ("--max-bytes", *options) if options == ("1G",) else options
        done = hocket("translate", tmp_path / "b.schedule", "--to", runtime, "-o", tmp_path / "b.xml", *given)
        assert done.returncode == 0, done.stderr
        warned = "calls above 128 MiB run the library's own algorithm: give --max-bytes" in done.stdout
        assert warned == (runtime == "msccl" and options != ("1G",))


def test_a_file_of_msccl_without_an_end_has_the_runtime_s() -> None:
    # its default of maxBytes is 2^27, and exclusive
    assert PROFILES["msccl"].largest_bytes(None) == (1 << 27) - 1
    assert PROFILES["executor"].largest_bytes(None) is None


def test_files_of_others_say_by_their_form_or_with_from(tmp_path: Path) -> None:
    # `runtime` is Hocket's own attribute: without it, what executor takes is read as executor reads it
    text = to_xml(broadcast(1, "executor", 1, 64), "executor").replace(' runtime="executor"', "")
    other, out = tmp_path / "other.xml", tmp_path / "out.xml"
    other.write_text(text)
    bare = tmp_path / "bare.xml"
    bare.write_text(text.replace(' outofplace="0"', ""))

    def translate(file: Path, *arguments: str) -> str:
        done = hocket("translate", file, "-o", out, *arguments)
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
    assert "its maxBytes selects no call; give --max-bytes" in refused
    assert not out.exists()


@pytest.mark.parametrize("runtime", PROFILES)
def test_sizes_of_64_bits(tmp_path: Path, runtime: str) -> None:
    largest = (1 << 63) - 2  # for msccl one more is written
    program = broadcast(1, runtime, 1, largest)
    text = to_xml(program, runtime)
    assert from_xml(text, "x").max_bytes == largest
    with pytest.raises(ScheduleError, match=rf"sizes are at most {largest} \(2\^63 - 2\)"):
        to_xml(replace(program, max_bytes=largest + 1), runtime)
    # what every call is below is not told apart from what every call is up to
    beyond = from_xml(text.replace(f'maxBytes="{largest}"', f'maxBytes="{largest + 1}"'), "x")
    assert from_program_json(to_program_json(beyond), "x").max_bytes == largest


def test_json_holds_sizes_of_calls_only() -> None:
    program = broadcast(1, "executor", 1, 64)
    for sizes in ({"min_bytes": -1}, {"max_bytes": -1}, {"max_bytes": (1 << 63) - 1}):
        with pytest.raises(ScheduleError, match="give --min-bytes and --max-bytes of 0 to 9223372036854775806"):
            to_program_json(replace(program, **sizes))
    for largest in ("-1", "9223372036854775807", str(10**30)):
        text = to_program_json(program).replace('"max_bytes":64', f'"max_bytes":{largest}')
        with pytest.raises(FormatError, match="max_bytes"):
            from_program_json(text, "x")


@pytest.mark.parametrize("runtime", PROFILES)
def test_names_are_what_the_runtime_keeps(runtime: str) -> None:
    most = 63 if runtime == "msccl" else 255
    program = broadcast(1, runtime, 1, 64)
    whole = replace(program, name="n" * most)
    assert from_xml(to_xml(whole, runtime), "x").name == whole.name
    for name in ("n" * (most + 1), 'a"b', "a<b", "a>b", "a&amp;b", "a\tb", "é", "\ud800"):
        with pytest.raises(ScheduleError, match=f"cannot be a name for {runtime}: .* give another with --name"):
            to_xml(replace(program, name=name), runtime)
