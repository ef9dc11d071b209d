"""What whoever imports a job says of it that its files do not."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["EXPERT_OPERATIONS", "NOTHING_TOLD", "Told"]

#: What moves tokens to the ranks of their experts and back, beside the kinds of collectives.
EXPERT_OPERATIONS = ("dispatch", "combine")


@dataclass(frozen=True)
class Told:
    """The job's number of ranks and, of one rank's files, which rank that is. By the kind of an operation, or one of
    EXPERT_OPERATIONS: the bytes of a rank's input where the files do not tell them (`sizes`), and how many ranks a
    group that they do not tell has and how far from rank to rank they are apart (`groups`)."""

    world: int | None = None
    rank: int | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    groups: Mapping[str, tuple[int, int]] = field(default_factory=dict)


NOTHING_TOLD = Told()
