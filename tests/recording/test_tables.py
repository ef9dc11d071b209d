"""The summary of a recording, for people."""

import json
import re
from pathlib import Path

import in_process
import pytest
from streams import END, call, done, group, meta, wait, write


def test_members_and_names_of_groups_are_told_whole(tmp_path: Path) -> None:
    evens, name = list(range(0, 64, 2)), "a name\x1b that is longer than what most people would think of"
    for rank in range(64):
        halves = [group(evens, 1, name, 1), call(1, 30, 0, group=1), done(1, 40)] if rank in evens else []
        write(tmp_path, rank, meta(rank, 64), group(list(range(64))), call(0, 10, 0), done(0, 20), *halves, END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    assert merged.returncode == 0, merged.stderr
    assert merged.stdout == (tmp_path / "summary.txt").read_text()
    head, world, part, *_ = (line.split("  ") for line in merged.stdout.splitlines()[5:])
    assert [[cell.strip() for cell in row if cell] for row in (head, world, part)] == [
        ["group", "name", "members"],
        ["0", "0", "0-63"],
        ["1", name.replace("\x1b", "\\x1b"), ",".join(map(str, evens))],
    ]


def rows(text: str, first: str) -> list[list[str]]:
    """The cells of the table whose first column is called so."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.split()[:1] == [first])
    below = lines[at + 1 :]
    return [re.split(" {2,}", line.strip()) for line in below[: below.index("")]]


def test_the_job_is_named(tmp_path: Path) -> None:
    write(tmp_path, 0, meta(0, 1, job="train-1", script="train.py"), group([0]), call(0, 10, 0), done(0, 20), END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    assert merged.stdout.splitlines()[:2] == ["job: train-1, of train.py", "1 ranks, 0 training steps recorded"]
    told = json.loads((tmp_path / "summary.json").read_text())
    assert (told["job"], told["script"]) == ("train-1", "train.py")


def test_a_program_on_the_launch_line_is_named_by_its_beginning(tmp_path: Path) -> None:
    program = "python -c from mpi4py import MPI\n" + "x = 1\n" * 100
    write(tmp_path, 0, meta(0, 1, script=program), group([0]), call(0, 10, 0), done(0, 20), END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    assert merged.stdout.splitlines()[0] == "job: j, of python -c from mpi4py import MPI ..."


# Of two ranks: of each what goes in and what comes out.
SIZED = {
    "allreduce_": [(8, 8), (8, 8)],
    "_allgather_base_": [(8, 16), (8, 16)],
    "_reduce_scatter_base_": [(16, 8), (16, 8)],
    "gather_": [(8, 16), (8, 0)],
    "scatter_": [(16, 8), (0, 8)],
    "alltoall_base_": [(16, 16), (16, 16)],
}


@pytest.mark.parametrize("op", SIZED)
def test_sizes_are_those_of_nccl_tests(tmp_path: Path, op: str) -> None:
    for rank, (input_bytes, output_bytes) in enumerate(SIZED[op]):
        own = {"op": op, "in": input_bytes, "out": output_bytes, "root": 0}
        write(tmp_path, rank, meta(rank), group([0, 1]), call(0, 10, 0, **own), done(0, 20), END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    ((_, _, count, least, total, *_),) = rows(merged.stdout, "operation")
    size = "8 B" if op == "allreduce_" else "16 B"
    assert (count, least, total) == ("1", size, size)


def test_no_rank_waits_for_longer_than_it_communicates(tmp_path: Path) -> None:
    """A thread that waited was told later than the operation was complete."""
    for rank in range(2):
        told = (
            group([0, 1]),
            call(0, 10, 0, **{"async": 1}),
            done(0, 20),
            wait(0, 15, 90),
            call(1, 100, 1),
            done(1, 110),
        )
        write(tmp_path, rank, meta(rank), *told, END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    for row in json.loads((tmp_path / "summary.json").read_text())["ranks"]:
        assert row["exposed_ns"] <= row["communication_ns"] <= row["elapsed_ns"]
    assert [row[4:6] for row in rows(merged.stdout, "rank")] == [["90 ns", "85 ns"]] * 2


def test_no_rank_is_waited_for_longer_than_there_is_time(tmp_path: Path) -> None:
    """Rank 1 comes late to two groups at once."""
    for rank in range(2):
        late = 1000 * rank
        groups = [group([0, 1], number, str(number), number) for number in range(2)]
        calls = [call(number, late + 10, 0, group=number, **{"async": 1}) for number in range(2)]
        write(tmp_path, rank, meta(rank), *groups, *calls, done(0, 1020), done(1, 1020), END)
    merged = in_process.hocket("collect", "merge", tmp_path)
    assert merged.returncode == 0, merged.stderr
    found = json.loads((tmp_path / "summary.json").read_text())
    assert found["arrivals"][1]["delay_ns"] == 1000  # once, though two groups wait for it
    assert [row["delay_ns"] for row in found["ranks"]] == [0, 1000]  # of rank 0, from 10 to 1010
