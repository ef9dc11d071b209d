"""Every kind of fault is found, and named by file, node and field; sound traces have no findings."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.chakra import CollectiveType, NodeType, TraceBuilder, TraceSet, read_traces
from hocket.chakra.trace import Trace
from hocket.chakra.validate import TraceFinding, validate, validate_trace

Build = Callable[[TraceBuilder], object]


def one(build: Build) -> Trace:
    builder = TraceBuilder()
    build(builder)
    return builder.build()


def job(*ranks: Build, groups: dict[str, tuple[int, ...]] | None = None) -> TraceSet:
    return TraceSet(tuple(map(one, ranks)), groups or {})


def the_finding(findings: list[TraceFinding]) -> TraceFinding:
    assert len(findings) == 1, list(map(str, findings))
    return findings[0]


def test_a_dangling_dependency() -> None:
    finding = the_finding(validate_trace(one(lambda b: b.add_comp("late", ctrl_deps=[7])), "a.0.et"))
    found = "error: a.0.et: node 0 'late': ctrl_deps: depends on node 7, which is not in the file"
    assert str(finding) == f"{found} (convert --profile astra-sim leaves such out)"


def test_a_cycle_is_printed() -> None:
    def build(builder: TraceBuilder) -> None:
        builder.add_comp("before")
        builder.add_comp("a", deps=[3, 0])
        builder.add_comp("b", ctrl_deps=[1])
        builder.add_comp("c", deps=[2])

    finding = the_finding(validate_trace(one(build), "a.0.et"))
    assert finding.message == "depends on itself: 1 -> 3 -> 2 -> 1"


def test_all_cycles_are_found_and_a_long_chain_is_none() -> None:
    def build(builder: TraceBuilder) -> None:
        builder.add_comp("self", deps=[0])
        builder.add_comp("a", deps=[2])
        builder.add_comp("b", deps=[1])
        for node in range(3, 50_000):
            builder.add_comp("chain", deps=[node - 1, node + 1] if node % 2 == 0 and node < 5 else [node - 1])

    messages = [finding.message for finding in validate_trace(one(build), "a.0.et")]
    assert messages == ["depends on itself: 0 -> 0", "depends on itself: 1 -> 2 -> 1", "depends on itself: 4 -> 5 -> 4"]


def test_a_duplicate_id() -> None:
    trace = one(lambda b: [b.add_comp("a"), b.add_comp("b")])
    trace.id[1] = 0
    finding = the_finding(validate_trace(trace, "a.0.et"))
    assert (finding.node_name, finding.field) == ("b", "id")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (NodeType.COMM_COLL, ["comm_type", "comm_size"]),
        (NodeType.COMM_SEND, ["comm_src", "comm_dst", "comm_tag", "comm_size"]),
        (NodeType.COMM_RECV, ["comm_src", "comm_dst", "comm_tag", "comm_size"]),
        (NodeType.INVALID, ["type"]),
        (NodeType.COMP, []),
    ],
)
def test_missing_attributes(kind: NodeType, fields: list[str]) -> None:
    findings = validate_trace(one(lambda b: b.add(kind, "node")), "a.0.et")
    assert [finding.field for finding in findings] == fields


def test_negative_sizes_and_unknown_collectives() -> None:
    def build(builder: TraceBuilder) -> None:
        builder.add_collective("a", CollectiveType.ALL_REDUCE, -8)
        builder.add(NodeType.COMM_COLL, "b", comm_type=10, comm_bytes=8)
        builder.add_comp("c", num_ops=-2, tensor_bytes=-3)
        builder.add_comp("d", duration_ns=-1)

    fields = [(f.node_name, f.field) for f in validate_trace(one(build), "a.0.et")]
    assert fields == [
        ("a", "comm_size"),
        ("b", "comm_type"),
        ("c", "num_ops"),
        ("c", "tensor_size"),
        ("d", "duration_ns"),
    ]


def collective(kind: CollectiveType, size: int = 64, group: str = "", root: int = -1) -> Build:
    return lambda builder: builder.add_collective(kind.name.lower(), kind, size, group=group, root=root)


def test_ranks_that_agree() -> None:
    both = [collective(CollectiveType.ALL_REDUCE), collective(CollectiveType.ALL_REDUCE)]
    assert validate(job(*both)) == []
    # Uneven all_to_all is what mixture-of-experts training does.
    assert validate(job(collective(CollectiveType.ALL_TO_ALL, 64), collective(CollectiveType.ALL_TO_ALL, 96))) == []
    # "" and "0" are the same group: all ranks.
    assert validate(job(collective(CollectiveType.BARRIER, 0, "0"), collective(CollectiveType.BARRIER, 0))) == []


@pytest.mark.parametrize(
    ("other", "field", "message"),
    [
        (collective(CollectiveType.ALL_GATHER), "comm_type", "collective 0 of group '0' is ALL_GATHER here"),
        (collective(CollectiveType.BROADCAST, 96, root=0), "comm_size", "BROADCAST 0 of group '0' has 96 here and 64"),
        (collective(CollectiveType.BROADCAST, 64, root=1), "comm_root", "has 1 here and 0 on rank 0"),
        (lambda builder: builder.add_comp("none"), "comm_type", "rank 1 joins 0 collectives .*, rank 0 joins 1"),
    ],
)
def test_ranks_that_disagree(other: Build, field: str, message: str) -> None:
    finding = the_finding(validate(job(collective(CollectiveType.BROADCAST, root=0), other)))
    assert (finding.source, finding.field) == ("rank 1", field)
    assert re.search(message, finding.message)


def test_groups() -> None:
    member = collective(CollectiveType.ALL_REDUCE, group="1")
    assert validate(job(member, member, groups={"1": (1, 0)})) == []
    unknown = validate(job(member, member))
    assert [finding.field for finding in unknown] == ["pg_name", "pg_name"]
    assert "group '1' is unknown" in unknown[0].message
    outsider = the_finding(validate(job(member, member, groups={"1": (1,)})))
    assert (outsider.source, outsider.message) == ("rank 0", "rank 0 is not in group '1' of ranks [1]")


BOTH = ": of each both are needed, as a part of a job has them when it is cut by --steps"


def test_messages() -> None:
    def send(size: int = 8, src: int = 0, dst: int = 1, tag: int = 0) -> Build:
        return lambda builder: builder.add_send("send", size, src=src, dst=dst, tag=tag)

    def receive(size: int = 8, src: int = 0, dst: int = 1, tag: int = 0) -> Build:
        return lambda builder: builder.add_recv("recv", size, src=src, dst=dst, tag=tag)

    assert validate(job(send(), receive())) == []
    unmatched = validate(job(send(tag=1), receive(tag=2)))
    assert [finding.message for finding in unmatched] == [
        f"1 sends and 0 receives from rank 0 to rank 1 with tag 1{BOTH}",
        f"0 sends and 1 receives from rank 0 to rank 1 with tag 2{BOTH}",
    ]
    assert the_finding(validate(job(send(8), receive(9)))).field == "comm_size"
    fields = [finding.field for finding in validate(job(send(src=1, dst=2), lambda b: b.add_comp("none")))]
    assert fields == ["comm_src", "comm_dst", "comm_tag"]


@pytest.mark.shared
def test_traces_that_astra_sim_ran_are_sound(shared: Path) -> None:
    folder = shared / "chakra" / "astra_ok"
    for prefix in ("ddp_tf", "fsdp2_tf", "hsdp_tf", "pp_sched", "tp_sp_tf"):
        assert validate(read_traces(folder / prefix, folder / "cg.json")) == []
