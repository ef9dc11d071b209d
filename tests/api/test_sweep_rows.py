"""Sweeps: the same columns however they are run, and nothing lost when they are cut short."""

import sqlite3
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweep_stores import runs_of

import hocket
from hocket.api.simulate.request import Simulation
from hocket.api.sweep.execution import answer_rows
from hocket.api.sweep.file import load_sweep
from hocket.api.sweep.rows import grid
from hocket.base.errors import FormatError, HocketError
from hocket.base.units import parse_sizes
from hocket.simulator.analysis import Columns, alpha_beta, crossovers, knee_bytes

PAIR = "ring:2,bandwidth=1GB/s,latency=1us"
THREE = "switch:3,bandwidth=1GB/s,latency=1us"
POINTS = grid(
    topology=[PAIR, THREE],
    collective=["all_reduce", "all_gather"],
    size=[1_000, 3_000, 6_000],
    algorithm=["ring", "direct"],
)


def same(first: Columns, second: Columns) -> bool:
    assert list(first) == list(second)
    return all(np.array_equal(a, b) for a, b in zip(first.values(), second.values(), strict=True))


def test_columns_come_in_the_order_of_the_points() -> None:
    columns = answer_rows(POINTS)
    assert columns["size_bytes"].tolist() == [1_000, 3_000, 6_000] * 8
    # An all_reduce of 1000 B in two steps of 1 us and 500 ns on a pair.
    first = {name: column[0] for name, column in columns.items()}
    assert (first["topology"], first["collective"], first["algorithm"]) == (PAIR, "all_reduce", "ring")
    assert (first["ranks"], first["time_ps"], first["used_algorithm"]) == (2, 3_000_000, "ring")
    assert first["busbw"] == 1_000 / 3e-6
    assert first["ratio"] == first["time_ps"] / first["bound_ps"]


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors_change_nothing(pool: type[Executor]) -> None:
    arguments = {"mp_context": get_context("spawn")} if pool is ProcessPoolExecutor else {}
    with pool(2, **arguments) as executor:  # type: ignore[call-arg]  # Executor itself takes no arguments
        assert same(answer_rows(POINTS, executor=executor), answer_rows(POINTS))


def test_what_cannot_be_done_is_an_answer() -> None:
    columns = answer_rows(
        [
            Simulation.of("all_to_all", THREE, 1_000, algorithm="ring"),
            Simulation.of("all_reduce", "nowhere", 1),
            Simulation.of("sum", PAIR, 1),
        ]
    )
    assert columns["time_ps"].tolist() == [-1, -1, -1]
    assert np.isnan(columns["ratio"]).all()
    assert "ring does" in columns["error"][0]
    assert "nowhere" in columns["error"][1]
    assert "sum: no trace here" in columns["error"][2]


class Cut(Exception):
    pass


@settings(max_examples=10)
@given(st.integers(0, len(POINTS)))
def test_a_sweep_that_was_cut_short_goes_on(tmp_path_factory: pytest.TempPathFactory, stop: int) -> None:
    path = tmp_path_factory.mktemp("sweep") / "answers.sqlite"

    def until(done: int, of: int) -> None:
        if done == stop:
            raise Cut

    with pytest.raises(Cut):
        answer_rows(POINTS, path=path, progress=until)
    assert [*runs_of(path).values()] == [1] * stop

    seen: list[int] = []
    columns = answer_rows(POINTS, path=path, progress=lambda done, of: seen.append(done))
    assert seen == list(range(stop, len(POINTS) + 1))
    assert same(columns, answer_rows(POINTS))
    assert sorted(runs_of(path).values()) == [1] * stop + [2] * (len(POINTS) - stop)  # nothing was answered twice


def test_a_changed_topology_file_is_another_question(tmp_path: Path) -> None:
    topology, answers = tmp_path / "pair.yaml", tmp_path / "answers.sqlite"
    times = []
    for bandwidth in (1, 2):
        topology.write_text(f"spec: ring:2,bandwidth={bandwidth}GB/s,latency=1us\n")
        columns = answer_rows([Simulation.of("all_reduce", topology, 2_000, algorithm="ring")], path=answers)
        times.append(int(columns["time_ps"][0]))
    assert times == [4_000_000, 3_000_000]


def test_changed_traces_schedules_and_machines_are_other_questions(tmp_path: Path) -> None:
    answers, traces, schedule = tmp_path / "answers.sqlite", tmp_path / "traces", tmp_path / "ar.schedule"
    times: list[list[int]] = []
    for chunks, size in ((1, 3_000), (4, 6_000)):
        hocket.generate_collective("all_reduce", ranks=3, size=size, output=traces)
        hocket.synthesize("all_reduce", THREE, 12_000, engine="native:ring", chunks=chunks, output=schedule)
        rows = [
            Simulation.of(traces, THREE),
            Simulation.of(traces / "trace", THREE),
            Simulation.of(traces, THREE, algorithm=f"all_reduce={schedule}"),
            Simulation.of(schedule),
        ]
        columns = answer_rows(rows, path=answers)
        assert columns["time_ps"].tolist() == [row.perform().time_ps for row in rows]
        times.append(columns["time_ps"].tolist())
    assert all(first != second for first, second in zip(*times, strict=True))


@given(st.binary(min_size=1, max_size=60))
def test_a_file_of_something_else_is_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("sweep") / "answers.sqlite"
    path.write_bytes(content + b"\n")
    with pytest.raises(FormatError, match=r"answers.sqlite: not the answers of such a sweep"):
        answer_rows(POINTS[:1], path=path)
    assert path.read_bytes() == content + b"\n"


def test_a_database_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE point (x)")
    with pytest.raises(FormatError, match="a database of something else; choose another folder"):
        answer_rows(POINTS[:1], path=path)


def test_a_sweep_file_is_all_combinations(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        f"topology: ['{PAIR}', '{THREE}']\ncollective: all_reduce\nsize: [1KiB..4KiB, 100]\nalgorithm: [ring, direct]\n"
    )
    points = load_sweep(path).rows
    assert [point.size for point in points] == ["1024", "2048", "4096", "100"] * 4
    assert points[0] == Simulation.of("all_reduce", PAIR, 1024, algorithm="ring")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("collective: all_reduce\nsize: 1KiB\n", "topology"),
        ("topology: ring:2\ncollective: all_reduce\nsize: 4KiB..1KiB\n", "sweep.yaml:3"),
        ("topology: ring:2\ncollective: []\nsize: 1KiB\n", "at least one value"),
        ("topology: ring:2\ncollective: all_reduce\nsizes: 1KiB\n", "sweep.yaml:3: unknown key 'sizes'"),
    ],
)
def test_a_wrong_sweep_file_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        load_sweep(path)


@given(st.text(max_size=40))
def test_any_text_is_a_sweep_file_or_an_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("sweep") / "sweep.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(HocketError):  # it lacks the keys that a sweep needs
        load_sweep(path)


def test_ranges_of_sizes() -> None:
    assert parse_sizes("64MiB") == [64 << 20]
    assert parse_sizes("1KiB..9KiB") == [1024, 2048, 4096, 8192, 9216]  # the last, which no doubling meets
    assert parse_sizes("1KiB..1MiB:32") == [1024, 32768, 1 << 20]
    for wrong in ("0..1KiB", "2KiB..1KiB", "1KiB..1MiB:1", "1KiB..1MiB:x", "1KiB..", "..1KiB"):
        with pytest.raises(FormatError):
            parse_sizes(wrong)


def test_knee_fit_and_crossover_of_a_straight_line() -> None:
    # 2 us and 1 GB/s: 1000 ps a byte; the time is twice the floor at 2000 B.
    sizes = [1_000, 4_000, 16_000]
    times = [2_000_000 + 1_000 * size for size in sizes]
    assert knee_bytes(sizes, times, 2_000_000) == 2_000
    fit = alpha_beta(sizes, times)
    assert fit.alpha_ps == pytest.approx(2e6) and fit.bandwidth == pytest.approx(1e9) and fit.worst < 1e-9
    assert fit.knee_bytes == pytest.approx(2_000)
    # 5 us and 2 GB/s is faster from (5 - 2) us / (1000 - 500) ps = 6000 B on.
    others = [5_000_000 + 500 * size for size in sizes]
    assert crossovers(sizes, times, others) == [6_000]
    assert knee_bytes(sizes[2:], times[2:], 2_000_000) is None
    with pytest.raises(ValueError, match="two different sizes"):
        alpha_beta([1, 1], [2, 2])


def test_two_that_begin_one_database_at_once_share_it(tmp_path: Path) -> None:
    rows = grid(topology=PAIR, what="all_reduce", size=[1024, 2048], model="analytical")
    with ThreadPoolExecutor(4) as pool:
        for number in range(10):
            path, together = tmp_path / f"{number}.sqlite", Barrier(4)

            def answered(_: int, path: Path = path, together: Barrier = together) -> int:
                together.wait()
                return len(answer_rows(rows, path=path)["time_ps"])

            assert [*pool.map(answered, range(4))] == [2] * 4
