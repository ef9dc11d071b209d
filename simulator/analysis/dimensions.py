"""Which parallel dimension of a job a process group or a message belongs to."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hocket.simulator.analysis.columns import Columns

__all__ = ["ALL_RANKS", "MESSAGES", "PIPELINE", "dimension_of_group", "dimensions_of_messages", "in_order"]

ALL_RANKS, MESSAGES, PIPELINE = "all ranks", "messages", "PP"
_CONTEXT = "CP"
#: What names of groups hold; the first that does counts. Ours (`expert_dp.3`), Megatron's (TENSOR_MODEL_PARALLEL_GROUP,
#: DATA_PARALLEL_GROUP_WITH_CP, in which gradients are summed), torchtitan's and DeviceMesh's (`mesh_dp_shard`).
_NAMES = (
    ("expert DP", r"expert.*(data|dp)|edp"),
    ("EP", r"expert|(^|[^a-z])ep([^a-z]|$)"),
    ("embedding", r"embd|embedding"),
    ("DP", r"data|fsdp|ddp|(^|[^a-z])dp([^a-z]|$)|replicate|shard"),
    (_CONTEXT, r"context|(^|[^a-z])cp([^a-z]|$)"),
    ("TP", r"tensor|(^|[^a-z])tp([^a-z]|$)"),
    (PIPELINE, r"pipe|(^|[^a-z])pp([^a-z]|$)"),
)
#: Of communications at one time the first here is what computation most likely waits for.
_ORDER = ("TP", "EP", _CONTEXT, PIPELINE, MESSAGES)
_LAST = ("embedding", "expert DP", "DP", ALL_RANKS)


def dimension_of_group(name: str, num_members: int, num_ranks: int) -> str:
    """`TP`, `PP`, `DP`, `EP`, `CP`, `expert DP`, `embedding` by what the group's name says; else `all ranks` where all
    ranks are in it, or `groups of 4`, by its number of members."""
    for dimension, pattern in _NAMES:
        if re.search(pattern, name.lower()):
            return dimension
    return ALL_RANKS if num_members == num_ranks else f"groups of {num_members}"


def dimensions_of_messages(ends: Columns, groups: Mapping[str, Sequence[int]]) -> NDArray[np.str_]:
    """The dimension of each message from rank `src` to rank `dst` (columns of `ends`, equally long): that of a context
    or pipeline group which both are in, else `messages`."""
    found = np.full(len(ends["src"]), MESSAGES, dtype="<U16")
    for dimension in (PIPELINE, _CONTEXT):
        of_rank: dict[int, int] = {}
        members = [ranks for name, ranks in groups.items() if dimension_of_group(name, len(ranks), -1) == dimension]
        for number, ranks in enumerate(members):
            of_rank |= dict.fromkeys(ranks, number)
        if of_rank:
            most = int(max(*of_rank, *ends["src"].tolist(), *ends["dst"].tolist(), 0)) + 1
            number_of = np.full(most, -1)
            number_of[list(of_rank)] = list(of_rank.values())
            same = number_of[ends["src"]] == number_of[ends["dst"]]
            found[same & (number_of[ends["src"]] >= 0)] = dimension
    return found


def in_order(dimensions: Iterable[str]) -> list[str]:
    """Dimensions, those first that computation waits for at once, what may go on beside it last."""
    distinct = sorted(set(dimensions))
    others = [each for each in distinct if each not in (*_ORDER, *_LAST)]
    return [each for each in (*_ORDER, *others, *_LAST) if each in distinct]
