"""What kernels that run programs take, by the constants of the stock libraries."""

from dataclasses import replace

import numpy as np
import pytest

from hocket.nccl.model import NcclModel
from hocket.nccl.programs import nccl_program
from hocket.nccl.programs.spec import model_of
from hocket.schedule import AMD, NVIDIA, Collective, Kind, Pace, Protocol
from hocket.schedule.algorithms import build_all
from hocket.schedule.kernel_links import with_kernels
from hocket.simulator import simulate_program
from hocket.topology import Topology, load, rank_routes
from hocket.translator import Lowering, lower
from hocket.translator.interpreter_costs import protocols_on

MICRO = 10**6
GIGA = 10**9


def pace(topology: Topology, protocol: str) -> Pace:
    found = protocols_on(NVIDIA, topology)[protocol].pace
    assert found is not None
    return found


def test_they_are_those_of_nccls_source() -> None:
    # src/graph/tuning.cc of 2.30: baseLat, hwLat of NVLink and network for rings, perChMaxTreeBws,
    # perChMaxRingLL128Bws, llMaxBws; of these all channels together, of which a DGX H100 has 24 and two have 16
    one, two = load("dgx-h100"), load("dgx-h100:nodes=2")
    simple, packets, lines = (pace(one, name) for name in ("Simple", "LL", "LL128"))
    assert (simple.start_ps, simple.inside_ps, simple.between_ps) == (8_400_000, 3_400_000, 14 * MICRO)
    assert (packets.start_ps, packets.inside_ps, packets.between_ps) == (6_600_000, 600_000, 2_700_000)
    assert (lines.start_ps, lines.inside_ps, lines.between_ps) == (14 * MICRO, 1_900_000, 4 * MICRO)
    assert [each.bandwidth for each in (simple, packets, lines)] == [38_700_000_000, 141 * GIGA // 24, 36_700_000_000]
    assert pace(two, "Simple").between_bandwidth == 41_400_000_000
    assert pace(two, "LL").bandwidth == 141 * GIGA // 24
    assert pace(two, "LL").between_bandwidth == pytest.approx(39 * GIGA / 16, rel=1e-3)  # of Intel's CPUs


def test_rccls_are_of_its_own_source() -> None:
    found = protocols_on(AMD, load("mi300x"))
    assert found["LL"].pace is not None and found["LL"].pace.start_ps == 12 * MICRO
    assert found["Simple"].pace is not None and found["Simple"].pace.start_ps == 17 * MICRO
    assert found["LL128"].pace is None  # off inside a node


@pytest.mark.parametrize(
    ("spec", "protocols"), [("mesh:4x4,bandwidth=50GB/s,latency=1us", NVIDIA), ("mi300x", NVIDIA), ("dgx-h100", AMD)]
)
def test_other_machines_have_no_times(spec: str, protocols: dict[str, Protocol]) -> None:
    assert protocols_on(protocols, load(spec)) == protocols


@pytest.mark.parametrize(("protocol", "size"), [("LL", 3 << 15), ("LL128", 3 << 21), ("Simple", 3 << 26)])
def test_nccls_rings_take_what_its_model_says(protocol: str, size: int) -> None:
    topology = load("dgx-h100")
    model: NcclModel = model_of(topology.name, topology.num_ranks)
    program = nccl_program(model, "AllReduce", size, "Ring", protocol).program
    taken = simulate_program(program, topology, size, protocols=protocols_on(NVIDIA, topology)).time_ps
    (term,) = (each for each in model.terms("AllReduce", size) if (each.algorithm, each.protocol) == ("Ring", protocol))
    assert taken / MICRO == pytest.approx(term.time_us, rel=0.1)


def test_links_as_kernels_see_them_take_a_step_at_least() -> None:
    topology = load("dgx-h100:nodes=2")
    for name in ("Simple", "LL"):
        protocol = protocols_on(NVIDIA, topology)[name]
        seen = with_kernels(topology, protocol)
        assert protocol.pace is not None
        routes = rank_routes(seen.graph)
        latency = np.add.reduceat(seen.latency_ps[routes.links], routes.offset[:-1])
        ends = seen.src[routes.links[routes.offset[:-1]]], seen.dst[routes.links[routes.offset[1:] - 1]]
        inside = topology.machine[ends[0]] == topology.machine[ends[1]]
        assert (latency[inside] >= protocol.pace.inside_ps).all()
        assert (latency[~inside] >= protocol.pace.between_ps).all()
        fabric = topology.link_class == topology.classes.index("fabric")
        nvlink = topology.link_class == topology.classes.index("nvlink")
        wire = float(protocol.wire)
        assert seen.bandwidth[fabric] * wire == pytest.approx(topology.bandwidth[fabric])
        assert seen.bandwidth[nvlink] * wire / 18 == pytest.approx(20.6 * GIGA)  # what NCCL counts of an NVLink


def test_a_program_pays_the_launch_the_step_and_the_bytes_of_its_protocol() -> None:
    topology, size = load("dgx-a100:gpus=2"), 1 << 20
    schedule = next(iter(build_all(Collective(Kind.BROADCAST, 2, size, 1), topology)))
    program = lower(schedule, "executor", Lowering(protocol="Simple"))
    # One message over the NVSwitch: of 300 GB/s NCCL counts 240, which is 4.369 us for 1 MiB, and two links have 0.35
    # us of latency each; a step takes 3.4, the wire's included. At 24 GB/s the block takes 43.69 us for its bytes.
    protocols = protocols_on(NVIDIA, topology)
    taken = simulate_program(program, topology, size, protocols=protocols).time_ps
    assert taken == 8_400_000 + 3_400_000 + -(-size * MICRO // 24_000)
    wide = pace(topology, "Simple")
    free = {"Simple": replace(NVIDIA["Simple"], pace=replace(wide, bandwidth=10**15))}
    paid = simulate_program(program, topology, size, protocols=free).time_ps
    assert paid == pytest.approx(8_400_000 + 3_400_000 + size / 0.24, rel=1e-6)
    assert simulate_program(program, topology, size).time_ps == pytest.approx(700_000 + size / 0.3, rel=1e-6)
