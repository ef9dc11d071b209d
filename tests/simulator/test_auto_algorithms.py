"""`auto` where many ranks make many messages: what is not tried is said, and what can be folded is."""

import numpy as np
import pytest

from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import ALGORITHMS, patterns
from hocket.schedule.algorithms.place import Place
from hocket.simulator import auto_algorithms as affordable
from hocket.simulator import simulate_collective
from hocket.simulator.collective_plan import CollectivePlan
from hocket.topology import load

LINK = "bandwidth=50GB/s,latency=500ns"


@pytest.mark.parametrize("spec", ["ring:8", "torus:4x4", "torus:2x4x2", "switch:6", "dgx-h100:nodes=2"])
def test_moves_are_counted_before_they_are_made(spec: str) -> None:
    """An algorithm has no fewer moves than its registry entry says, of one rank or of all, and not many times more."""
    topology = load(spec if "dgx" in spec else f"{spec},{LINK}")
    n = topology.num_ranks
    place = Place(topology, np.arange(n, dtype=np.int32))
    for kind in (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.BROADCAST):
        collective = Collective(kind, n, 2**20, chunks_per_rank=4)
        for made in patterns(collective, topology):
            said = ALGORITHMS[made.generator].num_moves(collective, place)
            assert said // 2 <= len(made.chunk) <= 4 * n * said, (kind, made.generator)
            if made.symmetry.order == 1 and not collective.rooted:
                assert len(made.chunk) <= 4 * said, (kind, made.generator)


def test_all_algorithms_are_tried_where_they_are_small() -> None:
    prediction = simulate_collective(Collective(Kind.ALL_REDUCE, 16, 2**20), load(f"torus:4x4,{LINK}"))
    assert not prediction.notes


def test_what_takes_too_many_messages_is_not_tried() -> None:
    """An all_reduce of 4,096 ranks takes 2 * 4095 * 4096 = 33,546,240 messages of a chunk, but one rank sends 8,190."""
    prediction = simulate_collective(Collective(Kind.ALL_REDUCE, 4096, 2**30), load(f"torus:16x16x16,{LINK}"))
    assert prediction.folded == 4096
    (note,) = prediction.notes
    assert note.startswith("auto has not tried ring, ")
    assert all(name in note for name in ("chain", "multitree", "binary_tree"))
    assert "torus_ring" not in note


def test_one_is_chosen_by_its_busiest_link_where_all_take_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a mesh nothing folds: algorithms in which ranks do alike take 2 * 15 * 16 = 480 messages or more."""
    monkeypatch.setattr(affordable, "MAX_MESSAGES", 300)
    collective, topology = Collective(Kind.ALL_REDUCE, 16, 2**20), load(f"mesh:4x4,{LINK}")
    prediction = simulate_collective(collective, topology)
    chosen = prediction.collectives[0].algorithm
    busiest = {
        made.generator: CollectivePlan(made, made.generator).busiest_link_ps
        for made in patterns(collective, topology)
        if made.symmetry.order == 16 and made.num_transfers == 480
    }
    assert len(busiest) > 5
    assert busiest[chosen] == min(busiest.values()) < max(busiest.values())
    (note,) = prediction.notes
    assert "ring" in note
    assert chosen not in note
