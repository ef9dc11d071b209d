"""What a collective must get into, and out of, sets of its ranks."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.collective import Collective

__all__ = ["Crossing", "entering", "leaving"]

Crossing = tuple[NDArray[np.int64], NDArray[np.int64]]


def entering(collective: Collective, part: NDArray[np.intp]) -> Crossing:
    """Chunks, and bytes, that must enter each part of the ranks (`part`: collective rank -> part)."""
    if collective.even_exchange:
        return _exchanged(collective, part)[0]
    return _crossing(collective, collective.destination, collective.origin, part)


def leaving(collective: Collective, part: NDArray[np.intp]) -> Crossing:
    """The same for what must leave each part: the mirror image, with contributors and recipients swapped."""
    if collective.even_exchange:
        return _exchanged(collective, part)[1]
    return _crossing(collective, collective.origin, collective.destination, part)


def _exchanged(collective: Collective, part: NDArray[np.intp]) -> tuple[Crossing, Crossing]:
    """What enters, and what leaves, each part in an all_to_all of even blocks."""
    inside = np.bincount(part)
    outside = collective.num_ranks - inside
    chunks = inside * outside * collective.chunks_per_rank
    wanted = np.zeros(len(inside), np.int64)  # from each rank
    np.add.at(wanted, np.repeat(part, collective.chunks_per_rank), collective.slot_bytes)
    return (chunks, outside * wanted), (chunks, inside * (collective.size_bytes - wanted))


def _crossing(
    collective: Collective, here: NDArray[np.int32], there: NDArray[np.int32], part: NDArray[np.intp]
) -> Crossing:
    """Per part the chunks with an end `here` in the part and an end `there` outside it; an end of -1 is every rank."""
    if collective.conditions is not None:
        return _custom_crossing(collective, here, there, part)
    everywhere, somewhere = here < 0, there >= 0
    inner, outer = part[here], part[there]
    result = []
    for weight in (collective.sent.astype(np.int64), collective.chunk_bytes):
        total = np.full(int(part.max()) + 1, weight[everywhere].sum())
        np.subtract.at(total, outer[everywhere & somewhere], weight[everywhere & somewhere])
        apart = ~everywhere & (~somewhere | (inner != outer))
        np.add.at(total, inner[apart], weight[apart])
        result.append(total)
    return result[0], result[1]


def _custom_crossing(
    collective: Collective, here: NDArray[np.int32], there: NDArray[np.int32], part: NDArray[np.intp]
) -> Crossing:
    """The same for conditions: a chunk crosses when some end `here` is in the part and some end `there` is not."""
    chunks, total = np.zeros(int(part.max()) + 1, np.int64), np.zeros(int(part.max()) + 1, np.int64)
    pairs, of = np.unique(np.stack([here, there]), axis=1, return_inverse=True)
    numbers = np.bincount(of.ravel(), collective.sent).astype(np.int64)
    amounts = np.zeros(len(numbers), np.int64)
    np.add.at(amounts, of.ravel(), collective.chunk_bytes)
    for (inner, outer), number, amount in zip(pairs.T.tolist(), numbers, amounts, strict=True):
        outside = set(part[list(collective.members(outer))].tolist())
        for one in set(part[list(collective.members(inner))].tolist()):
            if outside != {one}:
                chunks[one] += number
                total[one] += amount
    return chunks, total
