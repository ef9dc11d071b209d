"""ForestColl's trees: for each GPU spanning trees, of which each carries a share of its chunks.

Format: `spanning_trees_to_xml` of ForestColl (liangyuRain/ForestColl), `<Algo nchunkspernode>` of `<tree root index
nchunks>`s of `<send src dst path>`s. GPUs have names, such as `3` or `(0, 'GPU', 3)`; a path may name switches.
"""

import re
from pathlib import Path

from hocket.base.errors import FormatError, ScheduleError
from hocket.base.reading import read_text
from hocket.base.tags import tags
from hocket.schedule import Collective, Kind, Schedule, retime
from hocket.schedule.algorithms import PackedTree, along_trees
from hocket.topology import Topology

__all__ = ["is_forest", "read_forest"]

_COUNT = re.compile("[0-9]{1,6}")
# One blank at a time, and no comment reaches into the next: else a search takes exponentially long.
_BEGINNING = re.compile(rb"(?:\s|<!--(?:(?!-->).)*-->)*<Algo\b", re.DOTALL)


def is_forest(path: Path | str) -> bool:
    """Whether a file begins as ForestColl's trees do; MSCCL XML begins with a small letter."""
    try:
        with open(path, "rb") as file:
            return _BEGINNING.match(file.read(4096)) is not None
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error


def read_forest(
    path: Path | str, topology: Topology, size_bytes: int, kind: Kind = Kind.ALL_GATHER, blocking: bool = False
) -> Schedule:
    """The trees as a schedule of `size_bytes` (nccl-tests' size), at the earliest times: out of their roots
    (all_gather), into them (reduce_scatter), or both (all_reduce).

    The GPUs are the topology's ranks, in the order of the numbers in their names; sends go over the topology's routes.
    Raises FormatError naming file and line, ScheduleError for trees that do not do the collective.
    """
    chunks, names, trees = _read(str(path))
    rank = {name: number for number, name in enumerate(sorted(names, key=_natural))}
    if len(rank) != topology.num_ranks:
        raise FormatError(f"{path}: trees of {len(rank)} GPUs, but {topology.name} has {topology.num_ranks} ranks")
    packed = [
        PackedTree(rank[root], {rank[dst]: rank[src] for dst, src in parent.items()}, carried)
        for root, carried, parent in trees
    ]
    try:
        return retime(along_trees(packed, Collective(kind, len(rank), size_bytes, chunks), topology), blocking)
    except ScheduleError as error:
        raise ScheduleError(f"{path}: {error}") from error


def _read(source: str) -> tuple[int, set[str], list[tuple[str, int, dict[str, str]]]]:
    """Chunks of each GPU, the GPUs' names, and of each tree its root, chunks and edges (by their heads)."""
    chunks = 0
    names: set[str] = set()
    trees: list[tuple[str, int, dict[str, str]]] = []
    for line, _, name, attributes, opens in tags(read_text(source), source):
        if not opens:
            continue
        where = f"{source}:{line}: <{name}>"
        if name == "Algo":
            chunks = _count(where, "nchunkspernode", attributes)
        elif name == "tree" and chunks:
            trees.append((_named(where, "root", attributes), _count(where, "nchunks", attributes), {}))
            names.add(trees[-1][0])
        elif name == "send" and trees:
            src, dst = (_named(where, key, attributes) for key in ("src", "dst"))
            if dst in trees[-1][2]:
                raise FormatError(f"{where} reaches {dst}, which the tree reached before")
            trees[-1][2][dst] = src
            names |= {src, dst}
        else:
            raise FormatError(f"{where}: expected <Algo> of <tree>s of <send>s; are these ForestColl's trees?")
    if not trees:
        raise FormatError(f"{source}: expected <Algo> of <tree>s; there is none")
    return chunks, names, trees


def _named(where: str, key: str, attributes: dict[str, str]) -> str:
    if not attributes.get(key):
        raise FormatError(f"{where}: has no {key}")
    return attributes[key]


def _count(where: str, key: str, attributes: dict[str, str]) -> int:
    text = attributes.get(key, "")
    if not _COUNT.fullmatch(text) or not int(text):
        raise FormatError(f'{where}: {key}="{text}" is not a number of chunks')
    return int(text)


def _natural(name: str) -> tuple[list[int], str]:
    return [int(number) for number in re.findall("[0-9]{1,9}", name)], name
