"""Measures one case in the process that runs this: a JSON Case comes in, a JSON Outcome goes out."""

import sys
import time

import msgspec
import numpy as np

from hocket.base.errors import HocketError
from hocket.base.memory import peak_rss_bytes
from hocket.bench.peers.case import Case, Outcome, Sharing
from hocket.bench.peers.graphs import network_of
from hocket.schedule import Collective
from hocket.synthesizer import Problem, Search, solve, solve_together
from hocket.topology import Topology

__all__ = ["measure"]


def measure(case: Case) -> Outcome:
    """Synthesizes the case as a user would. What Hocket refuses, or has no memory for, is the outcome's error."""
    topology, search = network_of(case), Search(threads=case.threads)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        if case.sharing is None:
            found = solve(Problem(_collective(case, topology.num_ranks), topology, blocking=True), search)
        else:
            found = solve_together(_problems(case, case.sharing, topology), search).whole
    except (HocketError, MemoryError) as error:
        return Outcome(case.name, error=str(error) or "more memory than --memory allows")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    schedule = found.schedule
    assert schedule.bound is not None
    return Outcome(
        name=case.name,
        time_ps=schedule.time_ps,
        bound_ps=schedule.bound.time_ps,
        search_seconds=found.seconds,
        wall_seconds=wall,
        cpu_seconds=cpu,
        peak_bytes=peak_rss_bytes(),
        transfers=schedule.num_transfers,
        engine=schedule.generator,
    )


def _collective(case: Case, ranks: int) -> Collective:
    return Collective(case.kind, ranks, case.size_bytes, case.chunks)


def _problems(case: Case, sharing: Sharing, topology: Topology) -> list[Problem]:
    return [
        Problem(_collective(case, len(group)), topology, True, np.array(group, np.int32), sharing.relays)
        for group in sharing.groups
    ]


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.encode(measure(msgspec.json.decode(sys.stdin.buffer.read(), type=Case))))
