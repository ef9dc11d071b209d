"""The channels that the model finds, as NCCL's graph file."""

from pathlib import Path

from in_process import hocket

from hocket.nccl import NcclModel, model_graphs
from hocket.topology.formats.nccl.graph import GraphId, read_nccl_graphs
from hocket.topology.machines.loading import load_machine


def test_the_command_writes_what_the_model_found(tmp_path: Path) -> None:
    output = tmp_path / "used.xml"
    done = hocket(
        "nccl", "choose", "--topology", "dgx-h100", "--nodes", "2", "-c", "all_reduce", "--graph-dump", output
    )
    assert done.returncode == 0, done.stderr
    graphs = read_nccl_graphs(output)
    # NCCL 2.30.7's own: 8 channels of rings and trees, both 48 GB/s over NVL and PIX, and NVLS at 40 GB/s
    found = [(graph.id, len(graph.channels), graph.speed_intra, graph.speed_inter) for graph in graphs.graphs]
    assert found == [(GraphId.RING, 8, 48, 48), (GraphId.TREE, 8, 48, 48), (GraphId.NVLS, 8, 40, 48)]
    assert {(graph.type_intra, graph.type_inter) for graph in graphs.graphs} == {("NVL", "PIX")}
    for channel in (graphs.graphs[0].channels[0], graphs.graphs[0].channels[7]):
        assert sorted(channel.gpus) == sorted(channel.ranks) == list(range(8))
        # a channel comes in by the NIC beside its first GPU, and goes out by that beside its last
        assert channel.nets == (channel.gpus[0], channel.gpus[-1])
    nvls = graphs.get(GraphId.NVLS)
    assert nvls is not None
    assert {channel.gpus for channel in nvls.channels} == {(gpu,) for gpu in range(8)}  # each GPU is a head


def test_one_machine_names_no_nics() -> None:
    graphs = model_graphs(NcclModel(load_machine("dgx-a100")))
    assert all(channel.nets == () for graph in graphs.graphs for channel in graph.channels)
    ring, nvls = graphs.get(GraphId.RING), graphs.get(GraphId.NVLS)
    assert ring is not None
    assert [len(channel.gpus) for channel in ring.channels] == [8] * len(ring.channels)
    assert nvls is not None
    assert nvls.channels == ()
