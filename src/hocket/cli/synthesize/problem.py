"""What `hocket synthesize` is asked for: one collective, or the same for several groups at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import typer

from hocket.base.collectives import BARRIER
from hocket.base.errors import FormatError
from hocket.base.reading import read_text
from hocket.base.units import parse_bytes, parse_sizes
from hocket.schedule import Collective, Kind
from hocket.schedule.conditions_file import load_conditions
from hocket.synthesizer import Problem
from hocket.synthesizer.barrier import barrier
from hocket.topology import Topology
from hocket.topology.naming import parse_spans

__all__ = ["Asked", "read_priorities", "read_problems"]


@dataclass(frozen=True)
class Asked:
    """The options that say which collective it is, and of what size. Raises BadParameter where they contradict."""

    kind: str
    size: str | None
    sizes: str | None
    conditions: Path | None
    chunks: int | None
    root: int

    def __post_init__(self) -> None:
        given = [
            name
            for name, value in (("--size", self.size), ("--sizes", self.sizes), ("--conditions", self.conditions))
            if value is not None
        ]
        wanted = {BARRIER: [], Kind.CUSTOM: ["--conditions"]}.get(self.kind)
        if (len(given) != 1 or given == ["--conditions"]) if wanted is None else given != wanted:
            takes = "one of --size and --sizes" if wanted is None else " ".join(wanted) or "none of --size and --sizes"
            raise typer.BadParameter(f"{self.kind} takes {takes}, got {' '.join(given) or 'none'}")
        if wanted is not None and self.chunks is not None:
            raise typer.BadParameter(f"{self.kind} takes no --chunks")

    @property
    def free_chunks(self) -> bool:
        """Whether the chunks per rank are ours to choose."""
        return self.chunks is None and self.kind not in (BARRIER, Kind.CUSTOM)

    @cached_property
    def all_sizes(self) -> list[int]:
        """Those of --size, ascending; none without."""
        sizes = parse_sizes(self.size) if self.size is not None else []
        if sizes and sizes[0] == 0:
            raise FormatError("--size must be at least 1 byte")
        return sizes

    def collective(self, ranks: int) -> Collective:
        """What so many ranks are to do, with the largest size."""
        if self.kind == BARRIER:
            return barrier(ranks)
        if self.conditions is not None:
            return load_conditions(self.conditions)
        if self.sizes is not None:
            return Collective.uneven(Kind(self.kind), ranks, _read_sizes(self.sizes), self.chunks or 1, self.root)
        return Collective(Kind(self.kind), ranks, self.all_sizes[-1], self.chunks or 1, self.root)


def read_problems(
    asked: Asked, topology: Topology, groups: Sequence[str] | None, *, relays: bool, blocking: bool
) -> list[Problem]:
    """What is asked of each group, or of all ranks when there are none."""
    if not groups:
        return [Problem(asked.collective(topology.num_ranks), topology, blocking)]
    problems = []
    for text in groups:
        ranks = parse_spans(text)
        if len(set(ranks)) < len(ranks) or max(ranks) >= topology.num_ranks:
            raise FormatError(f"--group {text}: expected different ranks of 0 to {topology.num_ranks - 1}")
        collective = asked.collective(len(ranks))
        problems.append(Problem(collective, topology, blocking, np.array(ranks, np.int32), relays))
    return problems


def read_priorities(text: str | None, groups: int) -> list[int] | None:
    """One number for each group."""
    if text is None:
        return None
    numbers = text.split(",")
    if len(numbers) != groups or not all(number.strip().isdecimal() and len(number) < 10 for number in numbers):
        raise typer.BadParameter(f"--priority {text}: expected a number for each of the {groups} --group")
    return [int(number) for number in numbers]


def _read_sizes(text: str) -> list[int]:
    """`1MiB,2MiB,0`, or a file of such sizes between commas or white space."""
    content = read_text(text) if Path(text).is_file() else text
    return [parse_bytes(size) for size in content.replace(",", " ").split()]
