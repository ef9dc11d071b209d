"""Releases of NCCL whose choices differ: 2.30 as modelled, and what was otherwise in 2.28 (and not before 2.27)."""

import re
from dataclasses import dataclass, replace

from hocket.base.errors import FormatError
from hocket.nccl.constants import Constants

__all__ = ["RELEASES", "Release", "release_of", "version_of_code"]


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


def version_of_code(code: int) -> str:
    """`2.28.9` of the number that NCCL's headers and ncclGetVersion give, 22809; until 2.8 its minor had a digit."""
    thousands, rest = divmod(code, 10_000 if code >= 10_000 else 1_000)
    return f"{thousands}.{rest // 100}.{rest % 100}"


def release_of(version: str) -> Release:
    """The release of a version such as `2.28`, `2.28.9` or `2.28.9+cuda12.8`. Raises FormatError for others."""
    found = re.fullmatch(r"(\d+\.\d+)(?:\.\d+)?(?:[+-].*)?", version)
    if found is None or found[1] not in RELEASES:
        raise FormatError(
            f"NCCL {version} is not modelled, only {' and '.join(sorted(RELEASES))}: others choose otherwise"
        )
    return RELEASES[found[1]]
