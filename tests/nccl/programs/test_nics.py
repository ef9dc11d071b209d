"""NCCL's messages between machines go over their channels' own NICs."""

import numpy as np
import pytest

from hocket.nccl import NcclModel, read_settings
from hocket.nccl.programs import NcclProgram, nccl_program
from hocket.schedule import Kernel
from hocket.simulator import Fidelity, Prediction, simulate_kernel, simulate_program
from hocket.topology import Ports, Topology, load, routing_of
from hocket.topology.machines.loading import load_machine
from hocket.topology.machines.nccl_topology import from_nccl

MIB = 1 << 20


def ring(machine: str, nodes: int, *settings: str, size: int = 64 * MIB) -> NcclProgram:
    found = nccl_program(
        NcclModel(load_machine(machine), nodes, read_settings(settings)), "AllReduce", size, "Ring", "Simple"
    )
    assert isinstance(found, NcclProgram)
    return found


def simulated(found: NcclProgram, topology: Topology, routing: str | None = None) -> Prediction:
    fidelity = Fidelity(routing=routing)
    return simulate_program(found.program, topology, found.request.size_bytes, passes=found.passes, fidelity=fidelity)


def bytes_of_ports(prediction: Prediction, topology: Topology) -> tuple[list[int], list[int]]:
    """Over each NIC's link into the fabric; over each link between switches of it."""
    fabric = topology.link_class == topology.classes.index("fabric")
    inside = np.zeros(topology.num_nodes, bool)
    inside[topology.src[~fabric]] = True
    carried = prediction.link_bytes
    trunks = fabric & ~inside[topology.src] & ~inside[topology.dst]
    return carried[fabric & inside[topology.src]].tolist(), carried[trunks].tolist()


@pytest.mark.parametrize("nodes", [2, 3])
def test_rings_share_all_nics(nodes: int) -> None:
    """Two GPUs and two NICs on each PCI switch: both GPUs are as near to either NIC."""
    topology = from_nccl(load_machine("dgx-a100"), nodes)
    ports, trunks = bytes_of_ports(simulated(ring("dgx-a100", nodes), topology), topology)
    # of a channel's share 2 (n - 1) / n goes over every hop of its ring, in chunks of whole bytes
    n = 8 * nodes
    assert len(ports) == 8 * nodes
    assert np.allclose(ports, 2 * (n - 1) / n * 64 * MIB / 8, rtol=1e-4)
    assert not any(trunks)  # rails are kept


def test_nvls_trees_share_all_nics() -> None:
    found = nccl_program(NcclModel(load_machine("dgx-h100"), 2), "AllReduce", 64 * MIB, "NVLSTree", "Simple")
    assert isinstance(found, Kernel)
    topology = from_nccl(load_machine("dgx-h100"), 2, nvls=True)
    ports, _ = bytes_of_ports(simulate_kernel(found, topology), topology)
    assert np.allclose(ports, 64 * MIB / 8, rtol=1e-2)  # a head's eighth goes up once, or down once


def test_channels_of_one_nic_are_sent_by_the_gpu_next_to_it() -> None:
    found = ring("dgx-h100", 2, "NCCL_CROSS_NIC=0")
    topology = from_nccl(load_machine("dgx-h100"), 2)
    for (src, dst, _), crossing in found.passes.crossings.items():
        assert crossing.leave == crossing.arrive == crossing.through % 8 == dst % 8  # GPU k is next to NIC k
        assert src != crossing.through and src // 8 == crossing.through // 8  # PXN
        links = Ports(topology).paths([(src, dst, crossing)], routing_of(topology), np.zeros(1, np.int64)).links
        nodes = topology.src[links].tolist()
        assert nodes[0] == src and crossing.through in nodes and topology.dst[links[-1]] == dst
    ports, _ = bytes_of_ports(simulated(found, topology), topology)
    assert np.allclose(ports, 2 * 15 / 16 * 64 * MIB / 8, rtol=1e-4)


def test_rails_alternate_where_rings_leave_by_another_nic() -> None:
    for (src, dst, _), crossing in ring("dgx-h100", 4).passes.crossings.items():
        assert (src % 8, dst % 8) == (crossing.leave, crossing.arrive) and crossing.through == src
        assert crossing.leave == crossing.arrive


def test_topologies_with_other_nics_say_so() -> None:
    found = ring("dgx-h100", 2)
    note = "8 NICs per node that the program names: messages between nodes take the shortest routes"
    other = load("dgx-h100:nodes=2,rails=0/1/2/3/-/-/-/-")
    assert any(note in each for each in simulated(found, other).notes)
    assert not any(note in each for each in simulated(found, load("dgx-h100:nodes=2")).notes)


def test_several_spines_are_sprayed_like_one() -> None:
    """A spine of 800 GB/s, or 16 of 50: each of 16 NICs of a leaf sends 50."""
    tree = "dgx-h100:nodes=4,fabric=fat_tree,leaf=2"
    found, several = ring("dgx-h100", 4, size=256 * MIB), load(f"{tree},spines=16")
    one = simulated(found, load(tree)).time_ps
    assert simulated(found, several).time_ps == pytest.approx(one, rel=0.01)
    assert simulated(found, several, "shortest").time_ps > 4 * one  # eight NICs of a machine over one link of 50 GB/s
