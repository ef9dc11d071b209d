"""What `hocket synthesize` is asked for: one collective, or several at once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import typer
from numpy.typing import NDArray

from hocket.core.errors import FormatError
from hocket.core.files import read_text
from hocket.core.units import parse_bytes
from hocket.schedule import Collective, Kind
from hocket.schedule.conditions_file import load_conditions
from hocket.synthesizer import Problem
from hocket.topology import Topology
from hocket.topology.naming import parse_spans

__all__ = ["read_groups", "read_problems"]


def read_groups(texts: Sequence[str] | None, topology: Topology) -> list[NDArray[np.int32] | None]:
    """The ranks of each group; all ranks without any."""
    groups: list[NDArray[np.int32] | None] = []
    for text in texts or ():
        ranks = parse_spans(text)
        if len(set(ranks)) < len(ranks) or max(ranks) >= topology.num_ranks:
            raise FormatError(f"--group {text}: expected different ranks of 0 to {topology.num_ranks - 1}")
        groups.append(np.array(ranks, np.int32))
    return groups or [None]


def read_problems(
    kind: str,
    topology: Topology,
    groups: Sequence[NDArray[np.int32] | None],
    *,
    size_bytes: int | None,
    sizes: str | None,
    conditions: Path | None,
    chunks: int,
    root: int,
    blocking: bool,
    relays: bool,
) -> list[Problem]:
    """The same collective for each group. Exactly one of its size, the sizes of its blocks and its conditions says how
    large it is."""
    if (size_bytes is not None) + (sizes is not None) + (conditions is not None) != 1:
        raise typer.BadParameter("exactly one of --size, --sizes and --conditions says what to send")
    if (kind == Kind.CUSTOM) != (conditions is not None):
        raise typer.BadParameter("COLLECTIVE custom and --conditions FILE belong together")
    problems = []
    for group in groups:
        ranks = topology.num_ranks if group is None else len(group)
        if conditions is not None:
            collective = load_conditions(conditions)
        elif sizes is not None:
            collective = Collective.uneven(Kind(kind), ranks, _read_sizes(sizes), chunks, root)
        else:
            collective = Collective(Kind(kind), ranks, size_bytes or 0, chunks, root)
        problems.append(Problem(collective, topology, blocking, group, relays))
    return problems


def _read_sizes(text: str) -> list[int]:
    """`1MiB,2MiB,0`, or a file of such sizes between commas or white space."""
    content = read_text(text) if Path(text).is_file() else text
    return [parse_bytes(size) for size in content.replace(",", " ").split()]
