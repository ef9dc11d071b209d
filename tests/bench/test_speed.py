"""`hocket bench speed`: what it measures, what it holds that against, and that the core takes no more instructions."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import in_process
import pytest

from hocket.bench.cpu import cpu_model
from hocket.bench.speed.case import SpeedCase, Timed, Work, best_of
from hocket.bench.speed.instructions import (
    TABLE,
    TOLERANCE,
    Counted,
    CountTable,
    compiler,
    count,
    more,
    not_comparable,
    read_table,
)
from hocket.bench.speed.limits import CoreLimits, measure_limits
from hocket.bench.speed.measured import MeasuredRate, slower
from hocket.bench.speed.recorded import RECORDED, RecordedRate, newest, read_rates
from hocket.bench.speed.registry import CASES

hocket = partial(in_process.hocket, "bench", "speed")
LIMITS = CoreLimits(instructions=2e10, bytes_read=2e10, bytes_copied=4e10, loads_in_turn=6e6)
CASE = SpeedCase("events", "events", "what happens")


def test_the_core_takes_no_more_instructions_than_it_did() -> None:
    """Fails where a hot loop has become slower; `hocket bench speed --record --count` makes the table anew where that
    is wanted."""
    table = read_table()
    if why := not_comparable(table):
        pytest.skip(why)
    grown = {name: f"{part:+.1%}" for name, part in more(table.small, count()).items() if part > TOLERANCE}
    assert not grown, f"more instructions than in {TABLE.name}"


def test_every_case_is_counted_or_a_process_of_its_own() -> None:
    table = read_table()
    counted = {case.name for case in CASES if case.prepare}
    assert set(table.small) == set(table.full) == counted == {case.name for case in CASES} - {"collect"}


def test_other_compilers_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program)
    assert not_comparable(CountTable(compiler(), {}, {})) == ""
    assert not_comparable(CountTable("GCC: (old) 1.0", {}, {})).startswith(
        "counted for GCC: (old) 1.0; the engine here"
    )
    monkeypatch.setattr(shutil, "which", lambda program: None)
    assert not_comparable(CountTable(compiler(), {}, {})) == "valgrind is not here: apt-get install valgrind"


def test_growth_is_a_part_of_what_was_counted() -> None:
    kept = {"events": Counted(1000, 10), "parse": Counted(100, 1)}
    assert more(kept, {"events": Counted(1100, 10), "write": Counted(1, 1)}) == {"events": pytest.approx(0.1)}
    assert kept["events"].of_a_unit == 100


def test_the_best_of_several_runs_counts() -> None:
    runs: list[int] = []
    timed = best_of(Work(lambda: runs.append(sum(range(20_000 if len(runs) else 2_000_000))), 5, 7))
    assert len(runs) >= 3
    assert (timed.units, timed.num_bytes) == (5, 7)
    assert 0 < timed.seconds < 0.05
    assert timed.rate == 5 / timed.seconds


@pytest.mark.parametrize(
    ("rate", "limit", "is_slower"),
    [
        (79.0, 2e10, True),  # of 100 before, on a core that does as much as then
        (81.0, 2e10, False),
        (60.0, 1.2e10, False),  # the core does 0.6 of what it did, and so does the program
        (45.0, 1.2e10, True),
    ],
)
def test_slower_is_said_of_the_program_not_of_the_machine(rate: float, limit: float, is_slower: bool) -> None:
    last = RecordedRate(
        case="events", unit="events", rate=100, cpu="a CPU", compiler="g++", commit="abc", instruction_limit=2e10
    )
    timed = Timed(units=int(rate), seconds=1.0)
    measured = MeasuredRate(CASE, timed, None, replace(LIMITS, instructions=limit), last)
    assert slower(measured) is is_slower
    assert measured.warning().startswith(f"events is slower than recorded: {int(rate)} instead of 100 events/s at abc")


def test_parts_of_the_limits() -> None:
    # 1 M units of 5,000 instructions and 8 KB each a second, of 20 G instructions and 40 GB
    measured = MeasuredRate(CASE, Timed(10**6, 1.0, 8 * 10**9), Counted(50_000, 10), LIMITS, None)
    assert (measured.of_instructions, measured.of_memory) == (0.25, 0.2)
    assert measured.change is None and not slower(measured)


def test_limits_are_those_of_a_core() -> None:
    limits = measure_limits()
    if limits is None:
        pytest.skip("needs g++")
    assert 1e9 < limits.instructions < 1e11
    assert 1e8 < limits.bytes_read < 1e12
    assert limits.loads_in_turn < limits.instructions / 10


def test_recorded_rates_name_no_host() -> None:
    rates = read_rates(RECORDED)
    assert {rate.case for rate in rates} == {case.name for case in CASES}
    fields = {"case", "unit", "rate", "cpu", "compiler", "commit", "instruction_limit"}
    assert {name for line in RECORDED.read_text().splitlines() for name in json.loads(line)} <= fields


def test_rates_are_measured_recorded_and_held_against(tmp_path: Path) -> None:
    recorded, results = tmp_path / "rates.jsonl", tmp_path / "rates.json"
    before = {"case": "verify", "unit": "transfers", "rate": 1e12, "compiler": "g++", "commit": "earlier"}
    recorded.write_text("".join(json.dumps(before | {"cpu": cpu}) + "\n" for cpu in (cpu_model(), "another CPU")))
    done = hocket("--only", "verify", "--recorded", str(recorded), "--json", str(results), "--record")
    assert done.returncode == 0, done.stderr
    assert "verify is slower than recorded" in done.stderr and "1e+03 G transfers/s at earlier (-100%)" in done.stderr
    assert "1 slower than recorded" in done.stdout
    (row,) = json.loads(results.read_text())["rates"]
    assert len(read_rates(recorded)) == 3
    now = newest(read_rates(recorded), cpu_model())["verify"]
    assert now.rate == pytest.approx(row["rate"], rel=1e-3)
    assert (now.compiler, row["last"]) == (compiler(), 1e12)


def test_bad_input(tmp_path: Path) -> None:
    assert "--only event: no such rate; did you mean 'events'?" in hocket("--only", "event").stderr
    (tmp_path / "bad.jsonl").write_text('{"case": 1}\n')
    bad = hocket("--only", "verify", "--recorded", str(tmp_path / "bad.jsonl"))
    assert bad.returncode == 3
    assert "bad.jsonl:1: " in bad.stderr and "remove the line" in bad.stderr
