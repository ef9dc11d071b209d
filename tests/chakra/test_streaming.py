"""What goes through traces block by block finds and writes what would be found and written of the whole."""

import os
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_commands import training, write_training

import hocket.chakra.reading
from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_trace, write_traces
from hocket.chakra.file import record_blocks
from hocket.chakra.id_set import IdSet
from hocket.chakra.reading import TraceFiles
from hocket.chakra.subset import Cutter, references_back, subset
from hocket.chakra.summary import summarize
from hocket.chakra.trace import Trace
from hocket.chakra.trace_file import TraceFile
from hocket.chakra.validate import validate, validate_files

quickly = settings(max_examples=60)
SMALL = 256  # bytes: a few nodes


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hocket.chakra.reading, "BLOCK_BYTES", SMALL)
    monkeypatch.setattr(hocket.chakra.reading, "_LEAST_BLOCK", SMALL)


@quickly
@given(st.lists(st.lists(st.integers(0, 40) | st.just(2**64 - 1), max_size=6), max_size=6))
def test_sets_of_ids(batches: list[list[int]]) -> None:
    ids, wanted = IdSet(), set()
    asked = np.array([*range(42), 2**64 - 2, 2**64 - 1], np.uint64)
    for batch in batches:
        ids.add(np.array(batch, np.uint64))
        wanted |= set(batch)
        assert ids.has(asked).tolist() == [one in wanted for one in asked.tolist()]


def test_blocks_are_the_whole(tmp_path: Path) -> None:
    trace = training(1, num_steps=20)
    write_trace(tmp_path / "a.0.et", trace)
    for size in (1, 7, SMALL, 1 << 20):
        blocks = list(TraceFile(tmp_path / "a.0.et").blocks(size))
        assert len(blocks) > 20 or size > SMALL
        for column in ("id", "type", "comm_bytes", "start_us", "data_deps"):
            assert (
                np.concatenate([getattr(block, column) for block in blocks]).tolist() == getattr(trace, column).tolist()
            )
        names = [block.text(block.name, row) for block in blocks for row in range(len(block))]
        assert names == [trace.text(trace.name, row) for row in range(len(trace))]


def test_counts_and_findings_are_those_of_the_whole(tmp_path: Path, small_blocks: None) -> None:
    files = TraceFiles.of_job(write_training(tmp_path, num_steps=10))
    assert len(list(files.blocks())) > 40
    assert summarize(files) == summarize(files.read())
    assert validate_files(files) == ([], 240)


@pytest.mark.parametrize("suffix", ["et", "et.gz"])
def test_many_ranks_are_read_in_turn_with_few_open_files_and_one_block_at_a_time(tmp_path: Path, suffix: str) -> None:
    for rank in range(24):
        write_trace(tmp_path / f"a.{rank}.{suffix}", training(0, num_steps=40))
    files = TraceFiles([tmp_path / f"a.{rank}.{suffix}" for rank in range(24)])
    blocks = files.blocks()
    open_before = len(os.listdir("/proc/self/fd"))
    tracemalloc.start()
    try:
        held, columns = [], []
        for _, trace in blocks:
            columns.append(weakref.ref(trace.id))
            del trace
            held.append(tracemalloc.get_traced_memory()[0])
            assert sum(column() is not None for column in columns) <= 1
            assert len(os.listdir("/proc/self/fd")) <= open_before + 1
    finally:
        tracemalloc.stop()
    assert len(columns) == 24
    one_file = sum(len(records) for _, records in record_blocks(tmp_path / f"a.0.{suffix}"))
    assert max(held) - held[0] < 3 * one_file, "what a rank's file takes is gone when the next one's is read"


@quickly
@given(st.data())
def test_what_is_wrong_is_found_block_by_block(tmp_path: Path, small_blocks: None, data: st.DataObject) -> None:
    traces = [training(rank, num_steps=4) for rank in range(4)]
    for _ in range(data.draw(st.integers(1, 4))):
        trace = traces[data.draw(st.integers(0, 3))]
        row = data.draw(st.integers(0, len(trace) - 1))
        column, values = data.draw(
            st.sampled_from(
                [
                    ("comm_type", st.integers(-1, 11)),
                    ("comm_bytes", st.integers(-2, 9)),
                    ("comm_dst", st.integers(-1, 5)),
                    ("id", st.integers(0, 30)),
                    ("data_deps", st.integers(0, 30)),
                    ("type", st.integers(0, 7)),
                    ("process_group", st.integers(-1, 3)),
                ]
            )
        )
        getattr(trace, column)[row] = data.draw(values)
    write_traces(tmp_path, TraceSet(tuple(traces), {"half0": (0, 1), "half1": (2, 3)}))
    files = TraceFiles.of_job(tmp_path)
    findings, num_nodes = validate_files(files)
    assert num_nodes == 96
    assert list(map(str, findings)) == list(map(str, validate(files.read())))


@st.composite
def ordered_traces(draw: st.DrawFn) -> Trace:
    builder = TraceBuilder()
    for node in range(draw(st.integers(1, 40))):
        deps = draw(st.sets(st.integers(0, node - 1), max_size=3)) if node else set()
        builder.add_comp(f"n{node}", deps=sorted(deps), ctrl_deps=[node - 1] if node % 3 == 2 else [])
    return builder.build()


@quickly
@given(ordered_traces(), st.data())
def test_a_trace_cut_in_blocks_is_cut_as_the_whole(tmp_path: Path, trace: Trace, data: st.DataObject) -> None:
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(trace), max_size=len(trace))))
    whole, num_dangling = subset(trace, keep)
    assert num_dangling == 0
    write_trace(tmp_path / "a.0.et", trace)
    kept = trace.id[keep]
    blocks = list(TraceFile(tmp_path / "a.0.et").blocks(32))
    later = np.unique(np.concatenate(list(map(references_back, blocks))))
    cutter = Cutter(int(kept[0]), int(kept[-1]), later) if len(kept) else Cutter(later=later)
    parts = [cutter.cut(block, keep[block.id.astype(int)]) for block in blocks]
    assert np.concatenate([part.id for part in parts]).tolist() == whole.id.tolist()
    for column in ("data_deps", "ctrl_deps"):
        assert np.concatenate([getattr(part, column) for part in parts]).tolist() == getattr(whole, column).tolist()
    # Whoever came before another by dependencies still does, and nobody else.
    before, after = reachable(trace), reachable(whole)
    assert after == {(a, b) for a, b in before if keep[a] and keep[b]}


def reachable(trace: Trace) -> set[tuple[int, int]]:
    """All pairs of ids of which the first has to wait for the second."""
    waits: dict[int, set[int]] = {}
    for row, node in enumerate(trace.id.tolist()):
        waits[node] = set()
        for kind in ("data", "ctrl"):
            offset, deps = getattr(trace, f"{kind}_offset"), getattr(trace, f"{kind}_deps")
            for dep in deps[offset[row] : offset[row + 1]].tolist():
                waits[node] |= {dep} | waits[dep]
    return {(node, other) for node, others in waits.items() for other in others}


def test_ranks_of_a_group_may_be_far_apart(tmp_path: Path, small_blocks: None) -> None:
    builders = [TraceBuilder(), TraceBuilder()]
    for builder, gap in zip(builders, (0, 200), strict=True):
        for _ in range(gap):
            builder.add_comp("idle")
        for number in range(60):
            builder.add_collective("sum", CollectiveType.ALL_REDUCE, 64 + (number == 50 and gap > 0))
    write_traces(tmp_path, TraceSet(tuple(builder.build() for builder in builders)))
    findings, _ = validate_files(TraceFiles.of_job(tmp_path))
    assert [finding.text.split(": ", 1)[1] for finding in findings] == [
        "node 250 'sum': comm_size: ALL_REDUCE 50 of group '0' has 65 here and 64 on rank 0"
    ]
