"""The device interpreter on threads: every collective, type and reduction, sizes that nothing divides, lanes that stop
at random, and the programs that compilers and runtimes ship."""

import csv
from dataclasses import replace
from pathlib import Path

import handmade
import pytest
from engine_world import run_by_engine
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.runtime.run import DATA_TYPES, ReduceOp, RunTask
from hocket.schedule import Gpu, Kind, Program, Step, StepType, ThreadBlock, execute
from hocket.translator import read_xml

PROTOCOLS = ("Simple", "LL")
#: One thread a block; several, whose work lies between each other's as on a GPU.
LANES = (1, 3)


def wrong_values(program: Program, folder: Path, *elements: int, data_type: str = "float32", **options: object) -> int:
    """Of all ranks, in both ways with buffers and again and again."""
    made = {name: options.pop(name) for name in ("lanes", "seed", "slot_bytes") if name in options}
    sizes = tuple(count * DATA_TYPES[data_type].size_bytes for count in elements)
    how = {"data_type": data_type, "iterations": 2, "warmup": 1} | options
    task = RunTask(program.kind, program.num_ranks, program.root, "loopback", sizes, **how)
    rows = run_by_engine([program], task, folder, "device", **made)
    assert all(row.out_of_place is not None and row.in_place is not None for row in rows)
    return sum(row.wrong for row in rows)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", handmade.PROGRAMS)
def test_every_collective_is_exact_at_sizes_that_nothing_divides(
    kind: Kind, protocol: str, lanes: int, tmp_path: Path
) -> None:
    program = replace(handmade.PROGRAMS[kind](4), protocol=protocol)
    # one element a share, fewer elements than chunks, a few slices, and many
    assert wrong_values(program, tmp_path, 4, 12, 4 * 1003, 4 * 5003, lanes=lanes, slot_bytes=1024) == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("op", ReduceOp)
@pytest.mark.parametrize("data_type", DATA_TYPES)
def test_every_type_and_reduction_is_exact(data_type: str, op: ReduceOp, protocol: str, tmp_path: Path) -> None:
    program = replace(handmade.PROGRAMS[Kind.ALL_REDUCE](4), protocol=protocol)
    assert wrong_values(program, tmp_path, 4 * 131, data_type=data_type, op=op) == 0


@settings(max_examples=12)
@given(
    st.sampled_from(list(handmade.PROGRAMS)),
    st.sampled_from(PROTOCOLS),
    st.sampled_from(LANES),
    st.integers(0, 2**31),
    st.integers(1, 3000),
)
def test_nothing_depends_on_who_runs_when(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind, protocol: str, lanes: int, seed: int, share: int
) -> None:
    program = replace(handmade.PROGRAMS[kind](4), protocol=protocol)
    folder = tmp_path_factory.mktemp("stopped")
    assert wrong_values(program, folder, 4 * share, lanes=lanes, seed=seed, slot_bytes=512, iterations=1) == 0


@pytest.mark.shared
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_right_reference_gives_no_wrong_value(shared: Path, protocol: str, tmp_path: Path) -> None:
    folder = shared / "msccl_xml"
    with (folder / "index.csv").open() as index:
        rows = [row for row in csv.DictReader(index) if row["xmlsim"] == "ok" and row["collective"] != "custom"]
    assert len(rows) == 69
    for number, row in enumerate(rows):
        # as for calls of any size
        program = replace(read_xml(folder / row["file"]), protocol=protocol, min_bytes=0, max_bytes=0)
        if program.num_ranks > 16:  # some thousand threads
            continue
        size = 3 * program.chunks_per_loop
        part = tmp_path / str(number)
        part.mkdir()
        assert wrong_values(program, part, size, slot_bytes=4096, iterations=1, warmup=0) == 0, row["file"]


def broadcast(*leaf: Step, sent: tuple[tuple[int, int], ...]) -> Program:
    """Of two ranks, in chunks of which the root sends pieces of (offset, count)."""
    chunks = sum(count for _, count in sent)
    root = [Step(StepType.SEND, "i", offset, "o", offset, count) for offset, count in sent]
    own = ThreadBlock(-1, -1, 0, [Step(StepType.COPY, "i", 0, "o", 0, chunks)])
    gpus = (
        Gpu(chunks, chunks, 0, (ThreadBlock(1, -1, 0, root), own)),
        Gpu(chunks, chunks, 0, (ThreadBlock(-1, 0, 0, list(leaf)),)),
    )
    return Program("made", Kind.BROADCAST, chunks, 1, "Simple", False, True, 0, 0, gpus, 0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_ranks_that_send_nothing_cut_messages_as_the_others_do(protocol: str, tmp_path: Path) -> None:
    leaf = Step(StepType.RECEIVE, "o", 0, "o", 0, 4)
    program = replace(broadcast(leaf, sent=((0, 4),)), protocol=protocol)
    execute(program, fifo_depth=2)
    assert wrong_values(program, tmp_path, 4 * 2048, 4 * 2048 + 3) == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_chunk_may_be_kept_in_another_ones_place_at_any_size(protocol: str, tmp_path: Path) -> None:
    leaf = (
        Step(StepType.RECEIVE, "o", 1, "o", 1, 1),
        Step(StepType.COPY, "o", 1, "o", 0, 1),
        Step(StepType.RECEIVE, "o", 1, "o", 1, 1),
    )
    program = replace(broadcast(*leaf, sent=((0, 1), (1, 1))), protocol=protocol)
    execute(program, fifo_depth=2)
    assert wrong_values(program, tmp_path, 3, 2 * 5001 + 1) == 0
