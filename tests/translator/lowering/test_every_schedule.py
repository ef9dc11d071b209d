"""Every kind of schedule lowers for every runtime that can hold it, and is right with connections that hold one
message, whether they share thread blocks or not (MSCCL++: by its own proof); what is refused is beyond what the runtime
has, and the refusal says so."""

import re
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest
from homes import IN_NETWORK, LINK, home, products

from hocket.base.errors import ScheduleError
from hocket.schedule import NAMED_KINDS, Chunk, Collective, Conditions, Kind, Schedule
from hocket.schedule.algorithms import ALGORITHMS, build_all
from hocket.synthesizer import ENGINES, synthesize
from hocket.synthesizer.barrier import barrier
from hocket.topology import load
from hocket.translator import PROFILES, UNLIMITED, Lowering, lower
from hocket.translator.lowering.proving import prove
from hocket.translator.msccl.profiles import find_profile
from hocket.translator.mscclpp import lower_to_plan

KIB = 1 << 10
ROOTED = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)
BLOCKS = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.GATHER, Kind.SCATTER)
PLANS = "mscclpp"
IN_PLANS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BROADCAST)


def native(kind: Kind) -> Iterator[Schedule]:
    """By every native algorithm that can do it, on every kind of topology."""
    for ranks, chunks in ((2, 1), (4, 3), (6, 1), (8, 1)):
        root = ranks - 1 if kind in ROOTED else 0
        done = set()
        for topology in products(ranks):
            for schedule in build_all(Collective(kind, ranks, 12 * KIB * ranks, chunks, root), topology):
                moves = (schedule.src.tobytes(), schedule.dst.tobytes(), schedule.chunk.tobytes())
                if moves not in done:
                    done.add(moves)
                    yield schedule


def computing_switches(kind: Kind) -> Iterator[Schedule]:
    topology = home(IN_NETWORK[0])
    yield from build_all(Collective(kind, topology.num_ranks, 64 * KIB), topology)


def engines(kind: Kind) -> Iterator[Schedule]:
    """By every engine that can do it."""
    for engine in ENGINES:
        for spec in ("ring:4", "mesh:2x3", "hypercube:3"):
            topology = load(f"{spec},{LINK}")
            root = 1 if kind in ROOTED else 0
            try:
                found = synthesize(
                    Collective(kind, topology.num_ranks, 64 * KIB, 1, root), topology, engine=engine, attempts=1
                )
            except ScheduleError:
                continue
            yield found if isinstance(found, Schedule) else found.expand()


def group(kind: Kind) -> Iterator[Schedule]:
    """On some ranks of a topology, numbered in another order; where others pass chunks on, too."""
    topology = load(f"mesh:3x3,{LINK}")
    members = np.array([4, 1, 0, 3], np.int32)
    yield from build_all(Collective(kind, 4, 64 * KIB, 2, 2 if kind in ROOTED else 0), topology, members)
    corners = np.array([0, 2, 6, 8], np.int32)
    found = synthesize(Collective(kind, 4, 64 * KIB), topology, group=corners, relays=True, attempts=1)
    yield found if isinstance(found, Schedule) else found.expand()


def uneven(kind: Kind) -> Iterator[Schedule]:
    """Blocks of differing sizes, of which some are empty; of one size; all empty."""
    topology = load(f"fully_connected:4,{LINK}")
    number = 4 if kind in BLOCKS else 16
    if kind in (*BLOCKS, Kind.ALL_TO_ALL):
        for sizes in ([0, 8, 16, 24] * (number // 4), [16] * number, [0] * number):
            collective = Collective.uneven(kind, 4, sizes, 2)
            yield from build_all(collective, topology)
            yield synthesize(collective, topology, attempts=1)


def without_bytes(kind: Kind) -> Iterator[Schedule]:
    topology = load(f"fully_connected:4,{LINK}")
    yield from build_all(Collective(kind, 4, 0), topology)
    yield synthesize(Collective(kind, 4, 0), topology, attempts=1)


def alone(kind: Kind) -> Iterator[Schedule]:
    yield from build_all(Collective(kind, 1, 64 * KIB), load(f"ring:2,{LINK}"), np.array([0], np.int32))


def custom(kind: Kind) -> Iterator[Schedule]:
    """Collectives with conditions of their own: a barrier, and one that sends a chunk here and adds one there."""
    topology = load(f"ring:4,{LINK}")
    mixed = Conditions.of(4, [Chunk([0], [2, 3], 64), Chunk(range(4), [1], 128)])
    for collective in (barrier(4), Collective.custom(4, mixed)):
        yield synthesize(collective, topology, attempts=1)


SOURCES = (native, computing_switches, engines, group, uneven, without_bytes, alone)
RUNTIMES = (*PROFILES, UNLIMITED.name, PLANS)


@cache
def schedules(source: Callable[[Kind], Iterator[Schedule]], kind: Kind) -> tuple[Schedule, ...]:
    return tuple(source(kind))


def limit(schedule: Schedule, runtime: str, in_place: bool) -> str | None:
    """What no program of the runtime can do of a schedule, as its refusal says it; None: nothing."""
    collective, kind = schedule.collective, schedule.collective.kind
    if runtime == PLANS and kind not in IN_PLANS:
        return f"plans have no {kind}"
    if set(collective.block_bytes or ()) == {0}:
        return "no runtime starts a kernel for a call without bytes"
    if len(set(collective.block_bytes or ())) > 1:
        return "MSCCL programs cut buffers into equal chunks"
    if schedule.dst.max(initial=0) >= collective.num_ranks:
        helper = schedule.relay_nodes.min()
        if helper < schedule.topology.num_ranks:
            return "not in the group"
        if runtime != PLANS:
            return "lets switches .* add and copy chunks"
        if len(set(schedule.topology.machine[schedule.ranks].tolist())) > 1:
            return "lets switches of several machines add and copy chunks"
        between = (schedule.src < collective.num_ranks) & (schedule.dst < collective.num_ranks)
        return "its ranks send to each other and over switches" if between.any() else None
    if kind is Kind.CUSTOM:
        return "no buffers that a runtime knows"
    if runtime == UNLIMITED.name:
        return None
    if runtime != PLANS and kind not in find_profile(runtime).collective_names:
        return f"it has no collective {kind}"
    if runtime == "msccl" and kind is Kind.ALL_TO_ALL and in_place:
        return "this runtime refuses in-place all_to_all"
    if collective.num_ranks == 1 and in_place and kind is not Kind.ALL_TO_ALL:
        return "rank 0: no thread block"
    return None


def check(schedule: Schedule, runtime: str, in_place: bool, paired: bool) -> None:
    expected = limit(schedule, runtime, in_place)
    asked = Lowering(in_place=in_place, paired=True if paired else None)
    try:
        if runtime == PLANS:
            assert lower_to_plan(schedule, asked).proof.values
        else:
            translation = prove(lower(schedule, runtime, asked), runtime, slots=1)
            assert [proof.fifo_depth for proof in translation.proofs] == [1, 2]
            assert all(proof.values for proof in translation.proofs)
    except ScheduleError as error:
        assert expected is not None and re.search(expected, str(error)), f"{schedule.generator}: {error}"
    else:
        assert expected is None, f"{schedule.generator} was expected to be refused: {expected}"


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("kind", NAMED_KINDS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_schedule(source: Callable[[Kind], Iterator[Schedule]], kind: Kind, runtime: str) -> None:
    for schedule in schedules(source, kind):
        for in_place in (True, False):
            check(schedule, runtime, in_place, paired=False)
        if runtime != PLANS:
            check(schedule, runtime, in_place=False, paired=True)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_collectives_with_conditions_of_their_own_are_refused(runtime: str) -> None:
    for schedule in schedules(custom, Kind.CUSTOM):
        check(schedule, runtime, in_place=True, paired=False)


def test_all_there_is_is_tried() -> None:
    """Every native algorithm and every engine, for each collective that it can do."""
    for name, algorithm in ALGORITHMS.items():
        for kind in algorithm.kinds:
            found = (*schedules(native, kind), *schedules(computing_switches, kind))
            assert name in {schedule.generator for schedule in found}, (name, kind)
    made = {schedule.generator for kind in NAMED_KINDS for schedule in schedules(engines, kind)}
    # `balancing` is for blocks that differ, which no program has.
    assert set(ENGINES) - {"native", "exact", "balancing"} <= made
