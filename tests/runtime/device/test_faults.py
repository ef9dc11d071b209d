"""Ranks that do not come, come late or are in another call: the others leave in time, and say for whom they waited."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import handmade
import numpy as np
import pytest
from engine_world import Meeting

from hocket._core import executor
from hocket.base.errors import HocketError
from hocket.runtime.device.threads import ThreadRank
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.elements import ELEMENT_NUMBER
from hocket.runtime.engine.library import Library, ServedProgram
from hocket.schedule import Kind

RANKS = 4
PROTOCOLS = ("Simple", "LL")
LIMIT_MS = 500


class World:
    """Ranks of this process that run an all_reduce, each with its own thread."""

    def __init__(self, protocol: str, lanes: int) -> None:
        self.served = ServedProgram("ring", replace(handmade.PROGRAMS[Kind.ALL_REDUCE](RANKS), protocol=protocol))
        self.library = Library("made", [self.served])
        self.wiring, meeting = Wiring.of([self.served.program]), Meeting(RANKS)
        window = self.wiring.window(512, 512)

        def join(rank: int) -> ThreadRank:
            return ThreadRank(self.wiring, rank, meeting.tell(rank), lanes=lanes, window=window)

        with ThreadPoolExecutor(RANKS) as threads:
            self.ranks = list(threads.map(join, range(RANKS)))
        self.tables = [rank.tables(0, self.served.part(number)) for number, rank in enumerate(self.ranks)]

    def call(self, rank: int, elements: int) -> None:
        data = np.full(elements, rank + 1.0, np.float32)
        way = self.wiring.way(0, ELEMENT_NUMBER["float32"], 0, (4 * elements,), LIMIT_MS)
        place = data.ctypes.data
        library: executor.Library = self.library.native
        self.ranks[rank].serve(library, (0, True), self.tables[rank], (place, place, True), 4 * elements, 4, way)
        assert (data == sum(range(1, RANKS + 1))).all()

    def told(self, body: Callable[[int], None]) -> list[str]:
        """What each rank raises."""

        def one(rank: int) -> str:
            try:
                body(rank)
            except HocketError as error:
                return str(error)
            return ""

        with ThreadPoolExecutor(RANKS) as threads:
            return list(threads.map(one, range(RANKS)))


@pytest.fixture(params=[(protocol, lanes) for protocol in PROTOCOLS for lanes in (1, 2)], ids=str)
def world(request: pytest.FixtureRequest) -> World:
    world = World(*request.param)
    assert world.told(lambda rank: world.call(rank, 1000)) == [""] * RANKS
    return world


def test_a_rank_that_does_not_come_is_named_and_nobody_waits_for_ever(world: World) -> None:
    told = world.told(lambda rank: world.call(rank, 1000) if rank != 2 else None)
    assert told[2] == ""
    assert all(told[rank] for rank in (0, 1, 3))
    assert any("rank 2 has not begun this collective in time" in one for one in told), told
    assert all("rank 2 has not begun" in one or "gave up" in one for one in told if one), told
    # the counts of messages are no longer those of the others
    again = world.told(lambda rank: world.call(rank, 1000))
    assert all(again), again


def test_a_rank_in_a_call_of_another_size_is_told_of(world: World) -> None:
    told = world.told(lambda rank: world.call(rank, 2000 if rank == 1 else 1000))
    assert all(told)
    assert any("is in another collective, or in one of another size, type or program" in one for one in told), told


def test_who_closes_is_noticed_at_once(world: World) -> None:
    world.ranks[3].close()
    told = world.told(lambda rank: world.call(rank, 1000) if rank != 3 else None)
    assert "rank 3 gave up" in "".join(told)
