"""What `hocket run` measures, on the literal interpreter: what is filled in, counted and printed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import handmade
import numpy as np
import pytest
from engine_world import CARRIERS, run_by_engine
from homes import IN_NETWORK, home
from hypothesis import given, settings
from hypothesis import strategies as st
from interpreter import Interpreter
from loopback import LoopbackBackend, World, run_in_threads

from hocket._core import executor as native
from hocket.base.errors import HocketError, ScheduleError
from hocket.runtime.engine.elements import ELEMENT_NUMBER, REDUCTION_NUMBER
from hocket.runtime.run import DATA_TYPES, ReduceOp, Result, Row, RunTask, format_table, prepare
from hocket.runtime.run.buffers import allocate, count_wrong, fill
from hocket.schedule import FIFO_DEPTH, Collective, Kind, Program, StepType, execute
from hocket.schedule.algorithms import ALGORITHMS, build
from hocket.translator import lower, to_xml


def task_of(program: Program, *elements: int, **options: object) -> RunTask:
    data_type = options.get("data_type", "float32")
    sizes = tuple(count * DATA_TYPES[data_type].size_bytes for count in elements)
    options = {"iterations": 1, "warmup": 1} | options
    return RunTask(program.kind, program.num_ranks, program.root, "loopback", sizes, **options)


def interpreted(program: Program, *elements: int, **options: object) -> list[Row]:
    return run_in_threads(program, task_of(program, *elements, **options))


@pytest.mark.parametrize("kind", handmade.PROGRAMS)
def test_every_collective_gives_the_exact_result(kind: Kind) -> None:
    program = handmade.PROGRAMS[kind](4)
    execute(program, fifo_depth=FIFO_DEPTH[program.protocol])  # right in itself: what follows tests the executor
    loop = program.chunks_per_loop
    rows = interpreted(program, loop, 37 * loop)
    assert [row.wrong for row in rows] == [0, 0]
    # nccl-tests' count is the smaller buffer: a fourth where one buffer has a share per rank.
    whole = kind in (Kind.ALL_REDUCE, Kind.ALL_TO_ALL, Kind.BROADCAST, Kind.REDUCE)
    assert [row.count for row in rows] == [size // (1 if whole else 4) for size in (loop, 37 * loop)]
    assert all((row.in_place is None) == program.out_of_place for row in rows)


def test_the_handmade_programs_use_every_step_type() -> None:
    used = {
        step.type
        for build in handmade.PROGRAMS.values()
        for gpu in build(4).gpus
        for block in gpu.thread_blocks
        for step in block.steps
    }
    assert used == set(StepType)


@pytest.mark.parametrize("carried", CARRIERS)
@pytest.mark.parametrize("kind", handmade.PROGRAMS)
def test_the_engine_fills_both_columns(kind: Kind, carried: str, tmp_path: Path) -> None:
    """Of every program, in the calls that it declares and, on copies, in those that it does not."""
    program = handmade.PROGRAMS[kind](4)
    loop = program.chunks_per_loop
    rows = run_by_engine([program], task_of(program, loop, 37 * loop), tmp_path, carried)
    assert [(row.out_of_place.wrong, row.in_place.wrong) for row in rows] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("kind", handmade.PROGRAMS)
def test_the_engine_pads_what_chunks_do_not_divide(kind: Kind, tmp_path: Path) -> None:
    program = handmade.PROGRAMS[kind](4)
    task = task_of(program, 4 * 5, 4 * 1003)  # shares of 5 and 1003 elements, in chunks of two and more
    assert all(row.wrong == 0 for row in run_by_engine([program], task, tmp_path, "tcp"))


def test_each_size_runs_the_program_of_its_window(tmp_path: Path) -> None:
    """A program that does nothing serves the small sizes: only they are wrong."""
    right = replace(handmade.PROGRAMS[Kind.ALL_TO_ALL](4), min_bytes=65)
    idle = replace(right, min_bytes=0, max_bytes=64, gpus=tuple(replace(gpu, thread_blocks=()) for gpu in right.gpus))
    small, large = run_by_engine([idle, right], task_of(right, 16, 32), tmp_path, "shm")
    assert small.out_of_place.wrong == 4 * 16 and large.wrong == 0


@pytest.mark.parametrize("op", ReduceOp)
@pytest.mark.parametrize("data_type", DATA_TYPES)
def test_every_type_and_reduction_is_exact_on_the_engine(data_type: str, op: ReduceOp, tmp_path: Path) -> None:
    program = handmade.PROGRAMS[Kind.ALL_REDUCE](4)
    (row,) = run_by_engine([program], task_of(program, 4 * 131, data_type=data_type, op=op), tmp_path, "shm")
    assert row.in_place.wrong == row.out_of_place.wrong == 0


@pytest.mark.parametrize("op", ReduceOp)
@pytest.mark.parametrize("data_type", DATA_TYPES)
def test_every_type_and_reduction_is_exact(data_type: str, op: ReduceOp) -> None:
    for kind in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.REDUCE):
        (row,) = interpreted(handmade.PROGRAMS[kind](4), 4 * 131, data_type=data_type, op=op)
        assert row.wrong == 0


@settings(max_examples=60)
@given(st.sampled_from(list(handmade.PROGRAMS)), st.data())
def test_one_changed_element_is_counted_once(kind: Kind, data: st.DataObject) -> None:
    """The expected result is unique: whatever value and element is changed on one rank, exactly that one is wrong."""
    program = handmade.PROGRAMS[kind](4)
    task = task_of(program, 24)
    world = World(4)
    buffers = [allocate(task, rank, 24 * 4, program.in_place) for rank in range(4)]
    for rank in range(4):
        fill(task, rank, buffers[rank])
    with ThreadPoolExecutor(4) as ranks:
        runs = [
            Interpreter(gpu, program.protocol, LoopbackBackend(world, rank), task.data_type, task.op)
            for rank, gpu in enumerate(program.gpus)
        ]
        list(ranks.map(lambda rank: runs[rank].run(buffers[rank], 24 // program.chunks_per_loop), range(4)))
    rank = program.root if kind in (Kind.REDUCE, Kind.GATHER) else data.draw(st.integers(0, 3))
    output = buffers[rank].output
    assert count_wrong(task, rank, buffers[rank]) == 0
    position = data.draw(st.integers(0, len(output) - 1))
    output[position] += data.draw(st.integers(1, 100))
    assert count_wrong(task, rank, buffers[rank]) == 1


def test_nothing_received_is_wrong_everywhere() -> None:
    """A program that does nothing leaves 4 ranks with 8 wrong elements each, out of place."""
    program = handmade.PROGRAMS[Kind.ALL_TO_ALL](4)
    idle = replace(program, gpus=tuple(replace(gpu, thread_blocks=()) for gpu in program.gpus))
    (row,) = interpreted(idle, 8)
    assert row.wrong == 4 * 8


LOWERED = [
    (name, kind)
    for name, algorithm in ALGORITHMS.items()
    for kind in algorithm.kinds
    if name not in IN_NETWORK and kind not in (Kind.GATHER, Kind.SCATTER)  # no runtime of MSCCL XML runs them
]


@pytest.mark.parametrize("profile", ["msccl", "rccl"])
@pytest.mark.parametrize(("name", "kind"), LOWERED)
def test_every_lowered_native_algorithm_gives_the_exact_result(name: str, kind: Kind, profile: str) -> None:
    root = 1 if kind in (Kind.BROADCAST, Kind.REDUCE) else 0
    program = lower(build(name, Collective(kind, 4, 1 << 20, 2, root), home(name)), profile)
    (row,) = interpreted(program, 31 * program.chunks_per_loop)
    assert row.wrong == 0


@pytest.mark.parametrize(("op", "wrong_ranks"), [("sum", 4), ("prod", 0), ("max", 0), ("min", 0)])
def test_a_contribution_counted_twice_is_wrong(op: str, wrong_ranks: int) -> None:
    """The ring's last receive adds instead of overwriting: rank r's chunk r+2 has everything and rank r's part again.

    Under max and min the second contribution changes nothing; a product of ones and twos grows where a two comes again.
    """
    program = handmade.ring_all_reduce(4)

    def doubled(gpu):
        (block,) = gpu.thread_blocks
        last = replace(block.steps[-1], type=StepType.RECEIVE_REDUCE_COPY)
        return replace(gpu, thread_blocks=(replace(block, steps=(*block.steps[:-1], last)),))

    broken = replace(program, gpus=tuple(map(doubled, program.gpus)))
    (row,) = interpreted(broken, 4 * 10, op=ReduceOp(op))
    if op == "prod":
        assert row.wrong > 0
    else:
        assert row.wrong == wrong_ranks * 10


@pytest.mark.parametrize("op", [ReduceOp.MAX, ReduceOp.MIN])
def test_a_contribution_left_out_is_wrong(op: ReduceOp) -> None:
    """Rank 3 forwards the chunk it gets first without its part, the maximum (minimum) of every fourth element: of a
    chunk of 4 elements, one is wrong on all 4 ranks."""
    program = handmade.ring_all_reduce(4)
    gpu = program.gpus[3]
    (block,) = gpu.thread_blocks
    assert block.steps[1].type == StepType.RECEIVE_REDUCE_COPY_SEND
    forwards = replace(block.steps[1], type=StepType.RECEIVE_COPY_SEND)
    steps = (block.steps[0], forwards, *block.steps[2:])
    broken = replace(program, gpus=(*program.gpus[:3], replace(gpu, thread_blocks=(replace(block, steps=steps),))))
    (row,) = interpreted(broken, 4 * 4, op=op)
    assert row.wrong == 4


def test_a_changed_input_of_an_out_of_place_call_is_wrong() -> None:
    """Each of 4 ranks ends by overwriting the first chunk (of 8, so 3 elements of 24) of its input by the second."""
    program = handmade.PROGRAMS[Kind.ALL_TO_ALL](4)

    def overwriting(gpu):
        clobber = handmade.step(StepType.COPY, ("i", 1), ("i", 0), depend_block=1, depend_step=1)
        sender = gpu.thread_blocks[1]
        published = replace(sender, steps=(sender.steps[0], replace(sender.steps[1], has_dependents=True)))
        own = replace(gpu.thread_blocks[0], steps=(*gpu.thread_blocks[0].steps, clobber))
        return replace(gpu, thread_blocks=(own, published, *gpu.thread_blocks[2:]))

    broken = replace(program, gpus=tuple(map(overwriting, program.gpus)))
    (row,) = interpreted(broken, 24)
    assert row.wrong >= 4 * 3


def test_a_message_left_behind_makes_later_runs_wrong() -> None:
    """Rank 1 sends its partial sum twice; the first run takes one, each later one the message of the run before."""
    program = handmade.chain_reduce(2, root=0)
    gpu = program.gpus[1]
    (block,) = gpu.thread_blocks
    extra = StepType.SEND, ("o", 0), ("o", 0)
    steps = (*block.steps, handmade.step(*extra, count=block.steps[-1].count))
    twice = replace(gpu, thread_blocks=(replace(block, steps=steps),))
    (row,) = interpreted(replace(program, gpus=(program.gpus[0], twice)), 8 * program.chunks_per_loop)
    assert row.wrong > 0


def test_a_step_outside_of_its_buffer_names_the_place() -> None:
    program = handmade.chain_reduce(2, root=0)
    gpu = program.gpus[1]
    (block,) = gpu.thread_blocks
    outside = replace(gpu, thread_blocks=(replace(block, steps=(replace(block.steps[0], src_offset=5),)),))
    task = task_of(replace(program, gpus=(program.gpus[0], outside)), 4)
    backend = LoopbackBackend(World(2), 1)
    interpreter = Interpreter(outside, "Simple", backend, task.data_type, task.op)
    with pytest.raises(ScheduleError, match=r"rank 1, thread block 0, step 0 \(s\): chunks 5..5 .* buffer 'i' of 1"):
        interpreter.run(allocate(task, 1, 16, in_place=False), 4)


@pytest.mark.parametrize("name", DATA_TYPES)
def test_integers_up_to_exact_are_kept(name: str) -> None:
    data_type = DATA_TYPES[name]
    values = data_type.encode(np.array([0, 1, data_type.exact - 1, data_type.exact]))
    zero = data_type.encode(np.zeros(4, np.int64))
    assert len(np.unique(values)) == 4
    total = np.empty_like(values)
    addresses = (data.ctypes.data for data in (values, zero, total))
    native.reduce(ELEMENT_NUMBER[name], REDUCTION_NUMBER["sum"], *addresses, len(values))
    assert (total == values).all()


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (
            24,
            r"6 float32 elements cannot be cut into nchunksperloop=4 .*silently fall back.* multiple of 16 B, such as",
        ),
        (0, r"size 0 B is no positive multiple of 4 B"),
        (1023, r"size 1023 B is no positive multiple of 4 B: of float32 elements"),
    ],
)
def test_refuses_sizes_that_no_runtime_would_run(size: int, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ring.xml"
    path.write_text(to_xml(handmade.ring_all_reduce(4), "executor"))
    with pytest.raises(HocketError, match=message):
        prepare(path, "shm", None, (size,))


def test_refuses_what_could_not_be_checked() -> None:
    """int8 holds products up to 127: of 2 over at most 6 ranks."""
    program = handmade.ring_all_reduce(8)
    with pytest.raises(HocketError, match=r"int8 cannot hold the exact prod over 8 ranks"):
        task_of(program, 8, data_type="int8", op=ReduceOp.PROD)
    with pytest.raises(HocketError, match="unknown data type 'float8'; known: int8, "):
        RunTask(program.kind, 8, 0, "shm", (64,), data_type="float8")
    with pytest.raises(HocketError, match="custom collective"):
        task_of(replace(program, kind=Kind.CUSTOM), 64)


def test_table_has_the_columns_of_nccl_tests() -> None:
    """64 MiB in 2 ms is 33.554 GB/s; busbw of all_reduce over 8 ranks is 7/4 of it: 58.72 GB/s."""
    task = task_of(handmade.ring_all_reduce(8), 1 << 24)
    row = Row(1 << 26, 1 << 24, None, Result(2 * 10**9, 3), None)
    assert Collective(Kind.ALL_REDUCE, 8, 1 << 26).bus_factor == 7 / 4
    titles = "{:>7}  {:>6}  {:>6} {:>6}".format("time", "algbw", "busbw", "#wrong")
    units = "   (us)  (GB/s)  (GB/s)       "
    assert format_table(task, [row]).splitlines() == [
        "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place" + " " * 10,
        f"#       size         count      type   redop    root  {titles}  {titles}",
        f"#        (B)    (elements)                            {units}  {units}",
        "    67108864      16777216     float     sum      -1"
        "      N/A     N/A     N/A    N/A   2000.0   33.55   58.72      3",
        "# Out of bounds values : 3 FAILED",
        "# Avg bus bandwidth    : 58.7203 ",
        "#",
    ]
