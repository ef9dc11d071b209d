"""How an engine comes to an all_reduce."""

from hocket.schedule import Collective, Kind
from hocket.synthesizer import ENGINES, Problem, Progress, Search
from hocket.synthesizer.derived_engines import Halves
from hocket.topology import load


def test_halves_are_tried_unless_a_known_schedule_is_far_quicker_than_their_bounds() -> None:
    problem = Problem(Collective(Kind.ALL_REDUCE, 16, 2**30), load("mesh:4x4,bandwidth=50GiB/s,latency=500ns"))
    halves = Halves(ENGINES["rounds"])
    # Each half brings 15 chunks into, or out of, a corner over two links: 8 of 64 MiB take 10 ms and 0.5 us.
    # A known schedule is far quicker where 1.25 of it is less than both, 20.001 ms: below 16.0008 ms.
    for known_ps, tried in [(None, True), (16_001_000_000, True), (16_000_000_000, False)]:
        search = Search(attempts=1, progress=Progress(best_ps=known_ps))
        assert bool(list(halves.solve(problem, search))) is tried, known_ps
