"""Explains why ranks do not finish, where ASTRA-sim ends without a word."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import DeadlockError
from hocket.simulator.astra.program import AstraNodes

__all__ = ["explain"]

# What the engine says about a node's progress; 0: it waits for its dependencies.
_READY = 1
_ISSUED = 2
_DONE = 3


def explain(nodes: AstraNodes, group: NDArray[np.int32], outcome: dict[str, Any]) -> NoReturn:
    """Raises DeadlockError with the chain of waits from the first rank that does not finish; `group` is of each node,
    -1: everybody."""
    unfinished = np.flatnonzero(outcome["finish_ns"] < 0)
    waits: dict[int, tuple[int, int, int]] = {}
    for node, source, size in sorted(outcome["waiting"]):
        waits.setdefault(int(nodes.rank[node]), (node, source, size))
    chain: list[str] = []
    unlike: list[str] = []
    seen: set[int] = set()
    rank = next((int(rank) for rank in unfinished if rank in waits), int(unfinished[0]))
    while rank in waits and rank not in seen:
        seen.add(rank)
        node, source, size = waits[rank]
        chain.append(f"{nodes.describe(node)} waits for {size} bytes from rank {source}")
        unlike += _unlike_numbers(nodes, group, outcome, node, source)
        rank = source
    if rank in seen:
        chain.append(f"which is named already: a cycle through rank {rank}")
    elif outcome["finish_ns"][rank] >= 0:
        chain.append(f"which finished at {outcome['finish_ns'][rank]} ns without sending them")
    else:
        chain.append(_stuck(nodes, outcome, rank))
    raise DeadlockError(
        f"deadlock: {len(unfinished)} of {len(outcome['finish_ns'])} ranks never finish (ASTRA-sim says nothing): "
        + "; ".join(chain + unlike[:1])
    )


def _unlike_numbers(
    nodes: AstraNodes, group: NDArray[np.int32], outcome: dict[str, Any], node: int, source: int
) -> list[str]:
    """Why a collective of everybody waits for a rank that called it too: their chunks have unlike numbers."""
    started = outcome["first_stream"]

    def called(rank: int) -> list[int]:
        first, last = nodes.rank_offset[rank], nodes.rank_offset[rank + 1]
        rows = first + np.flatnonzero((started[first:last] >= 0) & (group[first:last] < 0))
        by_number: list[int] = rows[np.argsort(started[rows], kind="stable")].tolist()
        return by_number

    rank = int(nodes.rank[node])
    mine, theirs = called(rank), called(source)
    if node not in mine or len(theirs) <= mine.index(node):
        return []
    other = theirs[mine.index(node)]
    if started[node] == started[other]:
        return []
    return [
        "both called it, but ASTRA-sim numbers all chunks that a rank starts, those of its groups too, and messages"
        f" meet by these numbers: rank {rank} had started {started[node]} chunks before this collective, rank {source}"
        f" {started[other]} before {nodes.describe(other)}; simulate without --compat, or give every rank as many"
        " chunks in groups"
    ]


def _stuck(nodes: AstraNodes, outcome: dict[str, Any], rank: int) -> str:
    """What a rank that waits for no message does not get past."""
    first, last = nodes.rank_offset[rank], nodes.rank_offset[rank + 1]
    progress = outcome["progress"][first:last]
    started = first + np.flatnonzero(progress == _ISSUED)
    if len(started):
        return f"{nodes.describe(int(started[0]))} started and has nobody to end it"
    ready = first + np.flatnonzero(progress == _READY)
    if len(ready):
        return (
            f"{nodes.describe(int(ready[0]))} never starts: a skipped node freed it, and ASTRA-sim looks for such nodes"
            " only when another one ends"
        )
    node = int(first + np.flatnonzero(progress < _DONE)[0])
    return f"{nodes.describe(node)} never starts: it depends on itself, through its dependencies"
