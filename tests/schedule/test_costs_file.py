"""Files of what a runtime's kernels take."""

from pathlib import Path

import pytest

from hocket.base.errors import FormatError
from hocket.schedule import DEVICE, Costs, Pace, read_costs, write_costs

COSTS = Costs("device", {"LL": Pace(1_500_000, 250_000, 2_000_000, 3_000_000_000, buffers=1)}, "12 runs")


def test_what_is_written_is_read_and_replaces_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "here.costs.yaml"
    write_costs(path, COSTS, "# made by a test\n")
    assert read_costs(path) == COSTS
    priced = read_costs(path).of(DEVICE)
    assert priced["LL"].pace == COSTS.paces["LL"] and priced["LL"].slice_bytes == DEVICE["LL"].slice_bytes
    assert priced["Simple"] == DEVICE["Simple"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("runtime: device\ncosts:\n  LL: {launch: soon, step: 1us, block: 1GB/s}\n", "costs.yaml:3: "),
        ("runtime: device\ncosts:\n  LL: {launch: 1us, step: 1us, block: 10B/s}\n", "at least 1 MB/s"),
        ("runtime: device\ncosts:\n  LL: {launch: 1us, step: 1us}\n", "block"),
        ("costs: {}\n", "runtime"),
    ],
)
def test_a_wrong_file_is_refused_by_line(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "costs.yaml"
    path.write_text(text)
    with pytest.raises(FormatError, match=named):
        read_costs(path)
