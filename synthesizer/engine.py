"""What an engine is."""

from collections.abc import Iterator
from typing import Protocol

from hocket.schedule import AnySchedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Engine"]


class Engine(Protocol):
    """A way to find schedules."""

    @property
    def name(self) -> str:
        """For `--engine`."""

    def why_not(self, problem: Problem) -> str | None:
        """Why the engine cannot solve the problem, as the end of a sentence with the remedy; None where it can."""

    def seconds(self, problem: Problem) -> float:
        """Roughly how long `solve` takes with the default number of attempts, from sizes alone: the same anywhere."""

    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]:
        """Timed schedules, each quicker than those before it; ends when there is nothing more to try.

        Raises Infeasible when a chunk cannot get where it is wanted, Stopped when `search.stop` was asked.
        """
