"""Schedule to XML to program to schedule: bytes per link, order and result stay."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from homes import IN_NETWORK, home
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import greedy_all_gather

from hocket.base.errors import ScheduleError
from hocket.schedule import (
    Collective,
    Gpu,
    Kind,
    Program,
    Schedule,
    Step,
    StepType,
    ThreadBlock,
    concatenate,
    retime,
    reverse,
    verify,
)
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.topology import Topology, load
from hocket.translator import PROFILES, Lowering, from_xml, lower, program_schedule, read_xml, to_xml

RANKS = 4
NATIVE = [(name, kind) for name, algorithm in ALGORITHMS.items() for kind in algorithm.kinds if name not in IN_NETWORK]


def link_bytes(schedule: Schedule) -> list[int]:
    moved = np.zeros(schedule.topology.num_links, np.int64)
    bounds = schedule.route_offset.tolist()
    sizes = schedule.collective.chunk_bytes[schedule.chunk].tolist()
    for route, size in zip(schedule.route.tolist(), sizes, strict=True):
        moved[schedule.route_links[bounds[route] : bounds[route + 1]]] += size
    return moved.tolist()


def orders(schedule: Schedule) -> dict[tuple[int, int], list[tuple[int, bool]]]:
    """What each rank sends each other one, in order."""
    sent: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
    columns = (schedule.src, schedule.dst, schedule.chunk, schedule.reduce)
    for src, dst, chunk, reduce in zip(*(column.tolist() for column in columns), strict=True):
        sent[src, dst].append((chunk, reduce))
    return sent


def there_and_back(schedule: Schedule, profile: str, **options: int) -> Schedule:
    text = to_xml(lower(schedule, profile, Lowering(**options)), profile)
    program = from_xml(text, "x", profile=profile, root=schedule.collective.root)
    return program_schedule(program, schedule.topology, schedule.collective.size_bytes)


def grid(ranks: int) -> Topology:
    return load(f"ring:{ranks},bandwidth=1GB/s,latency=1us")


@settings(max_examples=60)
@given(
    kind=st.sampled_from([Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE]),
    ranks=st.integers(3, 7),
    chunks=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    profile=st.sampled_from(list(PROFILES)),
)
def test_timed_schedules_keep_bytes_order_and_result(
    kind: Kind, ranks: int, chunks: int, seed: int, profile: str
) -> None:
    gathering = greedy_all_gather(grid(ranks), chunks, seed)
    schedule = gathering
    if kind is not Kind.ALL_GATHER:
        schedule = scattering = reverse(greedy_all_gather(grid(ranks).reversed(), chunks, seed + 1))
        if kind is Kind.ALL_REDUCE:
            schedule = concatenate(scattering, gathering, Collective(kind, ranks, 1000 * ranks * chunks, chunks))
    again = there_and_back(schedule, profile)
    assert again.collective.kind == kind
    assert link_bytes(again) == link_bytes(schedule)
    assert orders(again) == orders(schedule)
    verify(again)


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize(("name", "kind"), NATIVE)
def test_native_algorithms_keep_bytes_and_result(name: str, kind: Kind, slots: int) -> None:
    root = 2 if kind in (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER) else 0
    schedule = retime(build(name, Collective(kind, RANKS, 12000, 3, root), home(name)))
    again = there_and_back(schedule, "executor", slots=slots)
    assert sum(link_bytes(again)) == sum(link_bytes(schedule))
    assert again.collective.root == root
    verify(again)


def test_a_round_trip_takes_no_longer_than_the_schedule_did() -> None:
    # a ring all_gather keeps its links full: 7 steps of 1 MiB at 1 GB/s and 1 us each, at depth 1 and back
    schedule = retime(build("ring", Collective(Kind.ALL_GATHER, 8, 8 << 20), grid(8)))
    assert schedule.time_ps == 7 * ((1 << 20) * 1000 + 10**6)
    assert there_and_back(schedule, "msccl").time_ps == schedule.time_ps


def send(buffer: str = "i", *, after: int = -1) -> Step:
    """After the last step of thread block `after`."""
    return Step(StepType.SEND, buffer, 0, "i", 0, 1, after, -1 if after < 0 else 0)


def add(source: str, target: str = "o", *, after: int = -1) -> Step:
    return Step(StepType.RECEIVE_REDUCE_COPY, source, 0, target, 0, 1, after, -1 if after < 0 else 0, True)


def to_root(*gpus: Gpu) -> Program:
    """A reduce of one chunk to the last rank."""
    return Program(
        name="beside",
        kind=Kind.REDUCE,
        chunks_per_loop=1,
        num_channels=1,
        protocol="Simple",
        in_place=False,
        out_of_place=True,
        min_bytes=0,
        max_bytes=0,
        gpus=gpus,
        root=len(gpus) - 1,
    )


def test_what_a_rank_sends_of_its_own_after_it_added_others_is_marked() -> None:
    # a right reduce to rank 2: rank 0 adds what rank 1 sends it into its output, and then sends on its input alone
    program = to_root(
        Gpu(1, 1, 0, (ThreadBlock(-1, 1, 0, (add("i"),)), ThreadBlock(2, -1, 0, (send(after=0),)))),
        Gpu(1, 1, 0, (ThreadBlock(0, -1, 0, (send(),)), ThreadBlock(2, -1, 0, (send(),)))),
        Gpu(1, 1, 0, (ThreadBlock(-1, 0, 0, (add("i"),)), ThreadBlock(-1, 1, 0, (add("o", after=0),)))),
    )
    schedule = program_schedule(program, load("fully_connected:3,bandwidth=1GB/s,latency=1us"), 3000)
    verify(schedule)
    assert schedule.own is not None
    marked = {(src, dst) for src, dst in zip(schedule.src[schedule.own], schedule.dst[schedule.own], strict=True)}
    assert marked == {(0, 2)}
    # It waits for nothing: 3000 bytes at 1 GB/s and a latency, however much rank 0 has got of the chunk.
    assert schedule.time_ps == 3_000_000 + 1_000_000


def test_partial_sums_beside_each_other_are_refused() -> None:
    # rank 0 has the sum of ranks 0 and 1 in its output, that of 0, 1 and 2 in its scratch, and sends on the first
    program = to_root(
        Gpu(
            1,
            1,
            1,
            (
                ThreadBlock(-1, 1, 0, (add("i"),)),
                ThreadBlock(-1, 2, 0, (add("o", "s", after=0),)),
                ThreadBlock(3, -1, 0, (send("o", after=1),)),
            ),
        ),
        Gpu(1, 1, 0, (ThreadBlock(0, -1, 0, (send(),)),)),
        Gpu(1, 1, 0, (ThreadBlock(0, -1, 0, (send(),)), ThreadBlock(3, -1, 0, (send(),)))),
        Gpu(1, 1, 0, (ThreadBlock(-1, 0, 0, (add("i"),)), ThreadBlock(-1, 2, 0, (add("o", after=0),)))),
    )
    with pytest.raises(
        ScheduleError,
        match="rank 0 thread block 2 step 0 sends chunk 0 with the contributions of ranks 0, 1, while the rank has "
        "them of ranks 0, 1, 2 elsewhere: a schedule has one value",
    ):
        program_schedule(program, load("fully_connected:4,bandwidth=1GB/s,latency=1us"), 3000)


@pytest.mark.shared
def test_references_become_schedules(shared: Path) -> None:
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as index:
        rows = [row for row in csv.DictReader(index) if row["xmlsim"] == "ok" and row["collective"] != "custom"]
    marked = []
    for row in rows:
        program = read_xml(folder / row["file"])
        topology = load(f"switch:{program.num_ranks},bandwidth=50GB/s,latency=500ns")
        schedule = program_schedule(program, topology, 1024 * program.chunks_per_loop)
        assert schedule.collective.kind == program.kind
        if schedule.own is not None:
            marked.append(Path(row["file"]).stem)
    # every rank sends its own to all others while it adds up theirs
    assert sorted(marked) == ["allreduce_1step_8g_i1_ll"] * 2 + ["ndv4__ap-1pass", "ndv5__ap-1pass"]
