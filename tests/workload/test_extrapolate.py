"""`hocket extrapolate`: a larger job is what the same job had been on more ranks, as far as is said."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import Infeasible, TraceError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder, TraceSet, read_traces, write_traces
from hocket.chakra.validate import validate
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.architecture import to_network
from hocket.workload.collective import Benchmark, CommunicationPattern, generate_collective
from hocket.workload.extrapolate import Growth, extrapolate, spanning_groups
from hocket.workload.plan import HybridPlan
from hocket.workload.presets import PRESETS
from hocket.workload.training import generate_training

EXAMPLE = Path(__file__).parents[2] / "examples" / "traces"
WORLD = frozenset({"0"})


def mesh() -> TraceSet:
    """Two replicas of two tensor-parallel ranks, each with every sort of node that growth touches."""
    traces = []
    for rank in range(4):
        tensor, data = f"tp{rank // 2}", f"dp{rank % 2}"
        builder = TraceBuilder({"rank": rank, "world_size": 4})
        last = builder.add_comp("compute", duration_ns=1000 + rank)
        last = builder.add_collective("partial sums", CollectiveType.ALL_REDUCE, 64, group=tensor, deps=[last])
        root = rank - rank % 2
        last = builder.add_collective("broadcast", CollectiveType.BROADCAST, 8, group=tensor, root=root, deps=[last])
        last = builder.add_collective("gather", CollectiveType.ALL_GATHER, 10, group=data, deps=[last])
        last = builder.add_collective("scatter", CollectiveType.SCATTER, 12, group=data, root=rank % 2, deps=[last])
        peer = rank ^ 1
        ends = {"src": rank, "dst": peer} if rank < peer else {"src": peer, "dst": rank}
        (builder.add_send if rank < peer else builder.add_recv)("message", 5, deps=[last], **ends)
        traces.append(builder.build())
    return TraceSet(tuple(traces), {"tp0": (0, 1), "tp1": (2, 3), "dp0": (0, 2), "dp1": (1, 3)})


def described(traces: TraceSet) -> list[list[tuple[object, ...]]]:
    """Every node of every rank, with the members of its group in place of the name."""

    def node(trace: Trace, row: int) -> tuple[object, ...]:
        index = trace.process_group[row]
        group = None
        if trace.type[row] == NodeType.COMM_COLL:
            group = traces.members(trace.strings[index] if index >= 0 else "")
        columns = ("id", "type", "duration_ns", "comm_type", "comm_bytes", "comm_src", "comm_dst", "root", "num_ops")
        return (trace.strings[trace.name[row]], group, *(int(getattr(trace, column)[row]) for column in columns))

    return [[node(trace, row) for row in range(len(trace))] for trace in traces.traces]


def test_eight_times_the_replicas_of_a_real_job(tmp_path: Path) -> None:
    done = hocket("extrapolate", EXAMPLE, "--data-parallel", "8x", "-o", tmp_path / "larger")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == [
        "4 ranks become 32",
        "8 copies, spanned by group '0' from 4 to 32 ranks",
        "  48 x ALL_REDUCE of the same input",
    ]
    assert hocket("trace", "validate", tmp_path / "larger").returncode == 0
    small, larger = read_traces(EXAMPLE), read_traces(tmp_path / "larger")
    for rank, trace in enumerate(larger.traces):
        assert (trace.metadata["rank"], trace.metadata["world_size"]) == (rank, 32)
        for column in ("duration_ns", "start_us", "comm_bytes", "data_deps"):
            assert np.array_equal(getattr(trace, column), getattr(small.traces[rank % 4], column))
    out = tmp_path / "out.json"
    assert hocket("simulate", tmp_path / "larger", "--topology", "dgx-h100:nodes=4", "--json", out).returncode == 0
    # Each copy computes as long as the slowest recorded rank did, and cannot be done before.
    slowest = max(int(trace.duration_ns[trace.type == NodeType.COMP].sum()) for trace in small.traces)
    assert json.loads(out.read_text())["time_ps"] >= 1000 * slowest


def test_groups_that_grow_and_groups_that_stay(tmp_path: Path) -> None:
    write_traces(tmp_path / "small", mesh())
    sizes = ["--group", "dp0=6", "--group", "dp1=6"]
    done = hocket("extrapolate", tmp_path / "small", *sizes, "-o", tmp_path / "larger")
    assert done.returncode == 0, done.stderr
    assert "  4 x ALL_GATHER rounded up, as 3 does not divide its input" in done.stdout
    larger = read_traces(tmp_path / "larger")
    assert not validate(larger)
    assert larger.groups["dp0"] == (0, 2, 4, 6, 8, 10)
    assert larger.groups["dp1"] == (1, 3, 5, 7, 9, 11)
    assert {name: larger.groups[name] for name in ("tp0.0", "tp1.0", "tp0.2", "tp1.2")} == {
        "tp0.0": (0, 1),
        "tp1.0": (2, 3),
        "tp0.2": (8, 9),
        "tp1.2": (10, 11),
    }
    # Rank 3 of copy 2 is rank 11. Its tensor-parallel root 2 is 10 now, its data-parallel root 1 stays.
    assert described(larger)[11] == [
        ("compute", None, 0, NodeType.COMP, 1003, -1, -1, -1, -1, -1, -1),
        ("partial sums", (10, 11), 1, NodeType.COMM_COLL, 0, CollectiveType.ALL_REDUCE, 64, -1, -1, -1, -1),
        ("broadcast", (10, 11), 2, NodeType.COMM_COLL, 0, CollectiveType.BROADCAST, 8, -1, -1, 10, -1),
        # 10 bytes of each of 2 ranks are 4 bytes (3.33, rounded up) of each of 6.
        ("gather", larger.groups["dp1"], 3, NodeType.COMM_COLL, 0, CollectiveType.ALL_GATHER, 4, -1, -1, -1, -1),
        ("scatter", larger.groups["dp1"], 4, NodeType.COMM_COLL, 0, CollectiveType.SCATTER, 36, -1, -1, 1, -1),
        ("message", None, 5, NodeType.COMM_RECV, 0, -1, 5, 10, 11, -1, -1),
    ]


def test_a_shard_that_is_all_reduced_elsewhere_shrinks_with_its_group() -> None:
    builders = [TraceBuilder() for _ in range(4)]
    for rank, builder in enumerate(builders):
        builder.add_collective("shards", CollectiveType.REDUCE_SCATTER, 100, group=f"shard{rank // 2}")
        builder.add_collective("sums", CollectiveType.ALL_REDUCE, 50, group=f"replicate{rank % 2}")
        builder.add_collective("norm", CollectiveType.ALL_REDUCE, 4, group=f"replicate{rank % 2}")
    groups = {"shard0": (0, 1), "shard1": (2, 3), "replicate0": (0, 2), "replicate1": (1, 3)}
    traces = TraceSet(tuple(builder.build() for builder in builders), groups)
    # Of 100 bytes a shard of 2 ranks is 50 bytes, of 10 ranks 10; more replicas change nothing.
    larger, notes = extrapolate(traces, [Growth(frozenset({"shard0", "shard1"}), 5)])
    assert larger.traces[19].comm_bytes.tolist() == [100, 10, 4]
    assert "  4 x ALL_REDUCE of 1/5 the input: it is of a reduce-scattered shard, which shrinks" in notes
    larger, _ = extrapolate(traces, [Growth(frozenset({"replicate0", "replicate1"}), 5)])
    assert larger.traces[19].comm_bytes.tolist() == [100, 50, 4]


def test_two_dimensions_grow(tmp_path: Path) -> None:
    growths = [Growth(frozenset({"dp0", "dp1"}), 2), Growth(frozenset({"tp0", "tp1"}), 3)]
    larger, _ = extrapolate(mesh(), growths)
    assert larger.num_ranks == 24
    assert not validate(larger)
    assert sorted(map(len, larger.groups.values())) == [4] * 6 + [6] * 4
    # Tensor-parallel ranks 0 and 1 of data-parallel copy 0, and of tensor-parallel copies 1 and 2 (8 ranks further on).
    assert (0, 1, 8, 9, 16, 17) in larger.groups.values()


@given(st.sampled_from([*CommunicationPattern]), st.sampled_from([2, 4]), st.integers(1, 4), st.integers(1, 3))
def test_collectives_grow_into_what_would_be_generated(
    pattern: CommunicationPattern, ranks: int, factor: int, unit: int
) -> None:
    if pattern in (CommunicationPattern.GATHER, CommunicationPattern.SCATTER, CommunicationPattern.RING_EXCHANGE):
        return  # a rank's part stays the same, so the whole is larger; messages stay within a copy
    size = 48 * unit
    larger, _ = extrapolate(generate_collective(Benchmark(pattern, ranks, size, repeat=2)), [Growth(WORLD, factor)])
    expected = generate_collective(Benchmark(pattern, ranks * factor, size, repeat=2))
    assert described(larger) == described(expected)


@pytest.mark.parametrize("name", ["resnet50", "gnmt", "transformer"])
def test_networks_grow_into_what_would_be_generated(name: str) -> None:
    for small, large in ((HybridPlan(2), HybridPlan(6)), (HybridPlan(4, 2), HybridPlan(12, 2))):
        network = to_network(PRESETS[name](), small, batch=1)
        traces = generate_training(network, small, accelerator=ACCELERATORS["h100"])
        spanning = frozenset(
            name for name, members in traces.groups.items() if members in {(0, 2), (1, 3)} and small.model_size > 1
        )
        larger, _ = extrapolate(traces, [Growth(spanning or WORLD, 3)])
        expected = generate_training(
            to_network(PRESETS[name](), large, batch=1), large, accelerator=ACCELERATORS["h100"]
        )
        assert described(larger) == described(expected)


@given(st.integers(1, 10**12), st.integers(1, 9), st.integers(1, 9))
def test_growing_twice_is_growing_once(size: int, first: int, second: int) -> None:
    gathering = TraceBuilder({"world_size": 2})
    gathering.add_collective("all_gather", CollectiveType.ALL_GATHER, size)
    traces = TraceSet((gathering.build(),) * 2)
    twice, _ = extrapolate(extrapolate(traces, [Growth(WORLD, first)])[0], [Growth(WORLD, second)])
    once, _ = extrapolate(traces, [Growth(WORLD, first * second)])
    assert described(twice) == described(once)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("prefix", "sizes"),
    [
        ("from_interposed/ddp_tf", ["--data-parallel", "4x"]),
        ("from_interposed/fsdp2_tf", ["--ranks", "16"]),
        ("from_interposed/tp_sp_tf", ["--group", "0=16"]),
        ("astra_ok/hsdp_tf", ["--group", "3=8", "--group", "14=8"]),
        ("astra_ok/hsdp_tf", ["--group", "3=4", "--group", "14=4", "--group", "2=4", "--group", "24=4"]),
    ],
)
def test_traces_of_pytorch_grow_and_simulate(prefix: str, sizes: list[str], shared: Path, tmp_path: Path) -> None:
    traces = shared / "chakra" / prefix
    groups = ["--groups", shared / "chakra" / "astra_ok" / "cg.json"] if "hsdp" in prefix else []
    done = hocket("extrapolate", traces, *groups, *sizes, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "4 ranks become 16" in done.stdout
    assert not validate(read_traces(tmp_path))
    assert hocket("simulate", tmp_path, "--topology", "dgx-h100:nodes=2").returncode == 0


@pytest.mark.parametrize(
    ("sizes", "code", "message"),
    [
        ([], 2, "say how large"),
        (["--data-parallel", "2x", "--ranks", "8"], 2, "say how large"),
        (["--data-parallel", "many"], 2, "a whole number of times"),
        (["--ranks", "6"], 2, "a whole number of times the present size, 4"),
        (["--group", "dp2=4"], 2, "did you mean 'dp1'?"),
        (["--group", "dp0=3"], 2, "a whole number of times the present size, 2"),
        (["--data-parallel", "2x"], 3, "--group dp0=64; there are 'dp0' of ranks [0, 2]"),
        (["--group", "dp0=4"], 3, "rank 1 is in 0 of the groups that span the copies (dp0)"),
        (
            ["--group", "dp0=4", "--group", "dp1=4", "--group", "tp0=4"],
            3,
            "rank 2 is in 0 of the groups that span the copies (tp0.0, tp0.1)",
        ),
        (["--group", "0=8"], 3, "group '0' has no collectives"),
    ],
)
def test_what_is_refused(sizes: list[str], code: int, message: str, tmp_path: Path) -> None:
    write_traces(tmp_path / "small", mesh())
    done = hocket("extrapolate", tmp_path / "small", *sizes, "-o", tmp_path / "larger")
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "larger").exists()


def test_traces_that_are_not_valid_are_refused_by_node(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.add_collective("all_reduce", CollectiveType.ALL_REDUCE, -1)
    write_traces(tmp_path / "small", TraceSet((builder.build(),) * 2))
    done = hocket("extrapolate", tmp_path / "small", "--data-parallel", "2x", "-o", tmp_path / "larger")
    assert done.returncode == 3
    assert "trace.0.et: node 0 'all_reduce': comm_size: missing" in done.stderr


def test_uneven_cuts_are_refused_by_node() -> None:
    traces = generate_collective(Benchmark(CommunicationPattern.ALL_TO_ALL, 2, 8, splits=(3, 1)))
    with pytest.raises(TraceError, match="rank 0: node 0 'all_to_all': in_split_size: "):
        extrapolate(traces, [Growth(WORLD, 2)])


def test_ranks_without_collectives_are_refused() -> None:
    traces = generate_collective(Benchmark(CommunicationPattern.RING_EXCHANGE, 4, 1))
    with pytest.raises(TraceError, match="nothing to do with each other"):
        spanning_groups(traces)


def test_groups_that_are_not_known_are_named(tmp_path: Path) -> None:
    traces = mesh()
    write_traces(tmp_path / "job", traces)
    (tmp_path / "job" / "comm_groups.json").unlink()
    done = hocket("extrapolate", tmp_path / "job", "--data-parallel", "2x", "-o", tmp_path / "larger")
    assert done.returncode == 3
    assert "group 'tp0' is unknown; it must be in the comm-group JSON" in done.stderr
    assert "Traceback" not in done.stderr


def test_more_ranks_than_a_job_can_have_are_refused() -> None:
    traces = generate_collective(Benchmark(CommunicationPattern.ALL_REDUCE, 4, 8))
    with pytest.raises(Infeasible, match="4000000 ranks are too many: a job has at most 1048576"):
        extrapolate(traces, [Growth(WORLD, 1000), Growth(WORLD, 1000)])


@pytest.mark.parametrize("prefix", ["", "a/b", ".hidden", ".."])
def test_a_prefix_that_begins_no_file_name_is_a_usage_error(tmp_path: Path, prefix: str) -> None:
    done = hocket("extrapolate", EXAMPLE, "--ranks", "8", "-o", tmp_path / "larger", "--prefix", prefix)
    assert done.returncode == 2
    assert "does not begin a file name" in done.stderr
    assert not list(tmp_path.iterdir())
