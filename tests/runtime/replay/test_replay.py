"""Plans of replays, played by threads in place of ranks; comparisons; what is refused."""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import replay_jobs
from hypothesis import given, settings
from in_process import hocket
from random_jobs import jobs

from hocket.base.errors import DeadlockError, TraceError
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet
from hocket.runtime.replay.comparison import compare
from hocket.runtime.replay.elements import Element, element_of
from hocket.runtime.replay.fabric import Pending, Start
from hocket.runtime.replay.measured import Measured
from hocket.runtime.replay.operation import RECEIVE, SEND, Operation
from hocket.runtime.replay.plan import ReplayPlan, plan_replay
from hocket.runtime.replay.player import Player
from hocket.runtime.replay.playing import Part

EXAMPLES = Path(__file__).parents[3] / "examples" / "traces"


class Meeting:
    """Where ranks that are threads meet: an operation ends when all that take part have started it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.present: Counter[object] = Counter()
        self.done: defaultdict[object, threading.Event] = defaultdict(threading.Event)


class ThreadFabric:
    def __init__(self, rank: int, size: int, meeting: Meeting) -> None:
        self.rank, self.size, self._meeting = rank, size, meeting
        self._turn: Counter[object] = Counter()
        self.issued: list[Operation] = []

    def prepare(self, operations: Sequence[Operation]) -> list[Start]:
        return [self._start(operation) for operation in operations]

    def _start(self, operation: Operation) -> Start:
        ends = {SEND: (self.rank, operation.peer), RECEIVE: (operation.peer, self.rank)}.get(operation.kind)
        place: object = operation.group if ends is None else (*ends, operation.tag)
        members = operation.group_size if ends is None else 2

        def start(ended: Callable[[], None]) -> Pending:
            with self._meeting.lock:
                key = place, self._turn[place, operation.kind if ends else ""]
                self._turn[place, operation.kind if ends else ""] += 1
                self.issued.append(operation)
                self._meeting.present[key] += 1
                done = self._meeting.done[key]
                if self._meeting.present[key] == members:
                    done.set()
            return done

        return start

    def gather(self, value: bytes) -> list[bytes]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def play(plan: ReplayPlan) -> tuple[list[ThreadFabric], list[tuple[Any, Any]]]:
    """Plays on threads; fabrics and times of the ranks. Fails where they wait for each other."""
    meeting, errors = Meeting(), list[BaseException]()
    fabrics = [ThreadFabric(rank, plan.num_ranks, meeting) for rank in range(plan.num_ranks)]
    times: list[Any] = [None] * plan.num_ranks

    def run(rank: int) -> None:
        player = Player(plan.programs[rank], fabrics[rank], lambda _: None, errors.append, timeout_s=100)
        times[rank] = player.play()

    threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(plan.num_ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors
    assert not any(thread.is_alive() for thread in threads)
    return fabrics, times


@settings(max_examples=60)
@given(job=jobs())
def test_random_jobs_end_with_every_dependency_kept(job: TraceSet) -> None:
    plan = plan_replay(job)
    fabrics, times = play(plan)
    workload = plan.workload
    start, finish = np.zeros(len(workload.kind), np.int64), np.zeros(len(workload.kind), np.int64)
    for program, fabric, (own_start, own_finish) in zip(plan.programs, fabrics, times, strict=True):
        assert len(fabric.issued) == sum(operation >= 0 for operation in program.operation)
        start[program.row], finish[program.row] = own_start, own_finish
    owner = np.repeat(np.arange(len(start)), np.diff(workload.dependency_offset))
    # What ends only when its first consumer waits, ends in that wait; each node begins after it.
    assert (finish[workload.dependency] <= start[owner]).all()


def test_a_prefetch_runs_beside_computation_and_a_second_chain_on_its_own_thread() -> None:
    """1 computes, 2 gathers after 1, 3 gathers after 2, while 4 computes after 1: 3 must not hold up 4."""
    builders = [TraceBuilder() for _ in range(2)]
    for builder in builders:
        one = builder.add_comp("1")
        two = builder.add_collective("2", CollectiveType.ALL_GATHER, 8, deps=[one])
        builder.add_collective("3", CollectiveType.ALL_GATHER, 8, deps=[two])
        builder.add_comp("4", deps=[one])
    program = plan_replay(TraceSet(tuple(builder.build() for builder in builders))).programs[0]
    assert program.stream == [0, 0, 1, 0]
    assert program.waits == [(), (), (1,), ()]
    assert program.after == [-1, -1, 1, -1]  # of one group: 2 first, whichever thread is faster


def test_each_rank_has_its_part_of_uneven_blocks() -> None:
    plan = plan_replay(replay_jobs.every_kind())
    for rank, program in enumerate(plan.programs):
        uneven = next(o for o in program.operations if o.kind == "all_to_all" and o.element.name == "float64")
        # rank r has (r + 1) elements times 1, 2, 3, 4 for the members, and gets rank + 1 times 1, 2, 3, 4 from them
        assert uneven.sent == tuple((rank + 1) * part for part in (1, 2, 3, 4))
        assert uneven.received == tuple((sender + 1) * (rank + 1) for sender in range(4))
    # The largest input is 4096 bytes, the largest output that of the all_gather of 4 x 1024 or of an all_to_all.
    assert plan.programs[0].buffer_bytes == (4096, 4096)


def test_elements_divide_their_blocks_and_have_stand_ins() -> None:
    assert element_of("bfloat16", (6, 8)) == Element("bfloat16", 2)
    assert element_of("float8_e4m3fn", (3,)) == Element("float8_e4m3fn", 1)
    assert element_of("float64", (12,)) == Element("uint8", 1)  # 12 is no multiple of 8
    assert element_of("", (12,)) == Element("float32", 4)
    assert element_of("", (6,)) == Element("uint8", 1)
    assert Element("bfloat16", 2).within(("int16", "uint8")) == Element("int16", 2)
    assert Element("complex128", 16).within(("int64", "uint8")) == Element("uint8", 1)


def two_ranks(*calls: Callable[[TraceBuilder, int], None]) -> TraceSet:
    builders = [TraceBuilder() for _ in range(2)]
    for call in calls:
        for rank, builder in enumerate(builders):
            call(builder, rank)
    return TraceSet(tuple(builder.build() for builder in builders))


def test_times_are_compared_from_the_last_start_to_the_last_end() -> None:
    """Ranks compute 1 and 3 us, then add 100 bytes, which was recorded to take 5 and 3 us: until 6 us."""

    def compute(builder: TraceBuilder, rank: int) -> None:
        builder.add_comp("work", duration_ns=1000 + 2000 * rank)

    def add(builder: TraceBuilder, rank: int) -> None:
        start, duration = 1 + 2 * rank, 5000 - 2000 * rank
        kind = CollectiveType.ALL_REDUCE
        builder.add_collective("add", kind, 100, start_us=start, duration_ns=duration, deps=[0])

    traces = two_ranks(compute, add)
    plan = plan_replay(traces)
    # Rows: rank 0's work and add, rank 1's. One iteration, in ns.
    start, finish = np.array([[0, 2000, 500, 4500]]), np.array([[2000, 6500, 4500, 7500]])
    comparison = compare(traces, plan, Measured(start, finish, one_clock=True), None)
    (row,) = comparison.operations
    assert row.measured_ps == (7500 - 4500) * 1000
    assert row.recorded_ps == (6 - 3) * 10**6
    assert row.predicted_ps is None
    assert row.algbw == pytest.approx(100 * 10**12 / 3_000_000)
    assert comparison.measured_ps == 7_500_000
    assert comparison.recorded_ps == 6_000_000
    assert [rank.time_ps for rank in comparison.ranks] == [6_500_000, 7_000_000]
    assert [rank.exposed_ps for rank in comparison.ranks] == [4_500_000, 3_000_000]
    assert [rank.recorded_exposed_ps for rank in comparison.ranks] == [5_000_000, 3_000_000]
    assert comparison.straggler == 1
    assert comparison.ranks[1].delay_ps == (4500 - 2000) * 1000


def test_ranks_that_would_wait_for_each_other_are_refused_before_the_start() -> None:
    """Both wait for the other's message before they send theirs."""

    def exchange(builder: TraceBuilder, rank: int) -> None:
        received = builder.add_recv("in", 8, src=1 - rank, dst=rank)
        builder.add_send("out", 8, src=rank, dst=1 - rank, deps=[received])

    with pytest.raises(DeadlockError, match=r"stops at rank 0, node 1 \(out\); rank 1, node 1 \(out\)"):
        plan_replay(two_ranks(exchange))


def test_what_validation_finds_is_refused() -> None:
    def different(builder: TraceBuilder, rank: int) -> None:
        builder.add_collective("add", CollectiveType.ALL_REDUCE, 8 + rank)

    with pytest.raises(TraceError, match="9 here and 8 on rank 0"):
        plan_replay(two_ranks(different))


def huge(builder: TraceBuilder, rank: int) -> None:
    builder.add_collective("add", CollectiveType.ALL_REDUCE, 1 << 50)


def strange(builder: TraceBuilder, rank: int) -> None:
    builder.add_collective("add", CollectiveType.ALL_REDUCE, 8, group="7")


def outside(folder: Path) -> None:
    (folder / "comm_groups.json").write_text('{"0": [0, 1, 2, 3], "1": [0, 2, 9], "2": [1, 3]}')


@pytest.mark.torch
@pytest.mark.parametrize(
    ("job", "damage", "options", "words"),
    [
        (None, None, ["-n", "3"], "of 4 ranks, asked to replay on 3; use -n 4"),
        (None, lambda folder: (folder / "trace.2.et").unlink(), [], "the trace of rank 2 is missing"),
        (None, lambda folder: (folder / "trace.1.et").write_bytes(b"\x07nothing"), [], "trace.1.et"),
        (None, outside, [], "has rank 9, but there are traces of 4 ranks only"),
        (two_ranks(strange), None, [], "group '7' is unknown"),
        (two_ranks(huge), None, [], "the buffers of 2 ranks need 2048 TiB"),
        (None, None, ["--backend", "nccl"], "needs GPUs"),
    ],
)
def test_bad_input_is_told(
    job: TraceSet | None, damage: Callable[[Path], None] | None, options: list[str], words: str, tmp_path: Path
) -> None:
    folder = replay_jobs.write(tmp_path / "traces", job or replay_jobs.every_kind())
    if damage:
        damage(folder)
    done = hocket("replay", folder, *options)
    assert (done.returncode, done.stdout) == (3, "")
    assert words in done.stderr


def test_a_ranks_part_is_sent_whole() -> None:
    times = [(np.array([1, 2]), np.array([3, 2**62])), (np.zeros(0, np.int64), np.zeros(0, np.int64))]
    part = Part.decode(Part("here", [0, 3], times).encode())
    assert (part.machine, part.row) == ("here", [0, 3])
    assert [[column.tolist() for column in columns] for columns in part.times] == [[[1, 2], [3, 2**62]], [[], []]]
