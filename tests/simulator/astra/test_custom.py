"""Collectives given as graphs, for a kind and for a node."""

from pathlib import Path

import pytest
from astra_inputs import SYSTEM, Folder, collective

from hocket.base.errors import HocketError
from hocket.chakra import CollectiveType, NodeType, TraceBuilder, TraceSet, write_traces

ONE_CHUNK = SYSTEM | {"preferred-dataset-splits": 1}
STEP = 500 + 1220  # a message of 65536 B


def write_exchange(folder: Path, name: str, ranks: int, steps: int) -> None:
    """Every rank sends to the next and reduces what it received for 2 us, `steps` times."""
    builders = [TraceBuilder() for _ in range(ranks)]
    for rank, builder in enumerate(builders):
        deps: list[int] = []
        for tag in range(steps):
            builder.add_send("s", 65536, src=rank, dst=(rank + 1) % ranks, tag=tag, deps=deps)
            got = builder.add_recv("r", 65536, src=(rank - 1) % ranks, dst=rank, tag=tag, deps=deps)
            deps = [builder.add_comp("reduce", duration_ns=2_000, deps=[got])]
    folder.mkdir(exist_ok=True)
    write_traces(folder, TraceSet(tuple(builder.build() for builder in builders)))
    for file in folder.glob("trace.*"):
        file.rename(folder / file.name.replace("trace", name))


def test_for_a_kind_whatever_the_size(folder: Folder) -> None:
    write_exchange(folder.path / "custom", "exchange", 4, steps=3)
    folder.write(system=ONE_CHUNK | {"all-reduce-implementation-custom": ["custom/exchange"]})
    for size in (8, 1 << 30):
        prediction = folder.simulate((collective(CollectiveType.ALL_REDUCE, size),) * 4)
        assert prediction.finish_ns.tolist() == [3 * (STEP + 2_000)] * 4


def test_for_a_node(folder: Folder) -> None:
    write_exchange(folder.path / "custom", "exchange", 4, steps=1)
    (folder.path / "nodes.yml").write_text("1: custom/exchange\n")
    folder.write(system=ONE_CHUNK | {"per-node-custom-implementation": "nodes.yml", "local-mem-bw": 0})
    builder = TraceBuilder()
    first = builder.add_collective("native", CollectiveType.ALL_GATHER, 65536)
    builder.add_collective("custom", CollectiveType.ALL_GATHER, 65536, deps=[first])
    prediction = folder.simulate((builder.build(),) * 4)
    assert prediction.finish_ns.tolist() == [10 + 3 * (STEP + 10) + STEP + 2_000] * 4


def test_in_a_group_by_position(folder: Folder) -> None:
    write_exchange(folder.path / "custom", "exchange", 2, steps=1)
    folder.write(system=ONE_CHUNK | {"all-reduce-implementation-custom": ["custom/exchange"]})
    traces = tuple(collective(CollectiveType.ALL_REDUCE, 8, group=str(1 + rank // 2)) for rank in range(4))
    prediction = folder.simulate(traces, groups={"1": (0, 1), "2": (2, 3)})
    assert prediction.finish_ns.tolist() == [STEP + 2_000] * 4


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ({"preferred-dataset-splits": 4}, "preferred-dataset-splits must be 1 with custom collectives"),
        ({"all-reduce-implementation-custom": ["custom/other"]}, "is for 3 ranks, the collective has 4"),
        ({"all-reduce-implementation-custom": ["custom/memory"]}, "COMM_SEND, COMM_RECV and COMP nodes only"),
        ({"per-node-custom-implementation": "nodes.yml"}, "nodes.yml: expected node ids with a path prefix each"),
        ({"per-node-custom-implementation": "absent.yml"}, "absent.yml: No such file"),
    ],
)
def test_refusals(folder: Folder, system: dict[str, object], message: str) -> None:
    custom = folder.path / "custom"
    write_exchange(custom, "exchange", 4, steps=1)
    write_exchange(custom, "other", 3, steps=1)
    for rank in range(4):
        builder = TraceBuilder()
        builder.add(NodeType.MEM_LOAD, "m", tensor_bytes=8)
        write_traces(folder.path / "m", TraceSet((builder.build(),)))
        (folder.path / "m" / "trace.0.et").rename(custom / f"memory.{rank}.et")
    (folder.path / "nodes.yml").write_text("first: custom/exchange\n")
    folder.write(system=ONE_CHUNK | {"all-reduce-implementation-custom": ["custom/exchange"]} | system)
    with pytest.raises(HocketError) as error:
        folder.simulate((collective(CollectiveType.ALL_REDUCE, 8),) * 4)
    assert message in str(error.value)
