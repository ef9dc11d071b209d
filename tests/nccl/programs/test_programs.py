"""NCCL's algorithms as programs: proved, counted, held against NCCL's model and bounds, and run by command."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import hocket

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.text import printable
from hocket.nccl import NcclModel, Settings
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, can_do
from hocket.nccl.programs import KINDS, PROGRAMS, NcclCall, NcclProgram, nccl_program
from hocket.nccl.programs.connect import double_tree, rings, trees
from hocket.nccl.programs.groups import GroupPrograms
from hocket.nccl.programs.spec import ModelledTime, NcclAlgorithm, model_of
from hocket.nccl.programs.split import split
from hocket.schedule import Collective, Kind, execute, lower_bound
from hocket.simulator import Prediction, simulate_program
from hocket.topology import load
from hocket.topology.machines.loading import load_machine

KIB, MIB = 1 << 10, 1 << 20
FOUR_H100 = NcclModel(load_machine("dgx-h100"), 4, Settings())


@cache
def model(name: str, nodes: int) -> NcclModel:
    return NcclModel(load_machine(name), nodes)


def simulated(found: NcclProgram, topology: str) -> Prediction:
    return simulate_program(found.program, load(topology), found.request.size_bytes, passes=found.passes)


def test_every_algorithm_of_nccl_says_what_it_does() -> None:
    assert set(PROGRAMS) == set(ALGORITHMS)
    for name, builder in PROGRAMS.items():
        assert NcclAlgorithm.of(builder.example) == NcclAlgorithm(name)
        able = [KINDS[each] for row, each in enumerate(COLLECTIVES) if can_do(row, ALGORITHMS.index(name), -1)]
        assert set(builder.kinds) <= set(able)
    machine = model("dgx-h100", 2)
    ring, pat = (NcclCall(machine, "AllGather", name, "Simple", 2, 1 << 20) for name in ("Ring", "PAT"))
    assert PROGRAMS["Ring"].why_not(ring) is None
    assert all("NCCL_PAT_ENABLE=1" in str(said) for said in (PROGRAMS["PAT"].why_not(pat), PROGRAMS["PAT"].needs))


@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize("collective", list(KINDS))
def test_rings_are_proved(collective: str, nodes: int) -> None:
    size = 8 * nodes * 96 * KIB
    found = nccl_program(model("dgx-a100", nodes), collective, size, "Ring", "Simple", root=8 * nodes - 3)
    proof = execute(found.program, fifo_depth=2)  # a chunk takes 4 of a connection's 8 slots
    # every rank but the last (or first) of each channel's ring sends: n-1 blocks round it, twice for all_reduce
    n, channels = 8 * nodes, found.program.num_channels
    steps = {Kind.ALL_REDUCE: 2 * n * (n - 1), Kind.BROADCAST: n - 1, Kind.REDUCE: n - 1}
    assert proof.messages == channels * steps.get(found.program.kind, n * (n - 1))


@pytest.mark.parametrize("nodes", [1, 2, 5, 8])
def test_trees_are_proved(nodes: int) -> None:
    found = nccl_program(model("dgx-h100", nodes), "AllReduce", MIB, "Tree", "LL128")
    # every rank but the root sends up, and is sent the result
    assert execute(found.program, fifo_depth=1).messages == found.program.num_channels * 2 * (8 * nodes - 1)


@pytest.mark.parametrize("collective", ["AllGather", "ReduceScatter"])
@pytest.mark.parametrize("nodes", [2, 3, 8, 13])
def test_aggregated_trees_are_proved(collective: str, nodes: int) -> None:
    groups = GroupPrograms(model("dgx-h100", nodes), NcclAlgorithm("PAT"))
    found = groups.program([8 * node for node in range(nodes)], Collective(KINDS[collective], nodes, nodes * MIB))
    assert isinstance(found, NcclProgram)
    # every block goes to all others, each once
    proof = execute(found.program, fifo_depth=found.passes.fifo_depth)
    assert proof.messages == found.program.num_channels * nodes * (nodes - 1)


@given(st.integers(1, 200))
def test_inner_nodes_of_one_tree_are_leaves_of_the_other(nodes: int) -> None:
    places = [double_tree(nodes, node) for node in range(nodes)]
    for which in (0, 1):
        assert [place[which][0] for place in places].count(-1) == 1  # one root
        for node, place in enumerate(places):
            for child in place[which][1]:
                assert child < 0 or places[child][which][0] == node
    if nodes % 2 == 0:
        children = [[sum(child >= 0 for child in place[which][1]) for which in (0, 1)] for place in places]
        assert all(first < 2 or second < 2 for first, second in children)


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_channels_are_rings_and_trees_of_all_ranks(nodes: int) -> None:
    of = model("dgx-h100", nodes)
    for order in rings(of):
        assert sorted(order) == list(range(8 * nodes))
        crossings = sum(a // 8 != b // 8 for a, b in zip(order, [*order[1:], order[0]], strict=True))
        assert crossings == (nodes if nodes > 1 else 0)
    for branches in trees(of):
        assert [branch.up for branch in branches].count(-1) == 1
        assert all(branches[child].up == rank for rank, branch in enumerate(branches) for child in branch.down)
        assert max(len(branch.down) for branch in branches) <= 3


@settings(max_examples=60)
@given(
    st.sampled_from(list(KINDS)),
    st.sampled_from(["LL", "LL128", "Simple"]),
    st.integers(1, 1 << 26),
    st.integers(1, 24),
)
def test_channels_share_every_byte_out(collective: str, protocol: str, blocks: int, channels: int) -> None:
    size = blocks * (8 if collective in ("AllGather", "ReduceScatter") else 1)
    request = NcclCall(model("dgx-a100", 1), collective, "Ring", protocol, channels, size)
    shares = split(request)
    assert sum(shares) == size // request.blocks and min(shares) > 0
    assert len(shares) <= 24
    found = nccl_program(request.model, collective, size, "Ring", protocol, channels)
    held = found.passes.chunk_bytes.sum(axis=0) * (8 if collective == "AllReduce" else 1)
    # evened out over the ranks, the last pass may have up to 7 bytes more
    assert (held >= shares).all() and (held - shares < 8).all()


def test_small_calls_take_few_channels() -> None:
    # all_reduce moves every byte twice, so a channel takes at least 32 KiB / 2; LL counts four times
    of = model("dgx-a100", 1)
    assert split(NcclCall(of, "AllReduce", "Ring", "Simple", 24, 64 * KIB)) == [16 * KIB] * 4
    assert split(NcclCall(of, "AllReduce", "Ring", "LL", 24, 10 * KIB)) == [4 * KIB, 4 * KIB, 2 * KIB]
    # all_gather: 8 ranks' blocks, cells of 4 KiB of each
    assert split(NcclCall(of, "AllGather", "Ring", "Simple", 24, 96 * KIB)) == [4 * KIB] * 3


def test_a_ring_step_takes_its_latency_and_its_bytes() -> None:
    # 8 KiB with LL on one channel of 8 A100s in rings: 14 steps of 1 KiB (2 KiB with flags). NCCL: 6.6 us, 0.6 us a
    # step; but NVLink takes 0.7 us here and its own time for 2 KiB at 240 GB/s twice, cut through: 0.7 + 0.0085 us
    found = nccl_program(model("dgx-a100", 1), "AllReduce", 8 * KIB, "Ring", "LL", 1)
    prediction = simulated(found, "dgx-a100")
    pace = found.passes.pace
    assert pace is not None and pace.inside_ps == 600_000
    busy_ps = int(pace.busy_ps(np.array([KIB]), np.array([0]), np.array([1]))[0])
    step = max(pace.inside_ps + busy_ps, 700_000 + 2048 * 1000 // 240)
    assert abs(prediction.time_ps - (6_600_000 + 14 * step)) <= 14 * 100_000


def test_bytes_on_the_links_are_the_rings() -> None:
    # every rank sends 2 * 7/8 of the buffer to its neighbour, with Simple as they are: 8 ranks, in by one link to the
    # NVSwitches and out by another
    found = nccl_program(model("dgx-a100", 1), "AllReduce", 48 * MIB, "Ring", "Simple")
    prediction = simulated(found, "dgx-a100")
    assert prediction.link_bytes.sum() == 2 * 8 * (2 * 48 * MIB * 7 // 8)
    wires = simulated(nccl_program(model("dgx-a100", 1), "AllReduce", 48 * MIB, "Ring", "LL"), "dgx-a100")
    assert wires.link_bytes.sum() == 2 * prediction.link_bytes.sum()


@pytest.mark.parametrize("machine", ["dgx-a100", "dgx-h100", "dgx-b200"])
@pytest.mark.parametrize("protocol", ["LL", "LL128", "Simple"])
def test_rings_in_one_machine_take_what_the_model_says(machine: str, protocol: str) -> None:
    of = model(machine, 1)
    for collective in ("AllReduce", "ReduceScatter"):
        for size in (64 * KIB, 16 * MIB):
            found = nccl_program(of, collective, size, "Ring", protocol)
            term = next(
                each for each in of.terms(collective, size) if each.algorithm == "Ring" and each.protocol == protocol
            )
            prediction = simulated(found, machine)
            assert 0.99 < prediction.time_ps / 1e6 / term.time_us < 1.12, (collective, size)
            bound = lower_bound(Collective(KINDS[collective], 8, size), load(machine))
            assert prediction.time_ps >= prediction.bound_ps and prediction.time_ps >= bound.time_ps


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("protocol", ["LL", "LL128", "Simple"])
def test_trees_take_what_the_model_says(nodes: int, protocol: str) -> None:
    # a channel's few pieces go over up to 18 hops: what the model says of their bytes is paid once, not at each of them
    of = model("dgx-h100", nodes)
    for size in (KIB, 32 * KIB, 256 * KIB, 4 * MIB):
        term = next(
            each for each in of.terms("AllReduce", size) if each.algorithm == "Tree" and each.protocol == protocol
        )
        prediction = simulated(nccl_program(of, "AllReduce", size, "Tree", protocol), f"dgx-h100:nodes={nodes}")
        most = 1.2 if (nodes, protocol) == (3, "LL") else 1.12  # links take longer than so many steps of 2.5 us
        assert 0.99 < prediction.time_ps / 1e6 / term.time_us < most, size


@pytest.mark.parametrize("nodes", [2, 3])
@pytest.mark.parametrize("collective", ["AllGather", "Broadcast", "Reduce"])
def test_ways_round_a_ring_share_the_latency_that_the_model_counts(collective: str, nodes: int) -> None:
    of = model("dgx-h100", nodes)
    for size in (1536, 48 * KIB, 3 * MIB):
        for protocol in ("LL128", "Simple"):
            term = next(
                each for each in of.terms(collective, size) if each.algorithm == "Ring" and each.protocol == protocol
            )
            prediction = simulated(nccl_program(of, collective, size, "Ring", protocol), f"dgx-h100:nodes={nodes}")
            assert 0.99 < prediction.time_ps / 1e6 / term.time_us < 1.12, (size, protocol)


@settings(max_examples=25)
@given(
    st.sampled_from([1, 2]),
    st.sampled_from(["Ring", "Tree"]),
    st.sampled_from(["LL", "LL128", "Simple"]),
    st.integers(0, 21),
    st.integers(1, 16),
)
def test_nothing_is_faster_than_the_bound(nodes: int, algorithm: str, protocol: str, power: int, channels: int) -> None:
    found = nccl_program(model("dgx-h100", nodes), "AllReduce", 3 << power, algorithm, protocol, channels)
    prediction = simulated(found, f"dgx-h100:nodes={nodes}")
    assert prediction.time_ps >= prediction.bound_ps
    assert prediction.time_ps >= found.passes.pace.start_ps  # type: ignore[union-attr]  # NCCL's programs have one


def test_fewer_channels_are_slower() -> None:
    times = [
        simulated(nccl_program(model("dgx-h100", 1), "AllReduce", 16 * MIB, "Ring", "Simple", channels), "dgx-h100")
        for channels in (1, 4, 24)
    ]
    assert times[0].time_ps > 2 * times[1].time_ps > 4 * times[2].time_ps


def test_what_nccl_would_not_run_is_refused_with_the_reason() -> None:
    with pytest.raises(ScheduleError, match="does not do the collective"):
        nccl_program(model("dgx-a100", 1), "AllGather", 64 * KIB, "Tree", "LL")
    with pytest.raises(ScheduleError, match="kernels run on 1 to 24 here"):
        nccl_program(model("dgx-a100", 1), "AllReduce", 64 * KIB, "Ring", "LL", 25)
    with pytest.raises(ScheduleError, match="a multiple of 8 ranks"):
        nccl_program(model("dgx-a100", 1), "AllGather", 12, "Ring", "LL")
    with pytest.raises(ScheduleError, match="NCCL's programs are for"):
        NcclAlgorithm().program(model("dgx-a100", 1), Collective(Kind.ALL_TO_ALL, 8, 64))
    with pytest.raises(FormatError, match="--nccl-machine"):
        model_of("ring:8", 8)


@given(st.text(max_size=20) | st.from_regex(r"nccl(:[a-z0-9/]{0,16})?", fullmatch=True))
def test_any_text_is_an_algorithm_or_an_error(text: str) -> None:
    try:
        found = NcclAlgorithm.of(text)
    except FormatError as error:
        assert printable(text) in str(error)
    else:
        assert found.channels is None or 1 <= found.channels <= 99


def test_groups_run_on_the_gpus_that_they_use() -> None:
    groups = GroupPrograms(NcclModel(load_machine("dgx-h100"), 4, Settings()), NcclAlgorithm("Ring", "Simple"))
    collective = Collective(Kind.ALL_REDUCE, 4, 4 * MIB)
    found = groups.program([1, 9, 17, 25], collective)  # one GPU of each machine: rings over the network
    assert isinstance(found, NcclProgram) and found.request.gpus == 1 and found.request.nodes == 4
    found = groups.program([4, 5, 6, 7], collective)
    assert isinstance(found, NcclProgram) and found.request.nodes == 1


@given(
    group=st.lists(st.integers(0, 31), min_size=2, max_size=12, unique=True),
    algorithm=st.sampled_from(["Ring", "Tree"]),
)
@settings(max_examples=40)
def test_any_ranks_in_any_order_run_a_program_that_is_right(group: list[int], algorithm: str) -> None:
    groups = GroupPrograms(FOUR_H100, NcclAlgorithm(algorithm, "Simple"))
    found = groups.program(group, Collective(Kind.ALL_REDUCE, len(group), 4 * MIB))
    assert isinstance(found, NcclProgram)
    assert execute(found.program, fifo_depth=2).values
    nodes = list(dict.fromkeys(rank // 8 for rank in group))
    assert found.request.machine == tuple(nodes.index(rank // 8) for rank in group)


def test_a_communicator_counts_with_the_least_of_its_nodes() -> None:
    collective = Collective(Kind.ALL_REDUCE, 12, 64 * MIB)
    uneven = [*range(8), *range(8, 12)]  # 8 GPUs of one node, 4 of the next
    times = GroupPrograms(FOUR_H100, NcclAlgorithm())
    time = times.expected(uneven, collective)
    assert isinstance(time, ModelledTime)
    assert time == times.expected([*range(16, 20), *range(24, 32)], collective)  # whichever nodes they are
    even = times.expected(range(8), Collective(Kind.ALL_REDUCE, 8, 64 * MIB))
    assert isinstance(even, ModelledTime) and time.time_ps > even.time_ps


def run(*arguments: str, cwd: Path) -> str:
    done = hocket(*arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_traced_call_takes_what_the_call_alone_takes(tmp_path: Path) -> None:
    run("generate", "collective", "all_reduce", "--ranks", "16", "--size", "4MiB", "-o", "traces/", cwd=tmp_path)
    machine = ("-t", "dgx-h100:nodes=2")
    alone = run("simulate", "all_reduce", "-s", "4MiB", *machine, "--algorithm", "nccl:ring", cwd=tmp_path)
    traced = run("simulate", "traces/", *machine, "--algorithm", "all_reduce=nccl:ring", cwd=tmp_path)
    assert [re.search(r"time +(\S+ \w+)\n", text)[1] for text in (alone, traced)].count("") == 0  # type: ignore[index]  # both print it
    assert re.findall(r"time +(\S+ \S+)\n", alone) == re.findall(r"time +(\S+ \S+)\n", traced)
    assert "NCCL Ring/LL128" in traced
    # a straggler: one rank's NVLink at a tenth
    slow = run(
        "simulate",
        "all_reduce",
        "-s",
        "4MiB",
        *machine,
        "--algorithm",
        "nccl:ring",
        "--degrade",
        "npu:3=0.1",
        cwd=tmp_path,
    )
    assert re.findall(r"time +(\S+ \S+)\n", slow) != re.findall(r"time +(\S+ \S+)\n", alone)
