"""Explains why a workload does not end: who waits for whom."""

import numpy as np
from numpy.typing import NDArray

from hocket.base.errors import DeadlockError
from hocket.simulator.workload import NodeKind, Workload

__all__ = ["require_all_done"]


def require_all_done(workload: Workload, start_ps: NDArray[np.int64], finish_ps: NDArray[np.int64]) -> None:
    """Raises DeadlockError with the chain of waits when some node has no finish (-1)."""
    unfinished = finish_ps < 0
    if not unfinished.any():
        return
    chain: list[str] = []
    seen: set[int] = set()
    rank: int | None = int(workload.rank[unfinished][0])
    while rank is not None and rank not in seen:
        seen.add(rank)
        sentence, rank = _wait_of(workload, rank, start_ps, unfinished)
        chain.append(sentence)
    if rank is not None:
        chain.append(f"which waits for rank {rank}, already named: a cycle")
    ranks = len(np.unique(workload.rank[unfinished]))
    raise DeadlockError(
        f"deadlock: {int(unfinished.sum())} nodes of {ranks} ranks can never happen: " + "; ".join(chain)
    )


def _wait_of(
    workload: Workload, rank: int, start_ps: NDArray[np.int64], unfinished: NDArray[np.bool_]
) -> tuple[str, int | None]:
    """What a rank that is not done waits for, and the unfinished rank it waits for, if any."""
    first, last = workload.rank_offset[rank], workload.rank_offset[rank + 1]
    waiting = first + np.flatnonzero(unfinished[first:last] & (start_ps[first:last] >= 0))
    if not len(waiting):
        node = int(first + np.flatnonzero(unfinished[first:last])[0])
        return f"{workload.describe(node)} depends on itself, through its dependencies", None
    node = int(waiting[0])
    if workload.kind[node] == NodeKind.RECEIVE:
        return _wait_for_message(workload, node, unfinished)
    return _wait_for_members(workload, node, start_ps, unfinished)


def _wait_for_message(workload: Workload, node: int, unfinished: NDArray[np.bool_]) -> tuple[str, int | None]:
    message = workload.operand[node]
    src = int(workload.message_src[message])
    waits = f"{workload.describe(node)} waits for a message with tag {workload.message_tag[message]} from rank {src}"
    sends = np.flatnonzero((workload.kind == NodeKind.SEND) & (workload.operand == message))
    if not len(sends):
        return f"{waits}, which never sends it", None
    return f"{waits}, which has not reached its {workload.describe(int(sends[0]))}", src


def _wait_for_members(
    workload: Workload, node: int, start_ps: NDArray[np.int64], unfinished: NDArray[np.bool_]
) -> tuple[str, int | None]:
    instance = workload.operand[node]
    call = workload.calls[workload.call_of[instance]]
    parts = np.flatnonzero((workload.kind == NodeKind.COLLECTIVE) & (workload.operand == instance))
    waits = f"{workload.describe(node)} waits in {call.kind} of ranks {_short(call.group)}"
    late = parts[start_ps[parts] < 0]
    if len(late):
        rank = int(workload.rank[late[0]])
        return f"{waits} for rank {rank}, which has not reached its {workload.describe(int(late[0]))}", rank
    absent = sorted(set(call.group) - set(workload.rank[parts].tolist()))
    return f"{waits} for rank {absent[0]}, whose trace has no such collective left", None


def _short(ranks: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, ranks[:8]))
    return f"[{shown}, ... {len(ranks)} in all]" if len(ranks) > 8 else f"[{shown}]"
