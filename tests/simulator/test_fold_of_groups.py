"""Groups stand for others where these do the same, member by member, link by link: jobs made by hand."""

from collections.abc import Iterator

import numpy as np
import pytest
from tests.simulator.test_fold_of_jobs import LINK, both, require_equal

from hocket.base.errors import TraceError
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.simulator import Fidelity, simulate_traces
from hocket.topology import load


def job(
    num_ranks: int, groups: dict[str, tuple[int, ...]], program: Iterator[TraceBuilder] | list[TraceBuilder]
) -> TraceSet:
    traces = tuple(each.build() for each in program)
    assert len(traces) == num_ranks
    return TraceSet(traces, groups)


def gathering(second: tuple[int, ...]) -> TraceSet:
    """Two groups of four ranks that come at four times, the first in ascending order."""
    groups, programs = {"first": (0, 1, 2, 3), "second": second}, []
    for rank in range(8):
        trace = TraceBuilder()
        computed = trace.add_comp("work", duration_ns=1 + 5_000 * (rank % 4) ** 2)
        group = "first" if rank < 4 else "second"
        trace.add_collective("gather", CollectiveType.ALL_GATHER, 1 << 20, group=group, deps=[computed])
        programs.append(trace)
    return job(8, groups, programs)


@pytest.mark.parametrize("algorithm", ["ring", "auto"])
def test_members_that_do_unlike_things_have_links_of_their_own(algorithm: str) -> None:
    whole, folded = both(gathering((4, 5, 6, 7)), load(f"switch:8,{LINK}"), algorithm)
    require_equal(whole, folded)
    assert folded.workload.num_ranks < 8


@pytest.mark.parametrize("algorithm", ["ring", "auto"])
def test_the_order_of_members_is_alike(algorithm: str) -> None:
    """With the members of one in another order each hears from other ranks."""
    require_equal(*both(gathering((4, 6, 5, 7)), load(f"switch:8,{LINK}"), algorithm))


@pytest.mark.parametrize("topology", [f"ring:8,{LINK}", f"torus:2x4,{LINK}"])
def test_ranks_of_two_groups(topology: str) -> None:
    """Ranks 0 and 1 have two groups of the same ranks: the groups for which these stand are unlike."""
    pairs = {"a": [(0, 1), (2, 3), (4, 5), (6, 7)], "b": [(0, 1), (2, 3), (4, 6), (5, 7)]}
    groups = {f"{name}{at}": pair for name, each in pairs.items() for at, pair in enumerate(each)}
    programs = []
    for rank in range(8):
        trace, before = TraceBuilder(), []
        for name in pairs:
            group = next(each for each, ranks in groups.items() if rank in ranks and each.startswith(name))
            before = [trace.add_collective("sum", CollectiveType.ALL_REDUCE, 1 << 20, group=group, deps=before)]
        programs.append(trace)
    whole, folded = both(job(8, groups, programs), load(topology), "ring")
    require_equal(whole, folded)
    assert np.unique(whole.link_bytes).size > 1


def test_messages_that_nobody_receives_are_counted_on_all_ranks() -> None:
    programs = []
    for rank in range(6):
        trace, others = TraceBuilder(), ((rank + 1) % 6, (rank - 1) % 6)
        for tag, other in enumerate(others):
            trace.add_send("lost", 4096, src=rank, dst=other, tag=tag)
        programs.append(trace)
    whole, folded = both(job(6, {}, programs), load(f"switch:6,{LINK}"))
    require_equal(whole, folded)
    assert folded.workload.num_ranks == 1
    assert whole.notes == ("12 messages are sent but never received",)


def calling(names: list[str], groups: dict[str, tuple[int, ...]]) -> TraceSet:
    programs = [TraceBuilder() for _ in names]
    for trace, group in zip(programs, names, strict=True):
        trace.add_collective("sum", CollectiveType.ALL_REDUCE, 4096, group=group)
    return job(len(names), groups, programs)


def sending(sources: list[int]) -> TraceSet:
    programs = []
    for rank, source in enumerate(sources):
        trace = TraceBuilder()
        trace.add_send("right", 4096, src=source, dst=(rank + 1) % 4)
        trace.add_recv("left", 4096, src=(rank - 1) % 4, dst=rank)
        programs.append(trace)
    return job(4, {}, programs)


@pytest.mark.parametrize(
    ("traces", "told"),
    [
        (calling(["a", "a", "b", "b"], {"a": (0, 1)}), "rank 2.*process group 'b' is unknown"),
        (calling(["a", "a", "a", "a"], {"a": (0, 1)}), "rank 2.*without rank 2"),
        (calling(["a", "a", "b", "b"], {"a": (0, 1, 7), "b": (2, 3, 6)}), "has rank 7"),
        (sending([0, 1, 0, 3]), "rank 2.*comm_src is 0"),
    ],
)
def test_what_is_wrong_on_one_rank_is_told(traces: TraceSet, told: str) -> None:
    """Whoever stands for it: the errors are those of the whole job."""
    for folded in (False, True):
        with pytest.raises(TraceError, match=told):
            simulate_traces(traces, load(f"switch:8,{LINK}"), folded=folded)


def behind_others() -> TraceSet:
    """Of two cells, ranks 2 and 3 (4 and 5) send to 8 (9) at one instant: when collectives that came to their links
    before are through. Of these the leaders (0 and 1; 7 and 6) have another order than the senders."""
    groups, programs = {"a0": (0, 2), "b0": (1, 3), "a1": (7, 4), "b1": (6, 5)}, [TraceBuilder() for _ in range(10)]
    sizes = {"a": 1 << 20, "b": 1 << 18}
    for name, (leader, sender) in groups.items():
        for rank in (leader, sender):
            trace = programs[rank]
            add = trace.add_send if rank == sender else trace.add_recv
            add("first", 1 << 20, src=sender, dst=leader, tag=9)
            work = trace.add_comp(f"work {name[0]}", duration_ns=1_000)
            trace.add_collective("gather", CollectiveType.ALL_GATHER, 1 << 20, group=name, deps=[work])
            if rank == sender:
                work = trace.add_comp("more", duration_ns=3_000)
                trace.add_send("last", sizes[name[0]], src=rank, dst=8 + int(name[1]), deps=[work])
        programs[8 + int(name[1])].add_recv("last", sizes[name[0]], src=sender, dst=8 + int(name[1]))
    return job(10, groups, programs)


@pytest.mark.parametrize("queueing", ["fifo", "lifo", "priority", "smallest_remaining"])
def test_ties_behind_what_went_before(queueing: str) -> None:
    whole, folded = both(behind_others(), load(f"switch:10,{LINK}"), "ring", Fidelity(queueing=queueing))
    require_equal(whole, folded)
    assert folded.workload.num_ranks == (5 if queueing == "fifo" else 10)


def test_a_rooted_collective_of_groups_whose_links_stand_for_each_other() -> None:
    """The link that stands for a group's link may begin at a rank outside it."""
    groups, programs = {"even": (0, 2), "odd": (3, 1)}, []
    for rank in range(4):
        trace, peer = TraceBuilder(), 3 - rank
        ends = {"src": rank, "dst": peer, "tag": 0}
        sent = trace.add_send("send", 1 << 20, **ends)
        received = trace.add_recv("receive", 1 << 20, src=peer, dst=rank, tag=0)
        name = "even" if rank in groups["even"] else "odd"
        trace.add_collective(
            "sum", CollectiveType.REDUCE, 1 << 20, group=name, root=groups[name][0], deps=[sent, received]
        )
        programs.append(trace)
    require_equal(*both(job(4, groups, programs), load("switch:4,bandwidth=50GB/s,latency=0ns"), "auto"))
