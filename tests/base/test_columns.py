"""Columns that do not fit what they speak of are refused: the engine in C++ never reads beyond them."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from hocket._core import schedule, synthesizer, topology
from hocket.base.errors import HocketError

RANKS = 4
ROUTES = np.arange(9, dtype=np.int64), np.arange(8, dtype=np.int32)


def ids(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def amounts(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def ring() -> topology.Graph:
    src, dst = ids(0, 1, 2, 3, 1, 2, 3, 0), ids(1, 2, 3, 0, 0, 1, 2, 3)
    return topology.Graph(RANKS, RANKS, src, dst, np.full(8, 500), np.full(8, 10**9))


def network() -> synthesizer.Network:
    return synthesizer.Network(ring(), *ROUTES, 1000, False)


def rounds(origin: NDArray[np.int32], ranks: int = RANKS, threads: int = 1) -> None:
    links = network()
    sink = synthesizer.RoundColumns(synthesizer.round_times(links, 1))
    orbits = synthesizer.Orbits(ranks, ids())
    synthesizer.RoundSearch(links, orbits, origin, 1, False, 0, 0, threads, 2**61, sink, synthesizer.Stop()).run()


def matching(ranks: int) -> None:
    sets, everyone, none = schedule.RankSets(ranks, amounts(0), ids()), ids(-1), (amounts(), ids())
    synthesizer.Matcher(network(), synthesizer.Demand(sets, ids(0), everyone, everyone, *none), 0)


def routing(src: NDArray[np.int32], dst: NDArray[np.int32], relays: int = RANKS) -> None:
    synthesizer.PacketRouter(ring(), src, dst, amounts(1, 1), np.ones(relays, np.uint8), False, 0)


def exchange(sizes: NDArray[np.int32], turns: list[bool]) -> None:
    box = synthesizer.Translations(network(), sizes, np.array(turns))
    synthesizer.symmetric_exchange(box, 1, synthesizer.Stop())


def trees(root: NDArray[np.int32]) -> None:
    links, chunk_bytes = ids(*range(network().num_links)), amounts(*[10] * len(root))
    synthesizer.trees(network(), links, root, True, chunk_bytes, 100, 1, 100, 1, 0, 0, synthesizer.Stop())


def least_times(sets: NDArray[np.int32], chunks: NDArray[np.int64]) -> None:
    """Of two sets of a link each."""
    offset, links = amounts(0, 1, 2), ids(0, 1)
    schedule.least_times(ring(), offset, links, sets, chunks, amounts(10), 1, schedule.Holding.WIRE)


def flow(rank: NDArray[np.int32], chunks: NDArray[np.int64], sink: int) -> None:
    schedule.flow_bound(ring(), rank, chunks, amounts(10, 10), 10, sink, schedule.Holding.WIRE, 0)


def paths(dst: NDArray[np.int32], prices: NDArray[np.int64]) -> None:
    schedule.path_bound(ring(), ids(0, 1), dst, amounts(10, 10), 10, True, schedule.Holding.WIRE, prices, 0)


def folded(spread: schedule.Spread, num_chunks: int, root: int = 0, size: int = RANKS) -> None:
    around = [size], [schedule.Motion.SHIFT]
    orbit = ids(0, 0, 0, 0, 4, 4, 4, 4)
    schedule.FoldedChecker(ring(), *ROUTES, orbit, *around, spread, 1, root, num_chunks, 1000, False, False)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rounds(ids(0, 1, 2, -1)),
        lambda: rounds(ids(0, 1, 2, RANKS)),
        lambda: rounds(ids(0), ranks=3),
        lambda: rounds(ids(0), threads=0),
        lambda: matching(3),
        lambda: matching(5),
        lambda: routing(ids(0, 1), ids(2)),
        lambda: routing(ids(0, -1), ids(2, 3)),
        lambda: routing(ids(0, 1), ids(2, 3), relays=1000),
        lambda: exchange(ids(2, 3), [True, True]),
        lambda: exchange(ids(2, 2), [True, False]),
        lambda: exchange(ids(2**30, 2**30), [True, True]),
        lambda: exchange(ids(4), [True, True]),
        lambda: trees(ids()),
        lambda: trees(ids(0, RANKS)),
        lambda: flow(ids(0, 9), amounts(1, 1), 2),
        lambda: flow(ids(0, 1), amounts(1), 2),
        lambda: flow(ids(0, 1), amounts(1, -1), 2),
        lambda: flow(ids(0, 1), amounts(1, 1), -1),
        lambda: paths(ids(2, 99), np.ones(8, np.int64)),
        lambda: paths(ids(2, 3), np.ones(7, np.int64)),
        lambda: paths(ids(2, 3), np.zeros(8, np.int64)),
        lambda: paths(ids(2, 3), np.full(8, -1)),
        lambda: folded(schedule.Spread.FROM_EACH, 5),
        lambda: folded(schedule.Spread.FROM_ROOT, 1),
        lambda: folded(schedule.Spread.FROM_EACH, 4, root=7),
        lambda: folded(schedule.Spread.EACH_TO_EACH, 16, size=2),
        lambda: synthesizer.Network(ring(), amounts(0, 9), ids(0, 1, 2), 1000, False),
        lambda: synthesizer.Network(ring(), amounts(0, 1), ids(-1), 1000, False),
        lambda: synthesizer.Network(ring(), amounts(0), ids(), 1000, False).rounds_per_hop,
        lambda: synthesizer.Network(ring(), *ROUTES, 0, False).rounds_per_hop,
        lambda: topology.link_images(ring(), ids(1, 2, 3, 100), np.zeros(8, np.int32)),
        lambda: topology.link_images(ring(), ids(1, 2, 3, 0), np.zeros(1, np.int32)),
        lambda: topology.least_images(3, ids(1, 2, 3)),
        lambda: topology.least_images(4, ids(1, 2, 3)),
        lambda: schedule.least_time(ring(), ids(8), 1, 1, 1, schedule.Holding.WIRE),
        lambda: least_times(ids(8), amounts(1)),
        lambda: least_times(ids(1), amounts(1, 1)),
        lambda: least_times(ids(1), amounts(-1)),
        lambda: schedule.least_times(
            ring(), amounts(0, 9), ids(0, 1), ids(0), amounts(1), amounts(1), 1, schedule.Holding.WIRE
        ),
        lambda: schedule.grow_trees(4, amounts(0, 1), amounts(1)),
        lambda: schedule.grow_trees(4, amounts(0, 4), amounts(1, 2)),
    ],
)
def test_columns_that_do_not_fit_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(HocketError):
        call()


def test_those_that_fit_are_not() -> None:
    rounds(ids(0, 1, 2, 3))
    least_times(ids(1), amounts(1))
    matching(RANKS)
    routing(ids(0, 1), ids(2, 3))
    exchange(ids(4), [True])
    trees(ids(0, 3))
    flow(ids(0, 1), amounts(1, 1), 2)
    paths(ids(2, 3), np.ones(8, np.int64))
    folded(schedule.Spread.FROM_EACH, 4)
