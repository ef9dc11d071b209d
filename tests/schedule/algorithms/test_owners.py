"""An all_reduce in any number of chunks: proved on any number of ranks, kept in files, refused where it is not said."""

from pathlib import Path

import machines
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hocket.base.errors import ScheduleError
from hocket.schedule import Collective, Kind, load_expanded, retime, save, verify
from hocket.schedule.algorithms import ALGORITHMS, build, build_all
from hocket.topology import load
from hocket.translator import Lowering, lower_best


@settings(max_examples=60)
@given(ranks=st.integers(2, 13), chunks=st.integers(1, 20), size=st.integers(0, 10**6))
def test_every_owner_adds_up_and_sends(ranks: int, chunks: int, size: int) -> None:
    collective = Collective(Kind.ALL_REDUCE, ranks, size, chunks, cut_whole=True)
    assert collective.num_chunks == chunks and collective.chunk_bytes.sum() == size
    timed = retime(build("direct", collective, machines.switch(ranks)))
    verify(timed)
    assert timed.num_transfers == 2 * chunks * (ranks - 1)


@settings(max_examples=30)
@given(nodes=st.integers(2, 4), gpus=st.sampled_from([2, 3, 4, 6]), chunks=st.integers(1, 16))
def test_over_machines_owners_of_a_chunk_meet(nodes: int, gpus: int, chunks: int) -> None:
    topology = load(f"dgx-h100:nodes={nodes},gpus={gpus}")
    collective = Collective(Kind.ALL_REDUCE, nodes * gpus, 4096, chunks, cut_whole=True)
    found = {schedule.generator: schedule for schedule in build_all(collective, topology)}
    assert set(found) == {name for name, one in ALGORITHMS.items() if one.cuts_whole}
    for name in ("direct", "hierarchical"):
        verify(retime(found[name]))
    for schedule in found.values():
        verify(schedule)
    across = found["hierarchical"].src // gpus != found["hierarchical"].dst // gpus
    assert across.sum() == 2 * chunks * (nodes - 1), "a chunk goes to one node, and back"


def test_programs_of_three_ranks_serve_powers_of_two(tmp_path: Path) -> None:
    collective = Collective(Kind.ALL_REDUCE, 3, 1 << 16, 2, cut_whole=True)
    schedule = retime(build("direct", collective, load("dgx-h100:gpus=3")))
    save(schedule, tmp_path / "two.schedule")
    again = load_expanded(tmp_path / "two.schedule")
    assert again.collective.cut_whole and again.collective.num_chunks == 2
    assert lower_best(again, "executor", Lowering()).program.chunks_per_loop == 2


def test_only_an_all_reduce_and_some_algorithms() -> None:
    with pytest.raises(ScheduleError, match="all_gather: cut_whole is for all_reduce"):
        Collective(Kind.ALL_GATHER, 4, 4096, 2, cut_whole=True)
    with pytest.raises(ScheduleError, match="ring cuts an all_reduce into chunks of its ranks"):
        build("ring", Collective(Kind.ALL_REDUCE, 4, 4096, 2, cut_whole=True), machines.switch(4))
