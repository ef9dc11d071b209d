"""Every summary says what its recording cannot see: standing limits, of the jobs only that they apply to."""

import json
from pathlib import Path

import pytest
from streams import END, Record, call, group, meta, wait, write

from hocket.recording.merge import merge

CALLS = [call(0, 0), wait(0, 0, 9)]
ASYNCHRONOUS = [call(0, 0, **{"async": 1}), wait(0, 0, 9)]
NCCL = group([0, 1]) | {"backend": "nccl"}
TWO_WINDOWS = [*CALLS, {"k": "step", "n": 3, "t": 10}, {"k": "step", "n": 9, "t": 20}]


@pytest.mark.parametrize(
    ("head", "lines", "told"),
    [
        ([meta(0, torch="2.15.0"), group([0, 1])], CALLS, []),
        ([meta(0, torch="2.15.0", hook="python"), group([0, 1])], CALLS, []),
        ([meta(0, torch="2.9.1+cpu", hook="python: no compiler"), group([0, 1])], CALLS, ["reductions"]),
        ([meta(0, torch="2.15.0"), NCCL], CALLS, ["when calls ran on devices"]),
        ([meta(0, torch="2.15.0", step=3), group([0, 1])], CALLS, ["calls before step 3"]),
        ([meta(0, torch="2.15.0", step=3), group([0, 1])], TWO_WINDOWS, ["calls before step 3", "calls of 5 steps"]),
        ([meta(0, torch="", mpi="MPICH"), group([0, 1])], CALLS, ["what devices compute"]),
        (
            [meta(0, torch="", mpi="MPICH"), group([0, 1])],
            ASYNCHRONOUS,
            ["when nonblocking operations", "what devices compute"],
        ),
    ],
)
def test_a_limit_is_told_of_the_jobs_it_applies_to(
    tmp_path: Path, head: list[Record], lines: list[Record | str | list[Record | str]], told: list[str]
) -> None:
    for rank in range(2):
        write(tmp_path, rank, head[0] | {"rank": rank}, *head[1:], *lines, END)
    merge(tmp_path)
    unseen = json.loads((tmp_path / "summary.json").read_text())["unseen"]
    assert len(unseen) == len(told)
    assert all(what.startswith(f"ranks [0, 1]: {begin}") for what, begin in zip(unseen, told, strict=True))
    text = (tmp_path / "summary.txt").read_text().splitlines()
    section = [line for line in text if line.startswith("unseen: ")]
    assert section == ([f"unseen: {what}" for what in unseen] or ["unseen: nothing that is known of"])
    assert text[-1] == "all ranks recorded, all collectives complete, no disagreement between ranks"
