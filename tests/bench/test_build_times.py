"""The page of build and test times: what pytest printed, and which sections stay."""

from hocket.bench.build_times import PARTS, suites, with_sections

PRINTED = """\
........s [100%]
============ slowest 2 durations ============
12.50s call     tests/simulator/test_properties.py::test_[a b]
3.20s setup    tests/e2e/test_examples.py::test_all
20 passed, 1 skipped in 800.61s (0:13:20)
... [100%]
============ slowest 2 durations ============
9.00s call     tests/plugin/torch/test_collect.py::test_ranks

(1 durations < 0.005s hidden.  Use -vv to show these durations.)
3 passed in 90.10s (0:01:30)
"""


def test_both_runs_of_pytest_have_their_seconds_and_slowest_tests() -> None:
    rows = [row for row in suites(PRINTED) if row.startswith("| ")]
    assert rows == [
        "| tests | seconds | |",
        "| all but PyTorch and MPI | 801 | 20 passed, 1 skipped |",
        "| PyTorch and MPI | 90 | 3 passed |",
        "| seconds | test |",
        "| 12.50 | `tests/simulator/test_properties.py::test_[a b]` |",
        "| 3.20 | `tests/e2e/test_examples.py::test_all`, setup |",
        "| seconds | test |",
        "| 9.00 | `tests/plugin/torch/test_collect.py::test_ranks` |",
    ]


def test_a_part_that_is_measured_anew_leaves_the_others() -> None:
    build, tests = PARTS["build"][0], PARTS["tests"][0]
    first = with_sections("", {tests: "| a |\n\nb"})
    both = with_sections(first, {build: "| c |"})
    assert both.index(build) < both.index(tests) and "| a |\n\nb\n" in both and "| c |\n" in both
    assert with_sections(both, {}) == both
    assert with_sections(both, {build: "| d |"}) == both.replace("| c |", "| d |")
