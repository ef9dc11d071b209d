"""Equal rows find each other: against plain dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hocket.simulator.traces.numbering import number_equal, occurrence

ROWS = st.lists(st.tuples(st.integers(-2, 2), st.integers(-(2**62), -(2**62) + 1)), max_size=30)


@given(ROWS)
def test_equal_rows_share_a_number_in_order_of_appearance(rows: list[tuple[int, int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 2)
    numbers, first = number_equal(columns[:, 0], columns[:, 1])
    known: dict[tuple[int, int], int] = {}
    assert numbers.tolist() == [known.setdefault(row, len(known)) for row in rows]
    assert first.tolist() == [rows.index(row) for row in known]


@given(st.lists(st.integers(-3, 3), max_size=30))
def test_occurrence_counts_the_equal_ones_before(values: list[int]) -> None:
    expected = [values[:at].count(value) for at, value in enumerate(values)]
    assert occurrence(np.array(values, np.int64)).tolist() == expected
