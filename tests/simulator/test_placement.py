"""Jobs whose ranks do not sit in order."""

from pathlib import Path

import pytest

from hocket.base.errors import FormatError, SimulationError
from hocket.chakra import CollectiveType, Trace, TraceBuilder, TraceSet
from hocket.simulator import parse_placement, simulate_traces
from hocket.topology import Topology, load

US = 10**6  # picoseconds
# A microsecond for 1000 bytes and one of latency, each way round.
RING4 = load("ring:4,bandwidth=1GB/s,latency=1us")


def message(src: int, dst: int) -> TraceSet:
    traces: list[Trace] = []
    for rank in range(3):
        builder = TraceBuilder()
        if rank == src:
            builder.add_send("s", 1_000, src=src, dst=dst)
        if rank == dst:
            builder.add_recv("r", 1_000, src=src, dst=dst)
        traces.append(builder.build())
    return TraceSet(tuple(traces))


def test_messages_take_the_way_between_the_places() -> None:
    # Ranks 0 and 1 are neighbours (1 us of latency + 1 us) or two hops apart, stored in between (twice that).
    assert simulate_traces(message(0, 1), RING4).time_ps == 2 * US
    apart = simulate_traces(message(0, 1), RING4, placement=[0, 2, 1])
    assert apart.time_ps == apart.bound_ps == 4 * US
    assert "the job's ranks 0, 1, ... sit on 0, 2, 1" in apart.notes[-1]


def test_collectives_run_where_the_ranks_sit_and_are_named_by_the_job() -> None:
    def program(group: str) -> Trace:
        builder = TraceBuilder()
        builder.add_collective("c", CollectiveType.BROADCAST, 1_000, group=group, root=1 if group == "a" else 2)
        return builder.build()

    traces = TraceSet(tuple(program(group) for group in "aabb"), {"a": (0, 1), "b": (2, 3)})
    near = simulate_traces(traces, RING4)
    far = simulate_traces(traces, RING4, placement=[0, 2, 1, 3])
    assert [call.group for call in near.collectives] == [call.group for call in far.collectives] == [(0, 1), (2, 3)]
    assert near.time_ps == 2 * US
    # 2 -> 0 and 1 -> 3, two hops each and both through other links.
    assert far.time_ps == far.bound_ps == 4 * US


def test_relabelling_a_symmetric_machine_changes_nothing() -> None:
    def program() -> Trace:
        builder = TraceBuilder()
        builder.add_collective("c", CollectiveType.ALL_REDUCE, 4_000)
        return builder.build()

    traces = TraceSet((program(),) * 4)
    assert simulate_traces(traces, RING4, placement=[1, 2, 3, 0]).time_ps == simulate_traces(traces, RING4).time_ps
    assert simulate_traces(traces, RING4, placement=range(4)).finish_ps.tolist() == (
        simulate_traces(traces, RING4).finish_ps.tolist()
    )


def test_round_robin_goes_through_the_machines(tmp_path: Path) -> None:
    links = [(a, 5, 0, 10**9) for a in range(5)] + [(5, a, 0, 10**9) for a in range(5)]
    machines = Topology.from_links("two", 5, links, num_switches=1, machine=[0, 0, 0, 1, 1])
    assert parse_placement("round_robin", machines, 5) == (0, 3, 1, 4, 2)
    assert parse_placement("round_robin", machines, 3) == (0, 3, 1)
    assert parse_placement("2, 0,1", machines, 3) == (2, 0, 1)
    (tmp_path / "places").write_text("[4,\n 3, 2]\n")
    assert parse_placement(str(tmp_path / "places"), machines, 3) == (4, 3, 2)
    (tmp_path / "words").write_text("first come")
    with pytest.raises(SimulationError, match="expected topology ranks such as 3,1,2,0"):
        parse_placement(str(tmp_path / "words"), machines, 3)
    with pytest.raises(FormatError, match="No such file"):
        parse_placement("spread", machines, 3)


@pytest.mark.parametrize(
    ("placement", "problem"),
    [
        ([0, 1], "has 2 places for the 3 ranks"),
        ([0, 1, 2, 3], "has 4 places for the 3 ranks"),
        ([0, 1, 4], "names rank 4; ring:4,bandwidth=1GB/s,latency=1us has 4 ranks"),
        ([0, 1, -1], "names rank -1"),
        ([0, 2, 2], "puts two ranks on rank 2"),
    ],
)
def test_what_is_no_placement_is_refused(placement: list[int], problem: str) -> None:
    with pytest.raises(SimulationError, match=problem):
        simulate_traces(message(0, 1), RING4, placement=placement)
