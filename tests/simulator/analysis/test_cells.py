"""Tables that a spreadsheet opens: names from files are no formulas."""

import csv
from pathlib import Path

import numpy as np
import pytest

from hocket.simulator.analysis.tables import write_csv


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\t=1+1", "\\t=1+1"),
        ("\r=1+1", "\\r=1+1"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_a_name_is_no_formula(tmp_path: Path, name: str, shown: str) -> None:
    write_csv(tmp_path / "t.csv", {"group": np.array([name]), "time_ps": np.array([-1]), "ratio": np.array([-0.5])})
    with (tmp_path / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["group"] == shown
    assert (row["time_ps"], row["ratio"]) == ("-1", "-0.5")
