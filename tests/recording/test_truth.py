"""What a merge says of ranks that disagree, come late, die or keep other clocks, from streams written by hand."""

import json
from pathlib import Path

from in_process import hocket
from streams import END, Record, call, group, meta, wait, write

from hocket.base.rank_names import format_ranks
from hocket.recording.merge import merge

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


def test_stragglers_are_persistent_or_sporadic(tmp_path: Path) -> None:
    """Of 100 collectives rank 1 is 20 ns late in all, rank 2 40 ns in one."""
    for rank in range(3):
        records = []
        for number in range(100):
            late = 20 if rank == 1 else 40 if rank == 2 and number == 7 else 0
            begin = 100 * number
            records += [call(number, begin + late), [wait(number, begin + late, begin + 60)]]
        write(tmp_path, rank, meta(rank, 3), group([0, 1, 2]), *records, END)
    summary = merge(tmp_path)
    rows = [(row.of, row.last, row.delay_ns, row.worst_ns, row.pattern) for row in summary.arrivals]
    # Rank 2 also comes after rank 0 at the same time as it where rank 1 is not late: never.
    assert rows == [(100, 0, 0, 0, ""), (100, 99, 99 * 20, 20, "persistent"), (100, 1, 20, 20, "sporadic")]
    assert summary.arrivals[2].worst == "all_reduce #7 of group 0 (0)"
    assert "straggler (persistent): rank 1 came last to 99 of 100 collectives" in (tmp_path / "summary.txt").read_text()


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
