"""How an engine looks for schedules."""

from dataclasses import dataclass, field

from hocket._core.synthesizer import Stop

__all__ = ["Search", "Stop"]


@dataclass(frozen=True)
class Search:
    """`attempts` None: as many as the problem's size is worth. A schedule of at most `target_ps` ends the search early.

    The same `seed` gives the same schedules on any machine and for any number of `threads`. `stop` asks a running
    engine to end (at a time limit, on Ctrl-C) and says how far it is.
    """

    seed: int = 0
    threads: int = 1
    attempts: int | None = None
    target_ps: int = 0
    stop: Stop = field(default_factory=Stop, compare=False)
