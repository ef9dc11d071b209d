"""Explains why ranks do not finish, where ASTRA-sim ends without a word."""

from typing import Any, NoReturn

import numpy as np

from hocket.base.errors import DeadlockError
from hocket.simulator.astra.program import AstraNodes

__all__ = ["explain"]

# What the engine says about a node's progress; 0: it waits for its dependencies.
_READY = 1
_ISSUED = 2
_DONE = 3


def explain(nodes: AstraNodes, outcome: dict[str, Any]) -> NoReturn:
    """Raises DeadlockError with the chain of waits from the first rank that does not finish."""
    unfinished = np.flatnonzero(outcome["finish_ns"] < 0)
    waits: dict[int, tuple[int, int, int]] = {}
    for node, source, size in sorted(outcome["waiting"]):
        waits.setdefault(int(nodes.rank[node]), (node, source, size))
    chain: list[str] = []
    seen: set[int] = set()
    rank = next((int(rank) for rank in unfinished if rank in waits), int(unfinished[0]))
    while rank in waits and rank not in seen:
        seen.add(rank)
        node, source, size = waits[rank]
        chain.append(f"{nodes.describe(node)} waits for {size} bytes from rank {source}")
        rank = source
    if rank in seen:
        chain.append(f"which is named already: a cycle through rank {rank}")
    elif outcome["finish_ns"][rank] >= 0:
        chain.append(f"which finished at {outcome['finish_ns'][rank]} ns without sending them")
    else:
        chain.append(_stuck(nodes, outcome, rank))
    raise DeadlockError(
        f"deadlock: {len(unfinished)} of {len(outcome['finish_ns'])} ranks never finish (ASTRA-sim says nothing): "
        + "; ".join(chain)
    )


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
