"""Who works longer a step than those that wait for it: shares of what the longest work costs, stages, machines."""

from pathlib import Path

import numpy as np
from streams import END, Record, call, group, meta, wait, write

from hocket.recording.joined import components
from hocket.recording.longer_work import judge_work, shares
from hocket.recording.merge import merge
from hocket.recording.own_work import OwnWork, own_work, work_table
from hocket.recording.recording import read_recording
from hocket.recording.transfers import without_sorts

STEPS = 40


def test_what_is_above_the_middle_is_shared_by_those_who_work_as_long() -> None:
    """18 - 14 = 4 are of the first alone, 14 - 10 = 4 of the first two, 2 each."""
    assert shares(np.array([[10], [14], [18], [10]])).tolist() == [[0], [2], [6], [0]]
    assert shares(np.array([[5], [10], [10], [10]])).tolist() == [[0], [0], [0], [0]]  # one has less: nobody's cost
    assert shares(np.array([[7], [10]])).tolist() == [[0], [3]]


def works(own: dict[int, int]) -> dict[int, OwnWork]:
    return {rank: OwnWork(1, 0, [value] * STEPS) for rank, value in own.items()}


def named(own: dict[int, int], together: list[tuple[int, ...]], machine: dict[int, int] | None = None) -> set[str]:
    found = judge_work(works(own), together, machine or dict.fromkeys(own, 0), STEPS * 200).found
    return {straggler.name for straggler in found}


def test_a_rank_and_two_at_once_are_named() -> None:
    assert named({0: 100, 1: 100, 2: 100, 3: 100}, [(0, 1, 2, 3)]) == set()
    assert named({0: 100, 1: 120, 2: 100, 3: 100}, [(0, 1, 2, 3)]) == {"rank 1"}
    assert named({0: 100, 1: 120, 2: 130, 3: 100}, [(0, 1, 2, 3)]) == {"rank 1", "rank 2"}


def test_a_stage_of_all_pipelines_is_named_as_one_unless_it_is_one_rank() -> None:
    pipelines = [(0, 1, 2), (3, 4, 5)]
    assert named({0: 100, 1: 100, 2: 120, 3: 100, 4: 100, 5: 118}, pipelines) == {"the stage of ranks [2, 5]"}
    assert named({0: 100, 1: 100, 2: 100, 3: 100, 4: 100, 5: 120}, pipelines) == {"rank 5"}


def test_a_machine_is_named_as_one_unless_it_is_one_rank() -> None:
    own = dict.fromkeys(range(8), 100)
    machine = {rank: rank // 2 for rank in own}
    assert named(own | {2: 120, 3: 120}, [tuple(own)], machine) == {"the machine of ranks [2, 3]"}
    assert named(own | {3: 120}, [tuple(own)], machine) == {"rank 3"}


def test_who_is_late_to_the_end_is_recent() -> None:
    own = works(dict.fromkeys(range(4), 100)) | {1: OwnWork(1, 0, [100] * 24 + [130] * 16)}
    (straggler,) = judge_work(own, [(0, 1, 2, 3)], dict.fromkeys(own, 0), STEPS * 200).found
    assert (straggler.ranks, straggler.pattern, straggler.by) == ((1,), "recent", "own work")
    assert straggler.cost_ns == 16 * 30
    # 30 in 16 of the last 20 steps: 480 of 2000 more
    assert (
        straggler.detail
        == "in the last half of the steps, 24.0% longer than the middle of ranks [0-3]: slow, or given more"
    )


def test_who_was_late_in_a_while_that_is_over_is_not_named() -> None:
    own = works(dict.fromkeys(range(4), 100)) | {1: OwnWork(1, 0, [100] * 12 + [130] * 16 + [100] * 12)}
    assert judge_work(own, [(0, 1, 2, 3)], dict.fromkeys(own, 0), STEPS * 200).found == ()


def test_spans_of_ranks_are_those_that_all_have_in_the_widest() -> None:
    """Steps 2 to 7 of one, 0 to 7 in spans of two of the other."""
    table = work_table([OwnWork(1, 2, [1, 2, 3, 4, 5, 6]), OwnWork(2, 0, [10, 20, 30, 40])])
    assert table.tolist() == [[3, 7, 11], [20, 30, 40]]
    assert work_table([OwnWork(1, 0, [1, 2]), OwnWork(1, 5, [1])]).shape == (2, 0)


def test_own_work_is_what_lies_between_waits_by_steps(tmp_path: Path) -> None:
    """Waits 10-20, 50-60, 55-68 and 65-70, which overlap, then in the second step 100-110."""
    lines: list[Record | str | list[Record | str]] = [
        *(call(0, 10), wait(0, 10, 20), call(1, 50), wait(1, 50, 60)),
        *(call(2, 55), wait(2, 55, 68), call(3, 65), wait(3, 65, 70)),
        *({"k": "step", "n": 0, "t": 90}, call(4, 100), wait(4, 100, 110), {"k": "step", "n": 1, "t": 120}),
    ]
    recording = read_recording(write(tmp_path, 0, meta(0), group([0, 1]), *lines, END))
    found = own_work(recording)
    assert (found.width, found.spans) == (1, [50 - 20, 100 - 70])


def test_jobs_without_steps_have_no_own_work(tmp_path: Path) -> None:
    """A message joins the ranks, and nothing tells one step from the next."""
    for rank in range(2):
        other = {"op": "recv_" if rank else "send", "peer": 1 - rank, "seq": 0}
        lines: list[Record | str | list[Record | str]] = [call(0, 0, **other), wait(0, 0, 5)]
        for number in range(1, 50):
            begin = 100 * number
            lines += [call(number, begin + 20 * rank, seq=number - 1), wait(number, begin + 20 * rank, begin + 60)]
        write(tmp_path, rank, meta(rank), group([0, 1]), *lines, END)
    verdict = merge(tmp_path).stragglers
    assert (verdict.found, verdict.judged_by_work) == ((), False)
    assert "no steps are marked to judge own work by" in (tmp_path / "summary.txt").read_text()


def test_what_one_sort_of_messages_takes_longer_is_no_links_fault() -> None:
    """40 ns where the receiver waits, 10 where the message lies there; the third link takes 20 longer, either way."""
    waited, lying = np.array([1, 9, 5]), np.array([9, 1, 5])
    time = np.stack([lying * 10, waited * 40], axis=1) + np.array([[0, 0], [0, 0], [100, 100]])
    sums = np.concatenate([time, np.stack([lying, waited], axis=1)], axis=1)[:, :, None]
    assert without_sorts(sums).tolist() == [[100], [100], [300]]


def test_components_are_in_order() -> None:
    assert components([(4, 5), (0, 1), (1, 2)]) == [(0, 1, 2), (4, 5)]
