"""Releases of NCCL whose choices differ: 2.30 as modelled, and what was otherwise in 2.28 (and not before 2.27)."""

from dataclasses import dataclass, replace

from hocket.nccl.constants import Constants

__all__ = ["RELEASES", "Release"]


@dataclass(frozen=True, eq=False)
class Release:
    """Its model's `constants`; and whether a message is sent by LL up to 16 KiB of *every* channel that it could take,
    not only of those that it takes (`addP2pToPlan` of src/enqueue.cc)."""

    name: str
    constants: Constants
    ll_of_all_channels: bool


def _before_2_29() -> Constants:
    """src/graph/tuning.cc of 2.28.9: Blackwell's rings with LL128 at twice Hopper's bandwidth."""
    own = Constants.of_nccl()
    ring = own.most_ring_ll128.copy()
    ring[3] = 2 * 36.7, 34.6, 2 * 36.7
    tree = own.most_nvls_tree.copy()
    tree[3] = 0, 96, 43.8
    return replace(own, most_ring_ll128=ring, most_nvls_tree=tree)


RELEASES = {
    "2.30": Release("2.30", Constants.of_nccl(), ll_of_all_channels=False),
    "2.28": Release("2.28", _before_2_29(), ll_of_all_channels=True),
}
