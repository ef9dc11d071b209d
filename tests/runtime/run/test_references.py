"""The programs that compilers and runtimes ship, run with real values."""

import csv
from pathlib import Path

import pytest
from loopback import run_in_threads

from hocket.runtime.run import RunTask
from hocket.translator import read_xml


@pytest.mark.shared
def test_every_right_reference_gives_no_wrong_value(shared: Path) -> None:
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as index:
        rows = [row for row in csv.DictReader(index) if row["xmlsim"] == "ok" and row["collective"] != "custom"]
    assert len(rows) == 69
    for row in rows:
        program = read_xml(folder / row["file"])
        # chunks of 3 elements of 4 bytes: no power of two, so that a shifted chunk is seen
        size = 12 * program.chunks_per_loop
        task = RunTask(program.kind, program.num_ranks, program.root, "loopback", (size,), iterations=1, warmup=0)
        assert [measured.wrong for measured in run_in_threads(program, task)] == [0], row["file"]
