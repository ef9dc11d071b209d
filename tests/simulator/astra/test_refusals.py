"""Where ASTRA-sim crashes, hangs, or is silent, there is an error that names the place."""

import json
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import in_process
import pytest
from astra_inputs import RING4, SYSTEM, Folder, collective
from hypothesis import given
from hypothesis import strategies as st

from hocket.base.errors import HocketError
from hocket.chakra import CollectiveType, NodeType, Trace, TraceBuilder
from hocket.simulator.astra import read_setup

AR = CollectiveType.ALL_REDUCE
RING6 = RING4.replace("4", "6")


def with_implementation(name: str, *algorithms: str) -> dict[str, object]:
    return SYSTEM | {f"{name}-implementation": list(algorithms)}


def without(key: str) -> dict[str, object]:
    return {name: value for name, value in SYSTEM.items() if name != key}


@pytest.mark.parametrize(
    ("system", "message"),
    [
        (SYSTEM | {"endpoint-dely": 10}, "system.json: unknown key 'endpoint-dely'; did you mean 'endpoint-delay'?"),
        (without("preferred-dataset-splits"), "preferred-dataset-splits is missing"),
        (without("all-reduce-implementation"), "all-reduce-implementation is missing"),
        (with_implementation("all-reduce", "rings"), "unknown algorithm 'rings'; did you mean 'ring'?"),
        (with_implementation("all-reduce", "ring", "ring"), "2 algorithms for 1 dimensions"),
        (SYSTEM | {"model-shared-bus": 1}, "model-shared-bus: the memory bus model"),
        (SYSTEM | {"roofline-enabled": 1}, "roofline-enabled needs local-mem-bw"),
        (SYSTEM | {"scheduling-policy": "lifo"}, "scheduling-policy: Invalid enum value 'lifo'"),
        (SYSTEM | {"all-reduce-implementation-custom": ["a", "b"]}, "expected one path prefix, 2 given"),
        (SYSTEM | {"all-reduce-implementation-custom": ["a"]}, "a: no trace here"),
        (SYSTEM | {"track-local-mem": 1}, "attribute inputs is missing, which track-local-mem needs"),
        (SYSTEM | {"endpoint-delay": 0}, "aborts when something lasts 0 ns at time 0"),
    ],
)
def test_systems(folder: Folder, system: dict[str, object], message: str) -> None:
    folder.write(system=system)
    with pytest.raises(HocketError) as error:
        folder.simulate((collective(AR, 1 << 20),) * 4)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("network", "backend", "message"),
    [
        (RING4.replace("4", "1"), "analytical", "network.yml:2: a dimension needs at least 2 ranks"),
        (
            RING4.replace("Ring", "Mesh"),
            "analytical",
            "'Mesh' is no kind of dimension; known: FullyConnected, Ring, Switch",
        ),
        (RING4.replace("4", "2"), "congestion", "congestion-aware Ring needs 3 ranks"),
        (RING6, "analytical", "4 ranks have traces, the network has 6"),
        (
            "topology: [Ring, Ring]\nnpus_count: [2, 2]\nbandwidth: [1, 1]\nlatency: [1, 1]\n",
            "congestion",
            "congestion-aware backend has one dimension, 2 given",
        ),
    ],
)
def test_networks(folder: Folder, network: str, backend: str, message: str) -> None:
    folder.write(network)
    with pytest.raises(HocketError) as error:
        folder.simulate((collective(AR, 1 << 20),) * 4, backend=backend)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "algorithm", "ranks", "message"),
    [
        (AR, "halvingDoubling", 6, "halvingDoubling needs a power of two, not 6 ranks"),
        (AR, "doubleBinaryTree", 6, "doubleBinaryTree needs a power of two, not 6 ranks"),
        (CollectiveType.ALL_TO_ALL, "halvingDoubling", 4, "no algorithm for all_to_all"),
        (CollectiveType.REDUCE, "ring", 4, "ASTRA-sim does not simulate this collective"),
        (CollectiveType.BARRIER, "ring", 4, "ASTRA-sim does not simulate this collective"),
    ],
)
def test_collectives(folder: Folder, kind: CollectiveType, algorithm: str, ranks: int, message: str) -> None:
    names = ("all-reduce", "all-to-all")
    folder.write(RING4.replace("4", str(ranks)), SYSTEM | {f"{name}-implementation": [algorithm] for name in names})
    with pytest.raises(HocketError) as error:
        folder.simulate((collective(kind, 1 << 20),) * ranks)
    assert message in str(error.value)
    assert "trace.0.et: node 0 'it'" in str(error.value)


def test_a_small_all_gather_would_never_end(folder: Folder) -> None:
    with pytest.raises(HocketError, match="all_gather of fewer bytes than preferred-dataset-splits"):
        folder.simulate((collective(CollectiveType.ALL_GATHER, 3),) * 4)


@pytest.mark.parametrize(
    ("group", "groups", "message"),
    [
        ("5", {"1": (0, 1, 2, 3)}, "group 5 is in no communicator group"),
        ("data", {"data": (0, 1, 2, 3)}, "names groups by positive integers"),
        ("00", {"00": (0, 1, 2, 3)}, "names groups by positive integers"),
        ("1", {"1": (0, 1, 2)}, "rank 3 is not in its group 1"),
        ("1", {"1": (0, 1, 2, 9)}, "rank 9 is not on the network"),
    ],
)
def test_groups(folder: Folder, group: str, groups: dict[str, tuple[int, ...]], message: str) -> None:
    with pytest.raises(HocketError) as error:
        folder.simulate((collective(AR, 1 << 20, group=group),) * 4, groups=groups)
    assert message in str(error.value)


def test_a_tree_in_a_group_is_refused(folder: Folder) -> None:
    folder.write(system=with_implementation("all-reduce", "doubleBinaryTree"))
    with pytest.raises(HocketError, match="doubleBinaryTree does not run in a communicator group"):
        folder.simulate(
            tuple(collective(AR, 1 << 20, group=str(1 + rank // 2)) for rank in range(4)),
            groups={"1": (0, 1), "2": (2, 3)},
        )


def node(kind: NodeType, **attributes: Any) -> Trace:
    builder = TraceBuilder()
    builder.add(kind, "it", **attributes)
    return builder.build()


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (node(NodeType.METADATA), "ASTRA-sim stops at METADATA nodes"),
        (node(NodeType.COMM_SEND, comm_bytes=8, comm_src=0, comm_dst=1), "comm_tag is missing"),
        (node(NodeType.COMM_SEND, comm_bytes=8, comm_src=0, comm_dst=9, comm_tag=0), "comm_dst is missing or no rank"),
        (node(NodeType.COMM_RECV, comm_bytes=8, comm_src=0, comm_dst=0, comm_tag=0), "a rank cannot send to itself"),
        (node(NodeType.COMM_SEND, comm_bytes=0, comm_src=0, comm_dst=1, comm_tag=0), "comm_size is missing"),
        (node(NodeType.COMP, deps=[7]), "depends on node 7, which is not in the file"),
        (node(NodeType.MEM_LOAD, tensor_bytes=8), "remote memory is accessed, and there is none; give --memory"),
        (node(NodeType.COMM_COLL, comm_type=0, comm_bytes=8, involved_dims=1), "involved_dim has fewer values"),
    ],
)
def test_nodes(folder: Folder, trace: Trace, message: str) -> None:
    with pytest.raises(HocketError) as error:
        folder.simulate((trace, *[node(NodeType.COMP)] * 3))
    assert message in str(error.value)


def test_roofline_needs_its_attributes(folder: Folder) -> None:
    folder.write(system=SYSTEM | {"roofline-enabled": 1, "peak-perf": 1})
    with pytest.raises(HocketError, match="tensor_size is missing; roofline-enabled needs it"):
        folder.simulate((node(NodeType.COMP, num_ops=5),) * 4)


def test_statistics_that_abort_there_are_an_error_here(folder: Folder) -> None:
    builder = TraceBuilder()
    host = builder.add_comp("host", duration_ns=1_000, is_cpu_op=True)
    builder.add_send("s", 8, src=0, dst=1, deps=[host])
    receiver = TraceBuilder()
    receiver.add_recv("r", 8, src=0, dst=1)
    with pytest.raises(HocketError, match="aborts in its statistics"):
        folder.simulate((builder.build(), receiver.build(), node(NodeType.COMP), node(NodeType.COMP)))


def hocket(folder: Path, *arguments: object) -> CompletedProcess[str]:
    command = ["simulate", folder / "t" / "trace", "--compat", "astra-sim", "--network", folder / "network.yml"]
    return in_process.hocket(*command, "--system", folder / "system.json", *arguments)


def test_a_rank_without_the_collective_is_a_deadlock(folder: Folder) -> None:
    idle = TraceBuilder()
    idle.add_comp("alone", duration_ns=1_000)
    folder.write_traces((collective(AR, 1 << 20),) * 3 + (idle.build(),))
    out = folder.path / "out.json"
    done = hocket(folder.path, "--json", out)
    assert done.returncode == 5, done.stderr
    assert "3 of 4 ranks never finish" in done.stderr
    assert "node 0 'it' waits for 65536 bytes from rank 3" in " ".join(done.stderr.split())
    assert "which finished at 1000 ns without sending them" in " ".join(done.stderr.split())
    assert not out.exists()


def test_different_sizes_are_a_deadlock_with_a_cycle(folder: Folder) -> None:
    folder.write_traces((collective(AR, 1 << 20),) * 3 + (collective(AR, 1 << 21),))
    done = hocket(folder.path)
    assert done.returncode == 5
    assert "4 of 4 ranks never finish" in done.stderr
    assert "a cycle through rank" in " ".join(done.stderr.split())


def test_a_dependency_on_itself_is_a_deadlock(folder: Folder) -> None:
    folder.write_traces((node(NodeType.COMP, deps=[0]),) * 4)
    done = hocket(folder.path)
    assert done.returncode == 5
    assert "node 0 'it' never starts: it depends on itself" in " ".join(done.stderr.split())


def test_what_a_skipped_node_frees_waits_for_another_end(folder: Folder) -> None:
    builder = TraceBuilder()
    skipped = builder.add(NodeType.INVALID, "nothing")
    builder.add_comp("after", deps=[skipped])
    folder.write_traces((builder.build(),) * 4)
    done = hocket(folder.path)
    assert done.returncode == 5
    assert "node 1 'after' never starts: a skipped node freed it" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--compat", "other"), "--compat other: no such choice; known: astra-sim"),
        (("--model", "flow"), "--compat astra-sim --model flow: no such choice; known: analytical, congestion"),
        (("--num-queues-per-dim", 0), "--num-queues-per-dim"),
        (("--injection-scale", "nan"), "--injection-scale"),
        (("--topology", "ring:4", "--chunks", 2), "drop --chunks, --topology"),
        (("--compute-scale", "1/2"), "drop --compute-scale"),
    ],
)
def test_usage(folder: Folder, options: tuple[object, ...], message: str) -> None:
    folder.write_traces((collective(AR, 1 << 20),) * 4)
    done = hocket(folder.path, *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_its_options_alone_are_a_usage_error() -> None:
    command = ["simulate", "all_reduce", "--size", "1MiB", "--topology", "ring:4"]
    done = in_process.hocket(*command, "--num-queues-per-dim", "2")
    assert done.returncode == 2
    assert "--num-queues-per-dim" in done.stderr


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*SYSTEM, "L", "roofline-enabled", "x"]), json_values), st.binary(max_size=40))
def test_any_files_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, changes: Any, junk: bytes) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "network.yml").write_text(RING4)
    (folder / "system.json").write_text(json.dumps(SYSTEM | changes))
    (folder / "junk").write_bytes(junk)
    for files in (("network.yml", "system.json"), ("junk", "system.json"), ("network.yml", "junk")):
        try:
            read_setup(*(folder / file for file in files))
        except HocketError:
            continue
    with suppress(HocketError):
        read_setup(folder / "network.yml", folder / "system.json", folder / "junk")
