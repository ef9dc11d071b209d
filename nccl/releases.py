"""Releases of NCCL from 2.27 on: what each of them chooses by, where that differs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from hocket.base.errors import FormatError
from hocket.nccl.constants import Constants

__all__ = ["NEWEST", "RELEASES", "Release", "release_of", "release_of_code", "version_of_code"]

_NEWEST_MINOR = 31


@dataclass(frozen=True, eq=False)
class Release:
    """`name`: 2.30; `patch`: 7, the last of it unless another was asked for; `preview`: what its sources call it where
    it is not out yet, or not in public; `asked`: the version that it stands for where its own is not known.

    The engine knows what else differs (`core/src/nccl/`), by `code`.
    """

    name: str
    patch: int
    preview: str = ""
    asked: str = ""

    @property
    def code(self) -> int:
        """3007 of 2.30.7."""
        return int(self.name.partition(".")[2]) * 100 + self.patch

    @property
    def version(self) -> str:
        return self.preview or f"{self.name}.{self.patch}"

    @cached_property
    def constants(self) -> Constants:
        """Of src/graph/tuning.cc (from 2.31 on src/tuning/cost_model.cc)."""
        return _constants(self.code)

    @property
    def ll_of_all_channels(self) -> bool:
        """Whether a message is sent by LL up to 16 KiB of *every* channel that it could take, not only of those that it
        takes (`addP2pToPlan` of src/enqueue.cc)."""
        return self.code < 2900

    def notes(self) -> Iterator[str]:
        """What users should know of answers for it."""
        if self.asked:
            yield f"NCCL {self.asked} is not public in source: taken for {self.version}, the newest that is"
        elif self.preview:
            yield (
                f"of NCCL {self.name} the sources of its development branch are modelled, {self.preview}, in which"
                " NVLSTree and PAT are never chosen"
            )
        if self.code < 2705:
            yield (
                f"NCCL {self.version} is modelled as 2.27.5, which differs where NICs hang on a CPU that NVLink-C2C"
                " joins to the GPU, and in how channels that are not alike are searched"
            )


def _constants(code: int) -> Constants:
    """What was otherwise before 2.30; of 2.27 NVLS has bandwidths of its own, which no constant caps."""
    own = Constants.of_nccl()
    step, ring, tree = own.step_latency.copy(), own.most_ring_ll128.copy(), own.most_tree_ll128.copy()
    of_tree, of_nvls = own.most_tree.copy(), own.most_nvls_tree.copy()
    if code < 3000:
        of_nvls[3] = 0, 96, 43.8
    if code < 2907:
        ring[3] = 34.5, 34.6, 34.5
    if code < 2900:
        ring[3] = 2 * 36.7, 34.6, 2 * 36.7
    if code < 2809:
        step[2, 5, 2] = 14
        of_nvls[3, 2] = 43.1
    if code < 2807:
        ring[3] = 2 * ring[2]
    if code < 2800:
        step[:, 6] = 0
        tree[3] = 2 * tree[2]
        of_tree[3] = 2 * of_tree[2]
    return replace(
        own,
        step_latency=step,
        most_ring_ll128=ring,
        most_tree_ll128=tree,
        most_tree=of_tree,
        most_nvls_tree=of_nvls,
    )


#: The newest first whose sources are public; of each the last patch.
RELEASES = {
    release.name: release
    for release in (
        Release("2.30", 7),
        Release("2.29", 7),
        Release("2.28", 9),
        Release("2.27", 7),
        Release("2.31", 0, "2.31.0a7"),
    )
}

#: What is meant where no version is said.
NEWEST = RELEASES["2.30"]


def version_of_code(code: int) -> str:
    """`2.28.9` of the number that NCCL's headers and ncclGetVersion give, 22809; until 2.8 its minor had a digit."""
    thousands, rest = divmod(code, 10_000 if code >= 10_000 else 1_000)
    return f"{thousands}.{rest // 100}.{rest % 100}"


def release_of(version: str) -> Release:
    """The release of a version such as `2.28`, `2.28.9`, `2.28.9+cuda12.8` or the tag `v2.28.9-1`; of one that is newer
    than all that are known, the newest. Raises FormatError for others."""
    found = re.fullmatch(r"v?2\.(\d+)(?:\.(\d+))?(?:a\d+)?(?:[+-].*)?", version)
    if found is None or f"2.{found[1]}" not in RELEASES:
        if found is not None and int(found[1]) > _NEWEST_MINOR:
            return replace(RELEASES[f"2.{_NEWEST_MINOR}"], asked=f"2.{found[1]}" + f".{found[2]}" * bool(found[2]))
        raise FormatError(
            f"NCCL {version} is not modelled, only {', '.join(sorted(RELEASES))}: others choose otherwise"
        )
    known = RELEASES[f"2.{found[1]}"]
    patch = known.patch if found[2] is None else int(found[2])
    if known.preview:
        return replace(known, asked=f"{known.name}.{patch}") if patch > known.patch else known
    return replace(known, patch=patch) if patch < known.patch else known


def release_of_code(code: int) -> Release:
    """The release of `Release.code`."""
    return release_of(f"2.{code // 100}.{code % 100}")
