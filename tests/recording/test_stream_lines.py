"""Lines of numbers are read as the stream's format has them: others are named with their line."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import END, group, meta

from hocket.base.errors import FormatError
from hocket.recording.distinct import distinct
from hocket.recording.stream_lines import Session
from hocket.recording.waits import NONE

HEAD = [meta(0, 1), group([0])]


def read(folder: Path, *lines: str) -> Session:

    path = folder / "rank0.stream"
    texts = [
        json.dumps(line, separators=(",", ":")) if isinstance(line, dict) else line for line in (*HEAD, *lines, END)
    ]
    path.write_text("\n".join(texts) + "\n")
    return Session.read(path)


def test_numbers_of_each_letter_are_rows_in_order(tmp_path: Path) -> None:
    found = read(tmp_path, "c 0 1 2 3 4", "d 0 999999999999999999", "c 1 1 3 0 4", "x 1")
    assert found.numbers["c"].tolist() == [[0, 1, 2, 3, 4], [1, 1, 3, 0, 4]]
    assert found.numbers["d"].tolist() == [[0, 10**18 - 1]]
    assert found.numbers["x"].tolist() == [[1]]
    assert found.numbers["w"].shape == (0, 4)
    assert len(found.records) == 3


WRONG = (
    "d 0",
    "d 0 1 2",
    "d  0 1",
    "d 0 1 ",
    "d 0 -1",
    "d 0 1000000000000000000",
    "q 0 1",
    "d 0 1x",
    "d0 1",
    "",
    "d",
    "5 0 1",
)


@pytest.mark.parametrize("line", WRONG)
@pytest.mark.parametrize("behind", [[], ["d 5 6"]])
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str, behind: list[str]) -> None:
    with pytest.raises(FormatError, match=r"rank0\.stream:[0-9]+: not a line of the collector's stream"):
        read(tmp_path, "c 0 1 2 3 4", line, *behind)


def test_lines_of_numbers_may_be_absent(tmp_path: Path) -> None:
    assert all(len(rows) == 0 for rows in read(tmp_path).numbers.values())


@given(st.lists(st.lists(st.sampled_from([NONE, -1, 0, 1, 5, 2**61]), min_size=2, max_size=2), max_size=30))
def test_distinct_rows_are_numpys(rows: list[list[int]]) -> None:
    columns = np.array(rows, np.int64).reshape(-1, 2)
    first, which = distinct(columns[:, 0], columns[:, 1])
    values = columns[first]
    assert sorted(values.tolist()) == np.unique(columns, axis=0).tolist()
    assert np.array_equal(values[which], columns)
    assert all(place == which.tolist().index(which[place]) for place in first.tolist())
