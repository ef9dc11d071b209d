"""Which parallel dimension of a job a process group or a message belongs to."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hocket.chakra.job_metadata import described_groups
from hocket.chakra.roles import kinds_of_traces
from hocket.chakra.trace import TraceSet
from hocket.simulator.analysis.columns import Columns

__all__ = [
    "ALL_RANKS",
    "MESSAGES",
    "PIPELINE",
    "dimension_of_group",
    "dimensions_of_messages",
    "in_order",
    "purposes_of_groups",
]

ALL_RANKS, MESSAGES, PIPELINE = "all ranks", "messages", "PP"
_CONTEXT, _SEQUENCE, _RING = "CP", "SP", "messages around a ring"
#: What names of groups say, in words apart; the first that does counts. Ours (`expert_dp.3`), Megatron's
#: (TENSOR_MODEL_PARALLEL_GROUP, DATA_PARALLEL_GROUP_WITH_CP, in which gradients are summed), torchtitan's and
#: DeviceMesh's (`mesh_dp_shard`, `dp_shard_mod_ep`: the copies of an expert), DeepSpeed's (`sequence data parallel`).
_NAMES = (
    (ALL_RANKS, r"^(world|default pg)$"),
    ("expert DP", r"\b(expert|ep|moe)\b.*\b(data|dp)\b|\bedp\b|\befsdp\b|\bmod ep\b"),
    ("expert TP", r"\bexpert tensor\b(?! (and|model)\b)|\bexpert tp\b|\betp\b"),
    ("EP", r"\b(expert|experts|ep|moe)\b"),
    ("TP", r"\b(tensor|tp)\b.*\b(embd|embedding)"),
    ("embedding", r"\b(embd|embedding)"),
    ("DP", r"\bdata|\b[fh]sdp|\bddp\b|\bdp\b|\breplicate|\bshard"),
    (_CONTEXT, r"\bcontext|\bcp\b"),
    ("TP", r"\btensor|\btp\b"),
    (_SEQUENCE, r"\bsequence|\bsp\b|\bulysses\b"),
    (PIPELINE, r"\bpipe|\bpp\b"),
)
#: Of communications at one time the first here is what computation most likely waits for.
_ORDER = ("TP", "expert TP", "EP", _SEQUENCE, _CONTEXT, _RING, PIPELINE, MESSAGES)
_LAST = ("embedding", "expert DP", "DP", ALL_RANKS)


def purposes_of_groups(traces: TraceSet) -> dict[str, str]:
    """What process groups are for, by name, where the traces' metadata describe them: importers number groups."""
    found: dict[str, str] = {}
    for trace, _ in kinds_of_traces(traces):
        found |= described_groups(trace.metadata)
    return found


@lru_cache(maxsize=4096)
def dimension_of_group(name: str, num_members: int, num_ranks: int, purpose: str = "") -> str:
    """`TP`, `PP`, `DP`, `EP`, `CP`, `SP`, `expert DP`, `expert TP`, `embedding` by what the group's name says, else its
    `purpose`; else `all ranks` where all ranks are in it, or `groups of 4`, by its number of members. What follows an @
    in a name is the job that the group is of (`hocket.chakra.combining`), and says nothing of it."""
    for told in (name.partition("@")[0], purpose):
        words = " ".join(re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", told).lower()))
        for dimension, pattern in _NAMES:
            if re.search(pattern, words):
                return dimension
    return ALL_RANKS if num_members == num_ranks else f"groups of {num_members}"


def dimensions_of_messages(
    messages: Columns,
    groups: Mapping[str, Sequence[int]],
    purposes: Mapping[str, str],
    rows_of: Callable[[NDArray[np.integer]], NDArray[np.integer]] = lambda ranks: ranks,
) -> NDArray[np.str_]:
    """The dimension of each message of `bytes` from rank `src` to rank `dst` (columns, equally long): that of a
    context, sequence or pipeline group which both are in; `messages around a ring` where three ranks or more pass on as
    much to the next one, none to the one before; else `messages`."""
    src, dst = messages["src"], messages["dst"]
    found = np.full(len(src), MESSAGES, dtype="<U32")
    for dimension in (PIPELINE, _SEQUENCE, _CONTEXT):
        of_rank: dict[int, int] = {}
        members = [
            ranks
            for name, ranks in groups.items()
            if dimension_of_group(name, len(ranks), -1, purposes.get(name, "")) == dimension
        ]
        for number, ranks in enumerate(members):
            of_rank |= dict.fromkeys(ranks, number)
        if of_rank:
            most = int(max(*of_rank, *src.tolist(), *dst.tolist(), 0)) + 1
            number_of = np.full(most, -1)
            number_of[list(of_rank)] = list(of_rank.values())
            same = number_of[src] == number_of[dst]
            found[same & (number_of[src] >= 0)] = dimension
    unnamed = np.flatnonzero(found == MESSAGES)
    found[unnamed[_around_rings(src[unnamed], dst[unnamed], messages["bytes"][unnamed])]] = _RING
    # from a rank to one that does alike, for which it stands, and nothing back: whoever stands for all of a ring
    onward = (rows_of(src) == rows_of(dst)) & (src != dst) & ~np.isin(_pair(src, dst), _pair(dst, src))
    found[(found == MESSAGES) & onward] = _RING
    return found


def _around_rings(src: NDArray[np.int32], dst: NDArray[np.int32], size: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which messages go around a ring in one direction, as those of ring attention do: stages of a pipeline answer with
    gradients, or pass on more than the last one returns to the first."""
    pairs, pair_of, count = np.unique(np.stack([src, dst]), axis=1, return_inverse=True, return_counts=True)
    pair_of = pair_of.reshape(-1)
    total = np.zeros(pairs.shape[1], np.int64)
    np.add.at(total, pair_of, size)
    number = {(first, second): at for at, (first, second) in enumerate(pairs.T.tolist())}
    one_way = [pair for pair in number if pair[::-1] not in number]
    several = {first for first, times in Counter(first for first, _ in one_way).items() if times > 1}
    around = np.zeros(len(number), np.bool_)
    for ring in _rings({first: second for first, second in one_way if first not in several}):
        at = [number[pair] for pair in pairwise([*ring, ring[0]])]
        around[at] = len({*zip(count[at].tolist(), total[at].tolist(), strict=True)}) == 1
    return np.asarray(around[pair_of], np.bool_)


def _pair(first: NDArray[np.integer], second: NDArray[np.integer]) -> NDArray[np.int64]:
    return first.astype(np.int64) << 32 | second


def _rings(after: Mapping[int, int]) -> Iterator[list[int]]:
    """The ranks that follow each other around, where each is followed by one at most."""
    seen: set[int] = set()
    for first in after:
        at, walked = first, []
        while at in after and at not in seen:
            seen.add(at)
            walked.append(at)
            at = after[at]
        if at in walked:
            yield walked[walked.index(at) :]


def in_order(dimensions: Iterable[str]) -> list[str]:
    """Dimensions, those first that computation waits for at once, what may go on beside it last."""
    distinct = sorted(set(dimensions))
    others = [each for each in distinct if each not in (*_ORDER, *_LAST)]
    return [each for each in (*_ORDER, *others, *_LAST) if each in distinct]
