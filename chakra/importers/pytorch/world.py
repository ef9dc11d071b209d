"""How many ranks a job has, as far as anybody tells."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.chakra.importers.pytorch.host import ProcessGroup
from hocket.chakra.importers.told import EXPERT_OPERATIONS, Told

__all__ = ["World", "world_of"]


@dataclass(frozen=True)
class World:
    """A job has `ranks` ranks at least, and no more where files or whoever imports say so (`is_told`), or several files
    are of the ranks from 0 on (`is_known`). Else its collectives of all ranks are of nobody knows how many."""

    ranks: int
    is_told: bool
    is_known: bool

    @property
    def everybody(self) -> tuple[int, ...]:
        """All ranks; nobody where they are not known."""
        return tuple(range(self.ranks)) if self.is_known else ()

    def require_for(self, source: Path, told: Told) -> None:
        """Raises FormatError, naming the file, where something is told of groups that needs the number of ranks."""
        needing = [f"--group {kind}" for kind in told.groups]
        needing += [f"--size {kind}" for kind in told.sizes if kind in EXPERT_OPERATIONS]
        if needing and not self.is_known:
            raise FormatError(
                f"{source}: {needing[0]} needs the job's number of ranks, which no file tells: say it with --world"
            )


def world_of(ranks: Collection[int], groups: Iterable[ProcessGroup], worlds: Iterable[int | None]) -> World:
    """That of a job with files of these ranks, whose files list `groups`; `worlds` are the numbers that are told."""
    known = list(groups)
    told = [world for world in worlds if world]
    is_told = bool(told) or any(group.size for group in known)
    is_known = is_told or (len(ranks) > 1 and set(ranks) == set(range(len(ranks))))
    listed = [group.size for group in known if not group.ranks]
    return World(max([max(ranks, default=-1) + 1, *told, *listed]), is_told, is_known)
