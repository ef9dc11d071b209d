"""What a merge says of ranks that disagree, come late, die or keep other clocks, from streams written by hand."""

import json
from pathlib import Path
from typing import Any

from in_process import hocket
from streams import END, Record, call, group, meta, wait, write

from hocket.base.rank_names import format_ranks
from hocket.recording.merge import merge
from hocket.recording.summary import RecordingSummary

SIZES = [8, 16, 24, 32, 40, 48, 56, 64]


def collectives(sizes: list[int], step: int = 100, late: int = 0) -> list[list[Record | str]]:
    """A synchronous all_reduce every `step` ns, each issued `late` ns after its time and over 50 ns after that."""
    records: list[list[Record | str]] = []
    for number, size in enumerate(sizes):
        begin = number * step
        shape = {"in": size, "out": size, "at": f"train.py:{size}"}
        records += [call(number, begin + late, **shape), [wait(number, begin + late, begin + 50)]]
    return records


def test_the_first_divergence_is_shown_with_lines_and_a_guess(tmp_path: Path) -> None:
    """Rank 2 leaves out #3, of 32 bytes: from there on it is one ahead."""
    for rank in range(3):
        sizes = [size for size in SIZES if rank < 2 or size != 32]
        write(tmp_path, rank, meta(rank, 3), group([0, 1, 2]), *collectives(sizes), END)
    summary = merge(tmp_path)
    (divergence,) = summary.divergences
    assert (divergence.group, divergence.sequence) == (0, 3)
    assert divergence.guess == "rank 2 seems to have left out one"
    first, second = divergence.variants
    assert (first.ranks, second.ranks) == ((0, 1), (2,))
    assert first.collectives[2] == "#3 all_reduce 32 B float32 (train.py:32)"
    assert second.collectives[2] == "#3 all_reduce 40 B float32 (train.py:40)"
    text = (tmp_path / "summary.txt").read_text()
    assert "divergence: group 0 (0) departs at #3: rank 2 seems to have left out one" in text
    assert json.loads((tmp_path / "summary.json").read_text())["divergences"][0]["sequence"] == 3


def test_much_that_differs_is_told_briefly(tmp_path: Path) -> None:
    for rank, size in enumerate((8, 16)):
        write(tmp_path, rank, meta(rank), group([0, 1]), *collectives([size] * 100), END)
    told = [mismatch.message for mismatch in merge(tmp_path).mismatches]
    assert len(told) == 8 + 1
    assert told[-1] == "92 more collectives of group 0 (0) differ between ranks, the last one #99"


def test_traces_of_a_job_that_died_are_cut_and_replayed(tmp_path: Path) -> None:
    """Rank 2 dies after #4 of 8; ranks 0 and 1 had exchanged a message of their own after #5, which goes too."""
    message = [
        [call(8, 2000, seq=0, op=op, peer=1 - rank, **{"in": 4, "out": 4}), [wait(8, 2000, 2050)]]
        for rank, op in enumerate(("send", "recv_"))
    ]
    for rank in range(3):
        own = collectives(SIZES[:5] if rank == 2 else SIZES)
        end = [] if rank == 2 else [*message[rank], END]
        write(tmp_path, rank, meta(rank, 3), group([0, 1, 2]), *own, *end)
    summary = merge(tmp_path)
    assert [(cut.rank, cut.left_out) for cut in summary.cuts] == [(0, 4), (1, 4)]
    assert summary.cuts[0].reason == "all_reduce #5 of group 0 (0), which rank 2 cannot answer"
    stands = {stand.rank: (stand.issued, stand.completed, stand.line) for stand in summary.stands}
    assert stands == {0: (7, 7, "train.py:64"), 1: (7, 7, "train.py:64"), 2: (4, 4, "train.py:40")}
    assert (
        "missing: all_reduce #5 of group 0 (0) and 2 more to #7: recorded by ranks [0, 1], not by [2]"
        in (tmp_path / "summary.txt").read_text()
    )
    replayed = hocket("simulate", tmp_path, "--topology", "fully_connected:3,bandwidth=1GB/s,latency=1us")
    assert replayed.returncode == 0, replayed.stderr
    told = json.loads(hocket("trace", "info", tmp_path, "--json", "-").stdout)
    assert len(told["collectives"]) == 3 * 5


def test_a_cut_in_one_group_cuts_what_depends_on_it_in_another(tmp_path: Path) -> None:
    """Rank 2 dies before the second collective of [1, 2]; what ranks 1 and then 0 do in [0, 1] afterwards goes too."""
    low, high = group([0, 1], 0, "low"), group([1, 2], 1, "high")
    numbers = ((0, 0, 1), (1, 1, 1), (2, 0, 0))  # number, number in its group, group
    first, second, third = ((call(n, 100 * n, seq=s, group=g), [wait(n, 100 * n, 100 * n + 9)]) for n, s, g in numbers)
    write(tmp_path, 0, meta(0, 3), low, *third, END)
    write(tmp_path, 1, meta(1, 3), low, high, *first, *second, *third, END)
    write(tmp_path, 2, meta(2, 3), high, *first)
    assert [(cut.rank, cut.left_out) for cut in merge(tmp_path).cuts] == [(0, 1), (1, 2)]


def late_job(folder: Path, late: dict[int, list[int]], steps: int = 100) -> RecordingSummary:
    """Three ranks with an all_reduce every 100 ns that all leave 60 ns after its begin; `late`: of a rank by how much
    it comes late, in turn."""
    for rank in range(3):
        own = late.get(rank, [0])
        records: list[Any] = []
        for number in range(steps):
            begin, behind = 100 * number, own[number % len(own)]
            records += [call(number, begin + behind), [wait(number, begin + behind, begin + 60)]]
            records += [{"k": "step", "n": number, "t": begin + 61}]
        write(folder, rank, meta(rank, 3), group([0, 1, 2]), *records, END)
    return merge(folder)


def test_a_rank_that_is_late_again_and_again_is_named(tmp_path: Path) -> None:
    """Rank 1 is 20 ns late to each of 99 collectives after the first, of which nobody knows how long the work was."""
    summary = late_job(tmp_path, {1: [20]})
    rows = [(row.of, row.last, row.delay_ns, row.own_ns, row.worst_ns) for row in summary.arrivals]
    # Who comes at the same time as others is the last of them at no cost: rank 2, before rank 1 to none.
    assert rows == [(100, 0, 0, 0, 0), (100, 100, 100 * 20, 99 * 20, 20), (100, 0, 0, 0, 0)]
    assert summary.arrivals[1].worst == "all_reduce #0 of group 0 (0)"  # the first of the worst
    (straggler,) = summary.stragglers.found
    assert (straggler.kind, straggler.ranks, straggler.pattern) == ("rank", (1,), "persistent")
    assert straggler.cost_ns == 99 * 20
    assert straggler.share == 99 * 20 / 9961  # from 0 to the end of the last step
    text = (tmp_path / "summary.txt").read_text()
    assert "straggler (persistent): rank 1 kept the others waiting by its own work: 1.98 us, 19.9% of the time" in text


def test_a_rank_that_is_very_late_now_and_then_is_sporadic(tmp_path: Path) -> None:
    """40 ns in one of 25: in 40 of 1,000."""
    (straggler,) = late_job(tmp_path, {2: [*[0] * 24, 40]}, 1000).stragglers.found
    assert (straggler.ranks, straggler.pattern, straggler.cost_ns) == ((2,), "sporadic", 40 * 40)


def test_nobody_is_named_who_was_late_once_or_for_one_long_while(tmp_path: Path) -> None:
    once = late_job(tmp_path / "once", {2: [*[0] * 25, 59, *[0] * 24]}, 50)  # 1.2 % of the time
    while_ = late_job(tmp_path / "while", {0: [*[30] * 40, *[0] * 60]})
    for summary in (once, while_):
        assert summary.stragglers.found == ()
    assert while_.arrivals[0].last == 40


def test_who_was_late_for_a_long_while_of_many_steps_is_not_told_apart(tmp_path: Path) -> None:
    summary = late_job(tmp_path, {0: [*[30] * 60, *[0] * 40]})
    assert (summary.stragglers.found, summary.stragglers.unsettled) == ((), ("rank 0",))
    told = "stragglers: not told apart from chance: rank 0: what was lost was lost in one while"
    assert told in (tmp_path / "summary.txt").read_text()


def test_ranks_that_are_late_in_turn_are_alike(tmp_path: Path) -> None:
    summary = late_job(tmp_path, {0: [30, 0, 0], 1: [0, 30, 0], 2: [0, 0, 30]})
    assert summary.stragglers.found == ()
    told = "stragglers: none: nobody costs 1% of the time beyond chance (100 steps)"
    assert told in (tmp_path / "summary.txt").read_text()


def test_of_few_collectives_nothing_is_told(tmp_path: Path) -> None:
    summary = late_job(tmp_path, {1: [20]}, 4)
    assert (summary.stragglers.found, summary.stragglers.too_few) == ((), ("rank 1",))
    told = "stragglers: too few collectives to tell them from chance (4 steps)"
    assert told in (tmp_path / "summary.txt").read_text()


def test_of_few_collectives_nothing_is_told_where_nobody_is_late_either(tmp_path: Path) -> None:
    late_job(tmp_path, {}, 4)
    told = "stragglers: too few collectives to tell them from chance (4 steps)"
    assert told in (tmp_path / "summary.txt").read_text()


def test_who_is_let_go_late_is_late_by_none_of_its_doing(tmp_path: Path) -> None:
    """Rank 1 works 40 ns as all do, but leaves each collective 20 ns after the others."""
    for rank in range(3):
        records: list[Any] = []
        for number in range(100):
            begin, behind = 100 * number, 20 if rank == 1 else 0
            records += [call(number, begin + behind), [wait(number, begin + behind, begin + 60 + behind)]]
        write(tmp_path, rank, meta(rank, 3), group([0, 1, 2]), *records, END)
    summary = merge(tmp_path)
    assert (summary.arrivals[1].delay_ns, summary.arrivals[1].own_ns) == (100 * 20, 0)
    assert summary.stragglers.found == ()


def test_clocks_are_told_with_uncertainty_and_drift(tmp_path: Path) -> None:
    """Rank 1 measured twice, 1 us apart, rank 2 once before it died, rank 3 not at all."""
    clocks = {
        1: [{"k": "clock", "t": t, "offset": 50 + t // 1000, "round_trip": 80} for t in (0, 1000)],
        2: [{"k": "clock", "t": 0, "offset": 70, "round_trip": 90}],
        3: [],
    }
    write(tmp_path, 0, meta(0, 4), group([0, 1, 2, 3]), call(0, 500), [wait(0, 500, 900)], END)
    for rank, lines in clocks.items():
        own = meta(rank, 4, boot=str(rank), epoch_ns=7)
        write(tmp_path, rank, own, group([0, 1, 2, 3]), *lines, call(0, 400), [wait(0, 400, 900)], END)
    told = [vars(clock) for clock in merge(tmp_path).clocks]
    # 1 ns in 1000 ns: a million ns in 10^9 times 1000.
    assert [clock["source"] for clock in told] == ["same", "ping-pongs", "ping-pongs", "wall clocks"]
    assert [clock["drift_ppb"] for clock in told] == [0, 10**6, None, None]
    assert [clock["uncertainty_ns"] for clock in told] == [0, 40, 45, None]
    assert [clock["offset_ns"] for clock in told] == [0, 50, 70, 7]


def test_ranks_are_written_in_spans() -> None:
    assert format_ranks({5, 0, 1, 2, 7, 8}) == "[0-2, 5, 7, 8]"
