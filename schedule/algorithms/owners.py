"""An all_reduce in any number of chunks (`Collective.cut_whole`): each has an owner that adds it up for its peers."""

import numpy as np
from numpy.typing import NDArray

from hocket.schedule.algorithms.moves import Moves
from hocket.schedule.collective import Collective

__all__ = ["by_owners"]


def by_owners(collective: Collective, machines: int = 1, *, at_once: bool = True) -> Moves:
    """In each of so many machines (of ranks that follow each other) an owner adds up a chunk; a chunk's owners send
    each other their sums `at_once`, or one of them, by turns of the chunks, adds them all and sends the whole sum back;
    each sends that to its peers. Owners are spread evenly over a machine's ranks.
    """
    size, f = collective.num_ranks // machines, collective.chunks_per_rank
    step, chunk = np.arange(size - 1)[:, None, None], np.arange(f)
    first = size * np.arange(machines)[:, None]
    place = chunk * size // f
    owner, peer = first + place, first + (place + step + 1) % size
    scatter = Moves.of(step, peer, owner, chunk, reduce=True)
    gather = Moves.of(step, owner, peer, chunk, reduce=False)
    between = _shot(owner, chunk) if at_once else _over_homes(owner, chunk)
    return scatter.then(between).then(gather)


def _shot(owner: NDArray[np.int64], chunk: NDArray[np.int64]) -> Moves:
    """All owners (machines x chunks) of a chunk send each other what they have."""
    src, dst, chunks = np.broadcast_arrays(owner[:, None], owner[None, :], chunk)
    others = src != dst
    return Moves.of(0, src[others], dst[others], chunks[others], reduce=True)


def _over_homes(owner: NDArray[np.int64], chunk: NDArray[np.int64]) -> Moves:
    """To one of the owners of each chunk, and back from there."""
    machines = len(owner)
    step = np.arange(machines - 1)[:, None]
    home, other = owner[chunk % machines, chunk], owner[(chunk + step + 1) % machines, chunk]
    return Moves.of(step, other, home, chunk, reduce=True).then(Moves.of(step, home, other, chunk, reduce=False))
