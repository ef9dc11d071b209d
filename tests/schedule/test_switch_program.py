"""Programs over switches: what their tables do is proved, and every other table is refused."""

from dataclasses import replace

import pytest

from hocket.base.errors import ScheduleError
from hocket.schedule import Kind, SwitchProgram, SwitchRun, execute_switches

RANKS, CHUNKS = 4, 8
KINDS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.BROADCAST)


def program(kind: Kind, in_place: bool = False) -> SwitchProgram:
    owned = [SwitchRun(2 if kind is Kind.BROADCAST else rank, 2 * rank, 2) for rank in range(RANKS)]
    return SwitchProgram("made", kind, RANKS, 2, CHUNKS, 3, in_place, 0, 0, tuple(owned))


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_contribution_once(kind: Kind, in_place: bool) -> None:
    proof = execute_switches(program(kind, in_place))
    assert (proof.in_place, proof.chunks) == (in_place, CHUNKS)


def test_heads_of_an_all_reduce_are_free() -> None:
    execute_switches(replace(program(Kind.ALL_REDUCE), runs=(SwitchRun(3, 0, 5), SwitchRun(1, 5, 3))))


def test_the_rows_of_a_rank() -> None:
    assert program(Kind.REDUCE_SCATTER).rows(1).tolist() == [
        [0, 0, 2, 0, -1],
        [1, 2, 2, 2, 0],
        [2, 4, 2, 4, -1],
        [3, 6, 2, 6, -1],
    ]
    assert program(Kind.ALL_GATHER).rows(1).tolist()[1] == [1, 2, 2, 0, 2]
    assert program(Kind.ALL_GATHER, in_place=True).rows(1).tolist()[1] == [1, 2, 2, 0, -1]


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_left_out_or_there_twice_is_seen(kind: Kind, in_place: bool) -> None:
    made = program(kind, in_place)
    for number, run in enumerate(made.runs):
        with pytest.raises(ScheduleError, match=r"output chunk|another run"):
            execute_switches(replace(made, runs=made.runs[:number] + made.runs[number + 1 :]))
        with pytest.raises(ScheduleError, match="another run"):
            execute_switches(replace(made, runs=(*made.runs, run)))


def test_the_wrong_root_is_seen() -> None:
    with pytest.raises(ScheduleError, match=r"rank 0 output chunk 0 is rank 2's chunk 0, expected rank 1's chunk 0"):
        execute_switches(replace(program(Kind.BROADCAST), root=1))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"runs": (SwitchRun(4, 0, 2),)}, "the head is not one of the ranks 0..3"),
        ({"runs": (SwitchRun(0, 7, 2),)}, "expected one or more of the chunks 0..7"),
        ({"runs": (SwitchRun(0, 1, 0),)}, "expected one or more of the chunks 0..7"),
        ({"kind": Kind.ALL_GATHER, "runs": (SwitchRun(0, 1, 2),)}, "of its own block alone"),
        ({"kind": Kind.REDUCE_SCATTER, "chunks_per_loop": 6}, "expected a multiple of the ranks"),
        ({"kind": Kind.ALL_TO_ALL}, "no all_to_all"),
        ({"root": 4}, "root 4 is not one of the ranks"),
        ({"thread_blocks": 0}, "expected 1 to 1024"),
        ({"chunks_per_loop": 1 << 30}, "expected 1 to 1048576 in all"),
        ({"num_ranks": 2000}, "2000 ranks: expected 1 to 1024"),
        ({"runs": (SwitchRun(0, 0, 1),) * 9}, "9 runs of 8 chunks"),
    ],
)
def test_what_leads_outside_is_refused(change: dict[str, object], match: str) -> None:
    with pytest.raises(ScheduleError, match=match):
        replace(program(Kind.ALL_REDUCE), **change)  # type: ignore[arg-type]
