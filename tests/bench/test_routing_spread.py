"""On fat trees that do not block, ideal spray meets the bound; hashing does not."""

import pytest

from hocket.bench.routing_spread import SPEC, permutation, ratio_of_all_to_all, ratio_of_permutation
from hocket.topology import load


@pytest.mark.parametrize("spec", [SPEC, "fat_tree:4x6,spines=4,bandwidth=25GB/s,latency=1us"])
def test_spray_is_within_a_hundredth_of_the_bound(spec: str) -> None:
    tree = load(spec)
    ranks = tree.num_ranks
    targets = [permutation(ranks, seed) for seed in range(5)] + [[(rank + ranks // 2) % ranks for rank in range(ranks)]]
    assert all(1 <= ratio_of_permutation(tree, target, "spray") < 1.01 for target in targets)
    assert 1 <= ratio_of_all_to_all(tree, "spray") < 1.01


def test_hashed_flows_collide_by_their_seed() -> None:
    tree = load(SPEC)
    shift = [(rank + 32) % 64 for rank in range(64)]
    ratios = [ratio_of_permutation(tree, shift, f"ecmp:seed={seed}") for seed in range(8)]
    # Eight flows of a leaf hashed to eight links: two at least meet in all but 0.2 % of cases.
    assert min(ratios) > 1.9
    assert len(set(ratios)) > 1
    assert ratios == [ratio_of_permutation(tree, shift, f"ecmp:seed={seed}") for seed in range(8)]
