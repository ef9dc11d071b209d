"""Into how many chunks a rank's part is best cut."""

from hocket.schedule import Collective, Kind
from hocket.synthesizer.portfolio import AUTO, best_schedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search
from hocket.topology import Topology

__all__ = ["choose_chunks"]

# Trials stay below this many transfers, and end after this many doublings in a row that did not help.
_TRIAL_TRANSFERS = 50_000
_TRIAL_ATTEMPTS = 4
_PATIENCE = 2
# Chunks cost what no model of time here counts (instructions, synchronization): more of them must save 3 %.
_WORTH_IT = 97


def choose_chunks(
    kind: Kind,
    topology: Topology,
    size_bytes: int,
    *,
    root: int = 0,
    engine: str = AUTO,
    seed: int = 0,
    blocking: bool = False,
) -> int:
    """Chunks per rank, of 1, 2, 4, 8, ..., for which a short search finds the quickest schedule.

    More chunks fill more links at once, and pay more latency. Deterministic; raises what `synthesize` does.
    """
    search = Search(seed, attempts=_TRIAL_ATTEMPTS)
    best_time, best_chunks, failures, chunks = None, 1, 0, 1
    while failures < _PATIENCE:
        collective = Collective(kind, topology.num_ranks, size_bytes, chunks, root)
        if chunks > 1 and collective.num_chunks * topology.num_ranks > _TRIAL_TRANSFERS:
            break
        time = best_schedule(Problem(collective, topology, blocking), search, engine).time_ps
        if best_time is None or time * 100 <= best_time * _WORTH_IT:
            best_time, best_chunks, failures = time, chunks, 0
        else:
            failures += 1
        chunks *= 2
    return best_chunks
