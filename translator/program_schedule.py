"""Program to timed schedule: what each message holds, in the order in which an interpreter sends it."""

from dataclasses import replace
from math import gcd

import numpy as np

from hocket.base.errors import ScheduleError
from hocket.schedule import FIFO_DEPTH, Collective, Kind, Passes, Program, Schedule, execute, retime, verify
from hocket.schedule.flatten import FlatProgram
from hocket.schedule.memory import lay_out
from hocket.simulator import simulate_program
from hocket.simulator.programs import first_pass
from hocket.topology import Topology, routes
from hocket.translator.lowering.contents import Contents

__all__ = ["program_schedule"]


def program_schedule(program: Program, topology: Topology, size: int, *, blocking: bool = False) -> Schedule:
    """The program as a timed schedule of `size` bytes (nccl-tests' size) on the topology, rank r on its rank r.

    The program is executed symbolically and simulated: a transfer for each chunk of each message, over the topology's
    route, links in the order of the simulation, at the earliest times (`retime`). A schedule has one value a rank and
    chunk, so what is received to be added later arrives when it is added. All_reduces of chunks that the ranks do not
    divide are cut finer. A rank's own contribution is marked so where the rank has added others' to it by then.
    Verified.

    Raises ScheduleError or DeadlockError for a program that is wrong, ScheduleError naming the step for one that moves
    partial sums that its rank holds beside others, and SimulationError for a size that the chunks do not divide.
    """
    if program.kind is Kind.CUSTOM:
        raise ScheduleError(f"{program.name}: a custom collective does not say what it achieves: it has no schedule")
    execute(program, fifo_depth=FIFO_DEPTH[program.protocol])
    passes = Passes.of(program, size)
    prediction = simulate_program(program, topology, size)
    flat = FlatProgram(program, lay_out(program, program.in_place))
    moves = Contents(flat, first_pass(program, passes, prediction)).moves()

    ranks, loop = program.num_ranks, program.chunks_per_loop
    shared = ranks if program.kind.cut_by_rank else 1
    parts = shared // gcd(loop, shared)
    rows = [
        (move.chunk, move.src, move.dst, move.reduce, move.start, move.finish, move.beside, move.own) for move in moves
    ]
    columns = np.array(rows).reshape(-1, 8)[np.argsort([move.start for move in moves])]
    chunk, src, dst, reduce, start, finish, beside, own = columns.T
    pairs, route = np.unique(src * ranks + dst, return_inverse=True)
    offset, links = routes(topology.graph, np.stack(np.divmod(pairs, ranks), axis=1).astype(np.int32))
    untimed = Schedule(
        collective=Collective(program.kind, ranks, size, loop * parts // shared, program.root),
        topology=topology,
        route_offset=offset,
        route_links=links,
        chunk=(chunk[:, None] * parts + np.arange(parts)).ravel().astype(np.int32),
        route=np.repeat(route.ravel(), parts).astype(np.int32),
        reduce=np.repeat(reduce, parts).astype(bool),
        start_ps=np.repeat(start, parts),
        finish_ps=np.repeat(finish, parts),
        timed=False,
        blocking=False,
        bound=None,
        generator=program.name or str(program.kind),
        seed=None,
        group=None if topology.num_ranks == ranks else np.arange(ranks, dtype=np.int32),
        own=np.repeat(beside, parts).astype(bool) if beside.any() else None,
    )
    verify(untimed)
    try:
        timed = retime(untimed, blocking)
    except ScheduleError:  # at these times ranks have added others' contributions before they send their own
        timed = retime(replace(untimed, own=np.repeat(own, parts).astype(bool)), blocking)
    verify(timed)
    return replace(timed, bound=None)
