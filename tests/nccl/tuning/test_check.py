"""What `hocket nccl tuner check` says of a table, held against what the plugin's rules then do."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket
from numpy.typing import NDArray
from plain_check import compared

from hocket.nccl.names import ALGORITHMS, PROTOCOLS, can_do
from hocket.nccl.tuning.check import check_table
from hocket.nccl.tuning.finding import TableSeverity
from hocket.nccl.tuning.listing import segments
from hocket.nccl.tuning.rule_effects import compare
from hocket.nccl.tuning.rule_pairs import compare_rules
from hocket.nccl.tuning.table import CommunicatorRules, TunerTable
from hocket.topology.machines.hosts import hosts_of

HEADER = (
    "collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,regBuff,min_bytes_per_rank,"
    "max_bytes_per_rank\n"
)
ALL_REDUCE = 4


def found(text: str) -> list[tuple[int, str, str]]:
    return [(one.line, one.severity.value, one.text) for one in check_table(TunerTable(text.encode()))]


def only(text: str) -> tuple[int, str, str]:
    (finding,) = found(text)
    return finding


def run(*arguments: str) -> tuple[int, list[str]]:
    done = hocket("nccl", "tuner", "check", *arguments)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_a_good_table_is_listed(tmp_path: Path) -> None:
    table = tmp_path / "good.csv"
    table.write_text(
        "allreduce,0,262144,tree,ll,-1,2..4,-1\nallreduce,262145,-1,nvls_tree,simple,16,2..4,16..32\n"
        "constant,baseLatencies,ring,ll,5.2\n"
    )
    code, lines = run(str(table), "--nodes", "2", "--ranks", "16")
    assert code == 0
    assert lines[0] == f"{table}: 2 rules, 1 constants, 0 errors, 0 warnings"
    assert [line.split() for line in lines[-2:]] == [
        ["AllReduce", "0", "B", "..", "256", "KiB", "Tree/LL", "(line", "1)"],
        ["AllReduce", "262145", "B", "..", "NVLSTree/Simple,", "at", "most", "16", "channels", "(line", "2)"],
    ]


def test_a_bad_table_fails_with_every_line(tmp_path: Path) -> None:
    table = tmp_path / "bad.csv"
    table.write_text("allreduce,0,-1,rign,simple,-1,-1,-1\nbroadcast,0,-1,tree,simple,-1,-1,-1\nreduce\n")
    code, lines = run(str(table))
    assert code == 1
    assert [line.split(": ")[:2] for line in lines[:3]] == [[f"{table}:{line}", "error"] for line in (1, 2, 3)]
    assert "did you mean ring?" in lines[0]
    assert "NCCL has no Tree/Simple for Broadcast" in lines[1]
    assert run(str(tmp_path / "none.csv"))[0] == 3


def test_rules_that_never_match_are_errors() -> None:
    for row, text in (
        ("allgather,0,-1,tree,simple,-1,-1,-1", "NCCL has no Tree/Simple for AllGather"),
        ("allreduce,0,-1,nvls,ll,-1,-1,-1", "NCCL has no NVLS/LL"),
        ("allreduce,0,-1,pat,-1,-1,-1,-1", "NCCL has no PAT/any"),
        ("allreduce,0,-1,ring,ll,-1,-1,1", "only one rank"),
        ("allreduce,0,-1,ring,ll,-1,0,-1", "1 or more"),
        ("allreduce,0,-1,ring,ll,-1,8..,2..4", "nRanks is less than nNodes (4 < 8)"),
        ("allreduce,0,-1,nvls_tree,simple,-1,1,-1", "is for several nodes"),
        ("allreduce,0,-1,nvls,simple,-1,8,8", "needs several GPUs per node"),
    ):
        line, severity, said = only(row)
        assert (line, severity) == (1, "error")
        assert text in said
    # 4 ranks of at most 1023 bytes each are less than 4096.
    assert "exclude each other" in only(HEADER + "allreduce,4096,,ring,ll,,,4,,,1023")[2]
    assert found(HEADER + "allreduce,4095,,ring,ll,,,4,,,1023") == []


def test_rules_behind_others_are_errors_unless_these_may_be_missing() -> None:
    whole = "allreduce,0,-1,ring,simple,-1,-1,-1\n"
    assert only(whole + "allreduce,5,9,tree,ll,-1,2,-1")[1:] == ("error", "never reached: line 1 takes all its calls")
    line, severity, text = only("allreduce,0,-1,nvls,simple,-1,-1,-1\n" + whole)
    assert (line, severity) == (2, "warning")
    assert "only reached where NCCL does not offer NVLS/Simple" in text
    two = "allreduce,0,9,ring,simple,-1,-1,-1\nallreduce,10,-1,ring,ll,-1,1..2,-1\n"
    assert "lines 1, 2 together" in only(two + "allreduce,5,50,tree,ll,-1,2,-1")[2]
    # A rule for some, then one for the rest, is how a table is meant to be written.
    assert found("allreduce,5,9,tree,ll,-1,2,-1\n" + whole) == []


def test_overlaps_and_gaps_are_warnings() -> None:
    rows = "allreduce,{},{},ring,simple,-1,-1,-1\nallreduce,{},{},ring,ll,-1,-1,-1\n"
    assert found(rows.format(0, 65535, 65536, -1)) == []
    assert "line 1 comes first for the sizes 65536 to 65536 B" in only(rows.format(0, 65536, 65536, -1))[2]
    assert "no rule for 64 KiB to 64 KiB" in only(rows.format(0, 65535, 65537, -1))[2]
    # A third, wider rule takes what is between.
    assert found(rows.format(0, 65535, 65537, -1) + "allreduce,0,-1,-1,-1,-1,-1,-1") == []


def test_channels_that_are_not_passed_on_and_constants_never_used() -> None:
    assert "channels of NVLS are left to NCCL" in only("allreduce,0,-1,nvls,simple,16,2,-1")[2]
    assert found("allreduce,0,-1,nvls,simple,16,1,-1") == []
    constants = "constant,baseLatencies,ring,ll,5,2..\nconstant,baseLatencies,ring,ll,6,{}\n"
    assert only(constants.format(4))[1:] == (
        "error",
        "never used: line 1 has the same constant for all its communicators",
    )
    assert found(constants.format(-1)) == []


def test_against_a_machine_nccls_own_choice_and_times_stand_beside_the_rules() -> None:
    rule = "allreduce,0,-1,nvls_tree,simple,-1,2,16\n"
    plain, slower = (
        compare(TunerTable(text.encode()), hosts_of("dgx-h100", 2), ["AllReduce"])
        for text in (rule, rule + "constant,baseLatencies,nvls_tree,simple,5\n")
    )
    # Where NCCL 2.30.7 itself switches on two of these machines, by its own code.
    assert [(one.least, one.own) for one in plain] == [
        (8, "Tree/LL"),
        (1 << 18, "Tree/LL128"),
        (1 << 21, "NVLSTree/Simple"),
    ]
    assert plain[-1].ruled_us == plain[-1].own_us
    assert all(one.ruled == "NVLSTree/Simple" and one.ruled_us >= one.own_us for one in plain)
    # NCCL has 0 there: 5 us more for the rule and, where it is NCCL's choice too, for both.
    assert slower[0].ruled_us[0] - plain[0].ruled_us[0] == pytest.approx(5, abs=1e-3)
    assert slower[0].own_us == plain[0].own_us


def test_against_a_machine_constants_alone_change_choices_where_they_hold() -> None:
    table = TunerTable(b"constant,baseLatencies,tree,ll,1000,2\n")
    (one,) = compare(table, hosts_of("dgx-h100", 2), ["AllReduce"])
    # Where NCCL takes Tree/LL (8 B to 128 KiB), Ring/LL is next; on three machines the constant does not hold.
    assert (one.least, one.most, one.line, one.ruled, one.own) == (8, 1 << 17, None, "Ring/LL", "Tree/LL")
    assert one.own_us[0] > 1000 > one.ruled_us[1]
    assert compare(table, hosts_of("dgx-h100", 3), ["AllReduce"]) == []


SIZES = st.sampled_from(["0,", "0,16", "7,8", "8,", "8,15", "15,17", "16,64"])
RANGES = st.sampled_from(["", "1", "2", "1..2", "2..", "8", "16..", "4..16"])
ROWS = st.builds(
    "{},{},{},{},,{},{},{},{}".format,
    st.sampled_from(["allreduce", "allgather", "broadcast"]),
    SIZES,
    st.sampled_from(["-1", "ring", "tree", "nvls", "nvls_tree", "pat"]),
    st.sampled_from(["-1", "ll", "ll128", "simple"]),
    RANGES,
    RANGES,
    st.sampled_from(["", "0", "1"]),
    st.just(",") | SIZES,
)
SHAPES = st.sampled_from([(1, 2), (1, 8), (2, 1), (2, 8), (8, 1), (4, 4)])


def offered(function: int, nodes: int, per_node: int, missing: set[int]) -> NDArray[np.float32]:
    fits = {"NVLSTree": nodes > 1 and per_node > 1, "NVLS": per_node > 1, "PAT": per_node == 1}
    costs = [
        1.0 if can_do(function, algorithm, protocol) and fits.get(name, True) else -1.0
        for algorithm, name in enumerate(ALGORITHMS)
        for protocol in range(len(PROTOCOLS))
    ]
    return np.array([-1.0 if at in missing else cost for at, cost in enumerate(costs)], np.float32)


@settings(max_examples=150)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=6),
    shape=SHAPES,
    function=st.sampled_from([0, 2, 4]),
    registered=st.booleans(),
    sizes=st.lists(st.integers(0, 300), min_size=4, max_size=4),
    missing=st.sets(st.sampled_from([0, 1, 2, 4, 14, 17, 20])),  # Rings with LL and Simple are always there.
)
def test_rules_called_useless_are_never_chosen_and_the_listing_is_what_is_chosen(
    rows: list[str],
    shape: tuple[int, int],
    function: int,
    registered: bool,
    sizes: list[int],
    missing: set[int],
) -> None:
    table = TunerTable((HEADER + "\n".join(rows)).encode())
    assert table.problems == []
    useless = {one.line for one in check_table(table) if one.severity is TableSeverity.ERROR}
    nodes, per_node = shape
    ranks = nodes * per_node
    chooser = CommunicatorRules(table, nodes, ranks)

    def line_for(size: int, missing: set[int]) -> int | None:
        costs = offered(function, nodes, per_node, missing)
        chosen = chooser.choose(function, size, 1, int(registered), costs)[0]
        return None if chosen < 0 else table.rules[chosen].line

    listing = segments(table, function, nodes, ranks, registered=registered)
    assert [one.least for one in listing[1:]] == [one.most + 1 for one in listing[:-1] if one.most is not None]
    for size in sizes:
        (segment,) = [one for one in listing if one.least <= size and (one.most is None or size <= one.most)]
        assert line_for(size, set()) == (segment.rule.line if segment.rule else None)
        assert line_for(size, missing) not in useless


@settings(max_examples=150)
@given(rows=st.lists(ROWS, min_size=1, max_size=16))
def test_what_is_found_of_pairs_is_what_comparing_all_of_them_finds(rows: list[str]) -> None:
    rules = TunerTable((HEADER + "\n".join(rows)).encode()).rules
    quick = sorted(compare_rules(rules), key=lambda finding: finding.line)
    assert [(finding.line, finding.text) for finding in quick] == compared(rules)


def test_only_lines_that_take_calls_are_named() -> None:
    text = "allreduce,0,7,ring,ll,-1,-1,-1\nallreduce,8,15,ring,ll,-1,-1,-1\nallreduce,16,31,ring,ll,-1,-1,-1\n"
    assert (
        only(text + "allreduce,4,15,tree,ll,-1,-1,-1\n")[2] == "never reached: lines 1, 2 together take all its calls"
    )


def test_very_long_tables_are_warned_about() -> None:
    rows = "".join(f"allreduce,{size},{size},ring,ll,-1,2,16\n" for size in range(100_000))
    line, severity, text = only(rows)
    assert (line, severity) == (1, "warning")
    assert text.startswith("100000 rules: every rank reads them")
