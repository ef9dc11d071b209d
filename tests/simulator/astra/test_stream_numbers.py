"""ASTRA-sim numbers all chunks that a rank starts, in groups and of everybody: where that hangs, it is said."""

import pytest
from astra_inputs import SYSTEM, Folder
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import DeadlockError
from hocket.chakra import CollectiveType, Trace, TraceBuilder
from hocket.simulator.astra import AstraPrediction

PAIRS = {"1": (0, 1), "2": (2, 3)}


def calls(*groups: str) -> Trace:
    """An all_reduce of each of these groups, one after another; "" is everybody."""
    builder = TraceBuilder()
    last: list[int] = []
    for at, group in enumerate(groups):
        name = f"call {at} of {group or 'all'}"
        last = [builder.add_collective(name, CollectiveType.ALL_REDUCE, 1 << 20, group=group, deps=last)]
    return builder.build()


def simulate(folder: Folder, first: tuple[str, ...], second: tuple[str, ...]) -> AstraPrediction:
    """The calls of ranks 0 and 1, and those of 2 and 3."""
    return folder.simulate((calls(*first),) * 2 + (calls(*second),) * 2, groups=PAIRS)


def test_a_call_in_a_group_that_others_have_no_like_of(folder: Folder) -> None:
    with pytest.raises(DeadlockError) as error:
        simulate(folder, ("1", ""), ("",))
    said = str(error.value)
    assert "4 of 4 ranks never finish" in said
    assert "node 1 'call 1 of all' waits for 65536 bytes from rank 3" in said
    assert "both called it, but ASTRA-sim numbers all chunks that a rank starts" in said
    assert "rank 0 had started 4 chunks before this collective, rank 3 0 before" in said


def test_chunks_of_equal_numbers_may_meet_and_the_others_hang(folder: Folder) -> None:
    folder.write(system=SYSTEM | {"active-chunks-per-dimension": 4})
    with pytest.raises(DeadlockError, match="numbers all chunks that a rank starts"):
        simulate(folder, ("1", ""), ("",))


def test_other_deadlocks_are_not_put_down_to_numbers(folder: Folder) -> None:
    with pytest.raises(DeadlockError) as error:
        simulate(folder, ("1", ""), ("2",))
    assert "numbers all chunks" not in str(error.value)


def test_groups_numbers_beyond_32_bits_go_round(folder: Folder) -> None:
    builder = TraceBuilder()
    builder.add_collective("it", CollectiveType.ALL_REDUCE, 1 << 20, group="2148")
    named = folder.simulate((builder.build(),) * 4, groups={"2148": (0, 1, 2, 3)})
    assert named.time_ns == folder.simulate((calls(""),) * 4).time_ns


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3),
    st.tuples(*[st.integers(0, 2)] * 2),
)
def test_ranks_finish_just_where_their_numbers_agree(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[int, int]], after: tuple[int, int]
) -> None:
    """How many calls in its pair each half makes before every call of everybody, and after the last."""
    folder = Folder(tmp_path_factory.mktemp("numbers"))
    halves = [
        tuple(name for counts in before for name in (*(pair,) * counts[half], "")) + (pair,) * after[half]
        for half, pair in enumerate(PAIRS)
    ]
    if any(first != second for first, second in before):
        with pytest.raises(DeadlockError, match="numbers all chunks"):
            simulate(folder, *halves)
    else:
        assert simulate(folder, *halves).time_ns > 0
