"""The windows of sizes that the programs of a bundle serve."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from bundles import RUNTIMES, write_schedule
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Kind
from hocket.translator import Lowering
from hocket.translator.bundle import write_bundle
from hocket.translator.bundle.windows import SizeWindow, multiples, reachable, windows


def test_the_crossover_of_two_lines() -> None:
    # 100 + 2 s and 1000 + s meet at s = 900: found to within a sixteenth
    found = windows(lambda program, size: (100 + 2 * size, 1000 + size)[program], 2, [16, 1 << 20], 0, 9)
    assert [(window.program, window.min_bytes, window.max_bytes) for window in found] == [
        (0, 0, found[0].max_bytes),
        (1, found[0].max_bytes + 1, 1 << 20),
    ]
    assert 900 * 16 // 17 < found[1].min_bytes <= 901 * 17 // 16


@given(
    lines=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 1000)), min_size=1, max_size=5),
    sizes=st.lists(st.integers(1, 1 << 30), min_size=1, max_size=6, unique=True).map(sorted),
    most=st.integers(1, 3),
)
def test_windows_tile_the_sizes(lines: list[tuple[int, int]], sizes: list[int], most: int) -> None:
    def time_ps(program: int, size: int) -> int:
        return lines[program][0] + lines[program][1] * size

    for limit in (most, 1000):
        found = windows(time_ps, len(lines), sizes, 0, limit)
        assert len(found) <= limit
        assert (found[0].min_bytes, found[-1].max_bytes) == (0, sizes[-1])
        assert all(one.max_bytes + 1 == other.min_bytes for one, other in pairwise(found))
        assert all(window.min_bytes <= window.max_bytes for window in found)
    for size in sizes:
        (server,) = (window.program for window in found if window.min_bytes <= size <= window.max_bytes)
        # to within a sixty-fourth: 1/2^16 more is lost to whole numbers
        quickest = max(min(time_ps(program, size) for program in range(len(lines))), 1)
        assert time_ps(server, size) * 65536 < quickest * (65536 + 1024 + 1)


def test_a_third_program_is_found_between_two_sizes() -> None:
    # 1000 + 9 s, 2000 + 3 s and 9000 + s: at 16 bytes the first, at 2^20 the last, between 167 and 3500 the second
    lines = [(1000, 9), (9000, 1), (2000, 3)]
    found = windows(lambda program, size: lines[program][0] + lines[program][1] * size, 3, [16, 1 << 20], 0)
    assert [window.program for window in found] == [0, 2, 1]
    assert 167 * 15 // 16 <= found[1].min_bytes <= 167 * 17 // 16
    assert 3500 * 15 // 16 <= found[2].min_bytes <= 3500 * 17 // 16


def test_no_window_is_made_for_a_sixty_fourth() -> None:
    # 6400 against 6500 is a sixty-fourth, against 6501 more
    for slower, served in ((6500, [1]), (6501, [0, 1])):
        times = [(6400, 9000), (slower, 6400)]
        found = windows(lambda program, size, times=times: times[program][size > 8], 2, [8, 1024], 0)
        assert [window.program for window in found] == served


def test_a_window_without_a_multiple_is_its_neighbour_s() -> None:
    units = {0: 64, 1: 4}
    small, middle, large = SizeWindow(0, 0, 50), SizeWindow(1, 51, 100), SizeWindow(0, 101, 120)
    # of 64 bytes there is no multiple up to 50, nor from 101 to 120
    assert reachable([small, middle, large], units.__getitem__) == [SizeWindow(1, 0, 120)]
    assert reachable([small, middle], units.__getitem__) == [SizeWindow(1, 0, 100)]
    assert reachable([middle, large], units.__getitem__) == [SizeWindow(1, 51, 120)]
    assert reachable([small], units.__getitem__) == [small]
    # both ends of a program whose neighbour serves none of the sizes between are one window
    assert reachable([SizeWindow(1, 0, 64), SizeWindow(0, 65, 80), SizeWindow(1, 81, 90)], units.__getitem__) == [
        SizeWindow(1, 0, 90)
    ]


def test_one_window_is_of_the_program_that_loses_least() -> None:
    # of the quickest at 8 and 1024 bytes, 1 and 10, the programs take 1, 4 and 9 times, and 10, 4 and 1 times
    times = [(1, 100), (4, 40), (9, 10)]
    assert [window.program for window in windows(lambda p, size: times[p][size > 8], 3, [8, 1024], 0, 2)] == [0, 2]
    (window,) = windows(lambda p, size: times[p][size > 8], 3, [8, 1024], 0, 1)
    assert window.program == 1


@given(smallest=st.integers(0, 200), width=st.integers(0, 200), unit=st.integers(1, 64))
def test_multiples_are_the_ends_of_what_is_served(smallest: int, width: int, unit: int) -> None:
    first, last = multiples(smallest, smallest + width, unit)
    inside = [size for size in range(max(smallest, 1), smallest + width + 1) if size % unit == 0]
    assert (first, last) == (inside[0], inside[-1]) if inside else first > last


def test_lowerings_of_a_schedule_compete(tmp_path: Path) -> None:
    # a schedule of large messages is lowered best by few thread blocks, at small sizes by many: the one file of a
    # range has a window for each, and no size takes longer than by a single lowering of it
    path = write_schedule(tmp_path / "direct.schedule", Kind.ALL_REDUCE, "direct", 1 << 24)
    bundle = write_bundle([path], tmp_path / "b", "executor", Lowering(in_place=True, min_bytes=1024)).bundle
    singly = {}
    for channels, slots in ((1, 1), (1, 2), (4, 1), (4, 2)):
        one = Lowering(in_place=True, min_bytes=1024, channels=channels, slots=slots)
        (only,) = write_bundle([path], tmp_path / "c", "executor", one).bundle.files
        singly[channels, slots] = {point.size_bytes: point.time_ps for point in only.predicted}
    for file in bundle.files:
        for point in file.predicted:
            alone = [times[point.size_bytes] for times in singly.values() if point.size_bytes in times]
            assert all(64 * point.time_ps <= 65 * time + 64 for time in alone)
            assert point.schedule_ps is not None
    assert bundle.files[0].predicted[0].time_ps < max(times[1024] for times in singly.values())


@pytest.mark.parametrize("runtime", [*RUNTIMES, "mscclpp"])
def test_a_window_without_a_size_is_refused(schedules: list[Path], tmp_path: Path, runtime: str) -> None:
    # 4 chunks of 1 byte, of 16 in a plan: no multiple of 4 between 61 and 63, nor of 64 between 65 and 127
    smallest, largest = (65, 127) if runtime == "mscclpp" else (61, 63)
    asked = Lowering(in_place=True, min_bytes=smallest, max_bytes=largest)
    with pytest.raises(ScheduleError, match="give a wider range"):
        write_bundle(schedules[1:], tmp_path / "b", runtime, asked)
    assert not (tmp_path / "b").exists()
    # with the next byte there is one: the only size that is measured and predicted
    served = write_bundle(schedules[1:], tmp_path / "b", runtime, replace(asked, max_bytes=largest + 1)).bundle
    assert [[point.size_bytes for point in file.predicted] for file in served.files] == [[largest + 1]]
    measured = f" {largest + 1} " if runtime == "mscclpp" else "measure 64 64 float"
    assert measured in (tmp_path / "b" / "run.sh").read_text()


def test_sizes_that_no_float_has_are_measured_in_bytes(schedules: list[Path], tmp_path: Path) -> None:
    # 4 chunks of 4 bytes would be 16 or 32: of 17 to 31 bytes only 20, 24 and 28 are served, and only to bytes
    write_bundle(schedules[1:], tmp_path / "b", "executor", Lowering(min_bytes=17, max_bytes=31))
    assert "measure 20 28 int8" in (tmp_path / "b" / "run.sh").read_text()


def test_those_of_the_stock_library_need_no_file() -> None:
    # Of four sizes the second and the fourth are the stock library's, number 2; one file may serve the others.
    taken = [[10, 90, 12, 90], [11, 90, 11, 90], [30, 30, 30, 30]]
    sizes = [1024, 4096, 16384, 65536]

    def time_ps(program: int, size: int) -> int:
        return taken[program][sum(size > one for one in sizes)]

    for most, programs in ((2, [0, 2, 1, 2]), (1, [0, 2])):
        found = windows(time_ps, 3, sizes, 0, most, free=2)
        assert [window.program for window in found] == programs
