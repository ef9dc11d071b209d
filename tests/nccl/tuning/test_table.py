"""The tuner's table: what a row means, what is refused and why, and that no bytes bring the parser down."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hocket.base.errors import FormatError
from hocket.nccl import ALGORITHMS, COLLECTIVES, PROTOCOLS
from hocket.nccl.tuning.table import CommunicatorRules, TunerTable, read_tuner_table

NO_LIMIT = 2**64 - 1
ANY = (0, 2**31 - 1)
BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE = range(5)
AVAILABLE = np.ones(21, np.float32)


def parse(text: str) -> TunerTable:
    table = TunerTable(text.encode())
    assert table.problems == []
    return table


def refused(text: str) -> tuple[int, str]:
    ((line, problem),) = TunerTable(text.encode()).problems
    return line, problem


def test_rows_without_a_header_mean_what_nvidias_example_promises() -> None:
    table = parse(
        "# collective_type,min_bytes,max_bytes,...\n\n"
        "allreduce,0,65536,tree,simple,2,1,-1,-1,1\r\n"
        "allreduce, 65537 ,1048576,ring,simple,4,4,32,1,0\n"
        'broadcast,"32769",4294967295,"collnet_direct",ll128,-1,-1,-1\n'
    )
    first, second, third = table.rules
    assert [rule.line for rule in table.rules] == [3, 4, 5]
    assert (first.bytes, first.nodes, first.ranks) == ((0, 65536), (1, 1), ANY)
    assert (first.pipe_operations, first.registered, first.channels) == (ANY, (1, 1), 2)
    assert (second.bytes, second.nodes, second.ranks) == ((65537, 1048576), (4, 4), (32, 32))
    assert (second.pipe_operations, second.registered) == ((1, 1), (0, 0))
    # "4294967295 for maximum (covers all sizes)"; -1 channels keeps NCCL's own.
    assert (third.bytes, third.channels, third.registered) == ((32769, NO_LIMIT), 0, ANY)
    names = [(COLLECTIVES[r.function], ALGORITHMS[r.algorithm], PROTOCOLS[r.protocol]) for r in table.rules]
    assert names == [
        ("AllReduce", "Tree", "Simple"),
        ("AllReduce", "Ring", "Simple"),
        ("Broadcast", "CollNetDirect", "LL128"),
    ]


def test_a_header_names_columns_in_any_order() -> None:
    (rule,) = parse(
        "\ufeffalgorithm,collective_type,protocol,max_bytes_per_rank,nRanks,nNvlDomains,minRanksPerNvlDomain,chunk_bytes\n"
        "NVLSTree,All_Gather,,4MiB,16..,2..4,..8,64 KiB,,\n"
    ).rules
    assert (rule.function, rule.algorithm, rule.protocol) == (ALL_GATHER, 5, -1)
    assert rule.bytes == (0, NO_LIMIT)
    assert rule.bytes_per_rank == (0, 4 << 20)
    assert (rule.ranks, rule.domains, rule.least_domain_ranks) == ((16, 2**31 - 1), (2, 4), (0, 8))
    assert (rule.chunk_bytes, rule.channels) == (65536, 0)


def test_the_first_rule_that_can_be_had_counts() -> None:
    table = parse(
        "allreduce,0,1KiB,ring,ll,-1,1,8\n"
        "allreduce,0,1KiB,-1,simple,4,1,8\n"
        "allreduce,0,-1,-1,-1,2,-1,-1,1..2,1\n"
        "allreduce,0,-1,pat,simple,-1,2..,-1\n"
    )
    rules = CommunicatorRules(table, 1, 8)
    costs = np.arange(1, 22, dtype=np.float32)
    assert rules.choose(ALL_REDUCE, 1024, 1, 0, costs) == (0, 1, 0, 0, [])
    costs[3] = -1  # Ring with LL is not available: of Simple the cheapest is Tree's, entry 2.
    assert rules.choose(ALL_REDUCE, 1024, 1, 0, costs) == (1, 0, 2, 4, [0])
    # Above: only with registered buffers and up to two operations, and then NCCL's cheapest, entry 0.
    assert rules.choose(ALL_REDUCE, 1025, 2, 1, costs) == (2, 0, 0, 2, [])
    assert rules.choose(ALL_REDUCE, 1025, 3, 1, costs)[0] == -1
    assert rules.choose(ALL_REDUCE, 1025, 2, 0, costs)[0] == -1
    assert rules.choose(REDUCE, 1024, 1, 0, costs)[0] == -1
    assert CommunicatorRules(table, 2, 8).choose(ALL_REDUCE, 5000, 1, 0, costs)[0] == 3


def test_sizes_per_rank_leave_no_gap() -> None:
    table = parse(
        "collective_type,min_bytes_per_rank,max_bytes_per_rank,algorithm,protocol\n"
        "allgather,0,1023,ring,ll\nallgather,1024,,ring,simple\n"
    )
    rules = CommunicatorRules(table, 2, 7)
    # 7 x 1023 + 6 is the largest size of which a rank has 1023 whole bytes.
    found = [rules.choose(ALL_GATHER, size, 1, 0, AVAILABLE)[0] for size in (0, 7161, 7167, 7168, 2**62)]
    assert found == [0, 0, 0, 1, 1]


def test_domains_count_only_where_nccl_tells_them() -> None:
    table = parse("collective_type,algorithm,protocol,nNvlDomains,maxRanksPerNvlDomain\nallreduce,ring,ll,2..,..72\n")
    chosen = [
        CommunicatorRules(table, 18, 144, domains).choose(ALL_REDUCE, 8, 1, 0, AVAILABLE)[0]
        for domains in (None, (2, 72, 72), (1, 144, 144), (2, 70, 74))
    ]
    assert chosen == [-1, 0, -1, -1]


def test_chunks_are_those_of_the_rule_with_the_algorithm_taken() -> None:
    table = parse(
        "collective_type,max_bytes,algorithm,protocol,chunk_bytes,regBuff\n"
        "allreduce,1MiB,nvls_tree,simple,,1\n"
        "allreduce,1MiB,nvls_tree,simple,32KiB,\n"
        "allreduce,,-1,simple,128KiB,\n"
    )
    rules = CommunicatorRules(table, 2, 16)
    nvls_tree, ring, simple, ll, own = 5, 1, 2, 0, 65536
    assert rules.chunk_bytes(ALL_REDUCE, 1 << 20, nvls_tree, simple, own) == 32768
    assert rules.chunk_bytes(ALL_REDUCE, 1 << 21, ring, simple, own) == 131072
    assert rules.chunk_bytes(ALL_REDUCE, 8, ring, ll, own) == own
    # NVLS' buffers would not hold more than NCCL's own chunk.
    assert rules.chunk_bytes(ALL_REDUCE, 1 << 21, nvls_tree, simple, own) == own


def test_channels_that_nccl_does_not_limit_stay_its_own() -> None:
    table = parse("allreduce,0,-1,nvls,simple,16,-1,-1\nreduce,0,-1,collnet_chain,simple,16,-1,-1\n")
    one, two = (CommunicatorRules(table, nodes, 16) for nodes in (1, 2))
    assert one.choose(ALL_REDUCE, 8, 1, 0, AVAILABLE)[3] == 16
    assert two.choose(ALL_REDUCE, 8, 1, 0, AVAILABLE)[3] == 0
    assert one.choose(REDUCE, 8, 1, 0, AVAILABLE)[3] == 0


def test_constants_lie_where_nccl_has_them() -> None:
    table = parse(
        "constant,baseLatencies,ring,ll,5.2,2..\n"
        "constant,baseLatencies,ring,ll,6.5\n"
        "constant,hwLatencies,net,pat,simple,12.5\n"
        "constant,llMaxBws,volta,1node,1\n"
        "constant,perChMaxNVLSTreeBws,blackwell,4nodes,1e2,1..4,8\n"
    )
    # [7][3] base, [3][7][3] links, then five times [4][3]: 21 + 63 = 84, and the last of all.
    assert [constant.index for constant in table.constants] == [3, 3, 21 + 2 * 21 + 20, 84, 143]
    nccl = np.full(144, -7.0)
    first, second = (table.rewrite_constants(nodes, 8, nccl) for nodes in (1, 8))
    assert (first[3], second[3]) == (6.5, 5.2)
    assert (first[143], second[143]) == (100, -7)
    assert np.count_nonzero(first != -7) == 4


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("allreduce,0,1,ring,ll,-1,1", "7 fields: expected 8 to 10"),
        ("allreduce,0,1,ring,ll,-1,1,8,1,0,7", "11 fields"),
        ("allreduse,0,1,ring,ll,-1,1,8", "unknown collective 'allreduse'; did you mean allreduce?"),
        ("allreduce,0,1,rign,ll,-1,1,8", "unknown algorithm 'rign'; did you mean ring?"),
        ("allreduce,0,1,ring,l128,-1,1,8", "unknown protocol 'l128'; did you mean ll128?"),
        ("allreduce,2,1,ring,ll,-1,1,8", "min_bytes is more than max_bytes"),
        ("allreduce,0,1MB,ring,ll,-1,1,8", "max_bytes '1MB': expected bytes such as"),
        ("allreduce,0,9007199254740992KiB,ring,ll,-1,1,8", "max_bytes"),
        ("allreduce,-2,1,ring,ll,-1,1,8", "min_bytes '-2'"),
        ("allreduce,0,1,ring,ll,65,1,8", "channels '65': expected 1 to 64"),
        ("allreduce,0,1,ring,ll,-1,8..2,8", "nNodes '8..2': expected a number, a range"),
        ("allreduce,0,1,ring,ll,-1,..,8", "nNodes '..'"),
        ("allreduce,0,1,ring,ll,-1,1,8,-1,2", "regBuff"),
        ("constant,baseLatency,ring,ll,5", "unknown constant 'baseLatency'; did you mean baseLatencies?"),
        ("constant,baseLatencies,ring,5", "expected constant,baseLatencies,ALGORITHM,PROTOCOL,VALUE"),
        ("constant,llMaxBws,hopper,8nodes,5", "unknown scale '8nodes'; did you mean 2nodes? (known: 1node"),
        ("constant,baseLatencies,ring,ll,inf", "value 'inf'"),
        ("constant", "unknown constant ''"),
        ("collective_type,algoritm", "unknown column 'algoritm'; did you mean algorithm?"),
        ("collective_type,nNodes,n_nodes", "stands twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(row: str, expected: str) -> None:
    line, problem = refused(f"# first\n{row}\n")
    assert line == 2
    assert expected in problem


def test_chunks_must_be_of_use_and_told() -> None:
    header = "collective_type,algorithm,protocol,chunk_bytes,regBuff\n"
    assert "2KiB" in refused(header + "allreduce,ring,ll,1920,\n")[1]
    assert "without telling" in refused(header + "allreduce,ring,ll,2KiB,1\n")[1]


def test_reading_names_file_and_every_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"\xff\xfe\nallreduce,0,1,ring,ll,-1,1,8\nreduce\n")
    with pytest.raises(FormatError) as raised:
        read_tuner_table(path)
    assert [text.split(": ")[0] for text in str(raised.value).split("\n")] == [f"{path}:1", f"{path}:3"]
    with pytest.raises(FormatError, match="No such file"):
        read_tuner_table(tmp_path / "none.csv")


NAMES = st.sampled_from(["allreduce", "ring", "ll", "simple", "collective_type", "chunk_bytes", "nRanks"])
VALUES = st.sampled_from(["-1", "0", "4294967295", "2..8", "16..", "..", "64KiB", '"', "1e308", "18446744073709551616"])
CONSTANTS = st.sampled_from(["constant", "baseLatencies", "hwLatencies", "llMaxBws", "net", "hopper", "2nodes", "#"])
WORDS = NAMES | VALUES | CONSTANTS
ROWS = st.lists(st.lists(WORDS | st.text(max_size=5), max_size=12).map(",".join), max_size=6).map("\n".join)


@settings(max_examples=300)
@given(text=st.binary(max_size=200) | ROWS.map(str.encode))
@example(b"allreduce,0,1,ring,ll,-1,1," + b"9" * 100_000)
def test_any_bytes_are_rules_or_problems(text: bytes) -> None:
    table = TunerTable(text)
    lines = text.count(b"\n") + 1
    said = [line for line, _ in table.problems]
    assert all(1 <= line <= lines for line in [*said, *(rule.line for rule in table.rules)])
    assert all(problem.isprintable() and len(problem) < 500 for _, problem in table.problems)
    assert len(said) == len(set(said))
    for rule in table.rules:
        assert rule.bytes[0] <= rule.bytes[1]
        assert 0 <= rule.channels <= 64
    chosen = CommunicatorRules(table, 1, 8).choose(ALL_REDUCE, 8, 1, 0, AVAILABLE)[0]
    assert -1 <= chosen < len(table.rules)
