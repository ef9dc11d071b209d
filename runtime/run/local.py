"""Ranks that Hocket's launcher started on this machine, with a folder in common: the engine's own connections."""

import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

from hocket.base.scratch import hand_over
from hocket.runtime.engine.connections import Connections

__all__ = ["connect_here", "telling"]


def connect_here(folder: Path, rank: int, size: int, shares_memory: bool) -> Connections:
    """Connections with the others, through shared memory or over the loopback's TCP."""
    return Connections(rank, telling(folder, rank, size, "address"), "127.0.0.1", shares_memory)


def telling(folder: Path, rank: int, size: int, subject: str) -> Callable[[str], list[str]]:
    """How the ranks tell each other words, again and again: it gives every rank's, by rank."""
    times = count()

    def tell(words: str) -> list[str]:
        number = next(times)
        hand_over(folder / f"{rank}.{subject}.{number}", words)
        places = [folder / f"{other}.{subject}.{number}" for other in range(size)]
        while not all(place.exists() for place in places):  # the launcher ends us where a rank fails
            time.sleep(0.001)
        return [place.read_text() for place in places]

    return tell
