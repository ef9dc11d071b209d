"""NCCL's algorithms over switches that compute: what they move, what they take, and what disturbs them."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import in_process
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import HocketError, ScheduleError
from hocket.nccl import NcclModel, read_settings
from hocket.nccl.programs import NcclProgram, nccl_program
from hocket.schedule import Kernel, Kind, Move
from hocket.simulator import Disturbance, Flow, Prediction, simulate_kernel, simulate_program
from hocket.topology import Topology, load
from hocket.topology.formats.nccl.read import read_nccl_topology

MIB = 2**20
US = 10**6


@pytest.fixture(scope="module")
def models(shared: Path) -> dict[tuple[str, int], NcclModel]:
    cases = [("dgx_h100", 1), ("dgx_h100", 2), ("dgx_h100", 3), ("dgx_b200", 1), ("dgx_b200", 2)]
    folder = shared / "nccl_topology" / "generated"
    return {case: NcclModel(read_nccl_topology(folder / f"{case[0]}.xml"), case[1]) for case in cases}


def kernel_of(model: NcclModel, collective: str, size: int, algorithm: str) -> Kernel:
    kernel = nccl_program(model, collective, size, algorithm)
    assert isinstance(kernel, Kernel)
    return kernel


def topology_of(model: NcclModel, more: str = ",nvls=1") -> Topology:
    return load(f"nccl:{model.machine.source},nodes={model.nodes}{more}")


def expected_us(model: NcclModel, collective: str, size: int, algorithm: str) -> float:
    (term,) = (
        term for term in model.terms(collective, size) if (term.algorithm, term.protocol) == (algorithm, "Simple")
    )
    return term.latency_us + size / (term.bandwidth * 1000)


def bytes_by_class(prediction: Prediction, name: str) -> set[int]:
    topology = prediction.topology
    return set(prediction.link_bytes[topology.link_class == topology.classes.index(name)].tolist())


@pytest.mark.shared
@pytest.mark.parametrize(
    ("collective", "up", "down"),
    [
        # of its own every GPU sends and gets through the switch: S, and S/8 of what it is the head of
        ("AllReduce", 9, 9),
        ("AllGather", 1, 8),
        ("ReduceScatter", 8, 1),
    ],
)
def test_nvls_moves_what_multimem_moves_in_the_time_that_nccl_expects(
    models: dict[tuple[str, int], NcclModel], collective: str, up: int, down: int
) -> None:
    model, size = models["dgx_h100", 1], 256 * MIB
    kernel = kernel_of(model, collective, size, "NVLS")
    # 16 channels, 8 heads; 256 MiB are less than 64 x 8 x 128 KiB on each, so chunks of 64 KiB: 8 MiB a pass
    assert kernel.chunk_bytes.shape == (32, 128)
    assert (kernel.chunk_bytes == 64 * 1024).all()
    prediction = simulate_kernel(kernel, topology_of(model))
    assert bytes_by_class(prediction, "nvswitch") == {up * size // 8, down * size // 8}
    ratio = prediction.time_ps / US / expected_us(model, collective, size, "NVLS")
    assert 1 <= ratio < 1.01
    # before its last pass is stored all is loaded at NCCL's bandwidth
    assert prediction.time_ps >= prediction.bound_ps


@pytest.mark.shared
def test_nvls_tree_sends_each_chunk_up_and_down_one_of_two_trees(models: dict[tuple[str, int], NcclModel]) -> None:
    size = 64 * MIB
    model = models["dgx_h100", 2]
    prediction = simulate_kernel(kernel_of(model, "AllReduce", size, "NVLSTree"), topology_of(model))
    # the root of one tree is the leaf of the other: each head sends its part once, half of it up and half of it down
    nets = prediction.link_bytes[prediction.topology.link_class == prediction.topology.classes.index("fabric")]
    assert set(nets.tolist()) == {0, size // 8}  # through the leaf of a rail, not over the spine
    assert np.count_nonzero(nets) == 2 * 8 * 2
    assert 0.9 < prediction.time_ps / US / expected_us(model, "AllReduce", size, "NVLSTree") < 1.05


@pytest.mark.shared
@settings(max_examples=12)
@given(
    case=st.sampled_from([("dgx_h100", 1), ("dgx_h100", 2), ("dgx_h100", 3), ("dgx_b200", 1), ("dgx_b200", 2)]),
    collective=st.sampled_from(["AllReduce", "AllGather", "ReduceScatter"]),
    size=st.integers(1, 4 * MIB),
)
def test_every_rank_gets_what_the_collective_promises_at_any_size(
    models: dict[tuple[str, int], NcclModel], case: tuple[str, int], collective: str, size: int
) -> None:
    model = models[case]
    if case[1] > 1:
        collective = "AllReduce"
    if collective != "AllReduce":
        size *= model.ranks
    kernel = kernel_of(model, collective, size, "NVLS" if case[1] == 1 else "NVLSTree")
    assert kernel.chunk_bytes.sum() == size
    prediction = simulate_kernel(kernel, topology_of(model))  # verifies
    assert prediction.time_ps >= prediction.bound_ps


@pytest.mark.shared
def test_a_kernel_that_forgets_a_contribution_is_refused(models: dict[tuple[str, int], NcclModel]) -> None:
    model = models["dgx_h100", 1]
    kernel = kernel_of(model, "AllReduce", MIB, "NVLS")
    at = next(n for n, action in enumerate(kernel.actions) if isinstance(action, Move) and action.reduce)
    move = kernel.actions[at]
    assert isinstance(move, Move)
    forgetful = replace(move, sources=move.sources[:-1], begins=move.begins[:-1])
    broken = replace(kernel, actions=(*kernel.actions[:at], forgetful, *kernel.actions[at + 1 :]))
    with pytest.raises(ScheduleError, match="misses the contribution of rank 7"):
        simulate_kernel(broken, topology_of(model))


@pytest.mark.shared
def test_all_wait_for_a_late_rank_but_other_traffic_only_takes_its_share(
    models: dict[tuple[str, int], NcclModel],
) -> None:
    model = models["dgx_h100", 1]
    kernel, topology = kernel_of(model, "AllReduce", 2 * MIB, "NVLS"), topology_of(model)
    alone = simulate_kernel(kernel, topology)
    late = simulate_kernel(kernel, topology, disturbance=Disturbance(late_ps={3: 50 * US}))
    assert late.time_ps == alone.time_ps + 50 * US  # every load sums what all GPUs copied in
    assert late.finish_ps.tolist() == [time + 50 * US for time in alone.finish_ps.tolist()]
    # 370.8 GB/s of 0 -> 1 carry 9/8 of 272 GB/s and have 64.8 GB/s left: NVLS is slowed by what comes on top
    big = kernel_of(model, "AllReduce", 64 * MIB, "NVLS")
    flow = Flow(0, 1, 64 * MIB)
    disturbed = simulate_kernel(big, topology, disturbance=Disturbance(flows=[flow]))
    longer = disturbed.time_ps - simulate_kernel(big, topology).time_ps
    assert 0 < longer <= flow.size_bytes * 10**12 // (370_800 * 10**6) + 2 * US


@pytest.mark.shared
def test_needs_switches_that_compute(models: dict[tuple[str, int], NcclModel]) -> None:
    model = models["dgx_h100", 1]
    kernel = kernel_of(model, "AllReduce", MIB, "NVLS")
    with pytest.raises(ScheduleError, match="NCCL NVLS/Simple needs a switch that adds and copies"):
        simulate_kernel(kernel, topology_of(model, ""))
    with pytest.raises(HocketError, match="rank 8 is not one of 8"):
        simulate_kernel(kernel, topology_of(model), disturbance=Disturbance(late_ps={8: 1}))
    for algorithm, why in (("NVLSTree", "is for several nodes"), ("CollNetChain", "CollNet")):
        with pytest.raises(ScheduleError, match=why):
            kernel_of(model, "AllReduce", MIB, algorithm)
    assert kernel.kind is Kind.ALL_REDUCE


@pytest.mark.shared
def test_a_late_rank_holds_up_a_ring_from_where_it_is(models: dict[tuple[str, int], NcclModel]) -> None:
    model = models["dgx_h100", 1]
    ring = nccl_program(model, "AllGather", 8 * 1024, "Ring", "LL", channels=1)
    assert isinstance(ring, NcclProgram)
    topology = topology_of(model, "")

    def times(late_ps: dict[int, int]) -> list[int]:
        found = simulate_program(ring.program, topology, 8 * 1024, passes=ring.passes, disturbance=Disturbance(late_ps))
        return found.finish_ps.tolist()

    late, alone = times({3: 50 * US}), times({})
    # 3 passes on nothing before it comes; its neighbour gets all blocks but its own last
    assert late[3] > 50 * US
    assert max(late) == max(alone) + 50 * US


@pytest.mark.shared
def test_the_command_disturbs_a_call(shared: Path) -> None:
    machine = shared / "nccl_topology" / "generated" / "dgx_h100.xml"
    call = ["all_reduce", "-t", f"nccl:{machine},nvls=1", "-s", "2MiB", "--algorithm"]

    hocket = partial(in_process.hocket, "simulate")

    done = hocket(*call, "nccl", "--late", "3=1ms")
    assert "NCCL NVLS/Simple" in done.stdout
    assert "time                   1.034 ms" in done.stdout  # 33.8 us after the last came
    refused = hocket(*call, "ring", "--traffic", "0-1=1MiB")
    assert refused.returncode == 2
    assert "are for programs and for a collective that NCCL runs" in refused.stderr.replace("\n", " ")


@pytest.mark.shared
@pytest.mark.parametrize("algorithm", ["NVLS", "CollNetDirect", "CollNetChain"])
def test_collnet_lets_the_fabric_add(shared: Path, tmp_path: Path, algorithm: str) -> None:
    path = tmp_path / "machine.xml"
    text = (shared / "nccl_topology" / "generated" / "dgx_h100.xml").read_text(encoding="utf-8")
    path.write_text(text.replace("<net ", '<net coll="1" '), encoding="utf-8")
    model = NcclModel(read_nccl_topology(path), 2, read_settings(["NCCL_COLLNET_ENABLE=1"]))
    size = 64 * MIB
    kernel = kernel_of(model, "AllReduce", size, algorithm)
    prediction = simulate_kernel(kernel, topology_of(model, ",nvls=1,sharp=1"))  # verifies
    nets = prediction.link_bytes[prediction.topology.link_class == prediction.topology.classes.index("fabric")]
    assert nets.sum() == 2 * 2 * size  # of each machine all goes once to a leaf, and comes back once
    assert 0.8 < prediction.time_ps / US / expected_us(model, "AllReduce", size, algorithm) < 1.3
    with pytest.raises(ScheduleError, match="needs a switch that adds and copies"):
        simulate_kernel(kernel, topology_of(model))
    with pytest.raises(ScheduleError, match=r"AllReduce|does not do the collective"):
        kernel_of(model, "AllGather", size, algorithm)
