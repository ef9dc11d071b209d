"""What an engine is."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from hocket.base.registry import Entry
from hocket.schedule import AnySchedule
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Search

__all__ = ["Engine", "NamedEngine"]


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


@dataclass(frozen=True, kw_only=True)
class NamedEngine(Entry, ABC):
    """An `Engine` that a user can ask for: `collectives` that it does, networks that it `needs`, and up to what `size`,
    in words. `tireless`: it goes on improving as long as there is time; `folds`: its schedules need not be spelled out;
    `as_asked`: it is neither turned around in time nor put together from halves; `shares_links`: it puts several
    transfers at once on a trunk, others need lanes. `enough_percent`: of what it finds
    within so many per cent of the bound `auto` looks for nothing better that costs more than a moment, unless there is
    a time limit (None: it does)."""

    collectives: str
    size: str
    tireless: bool = False
    folds: bool = False
    as_asked: bool = False
    shares_links: bool = False
    enough_percent: int | None = None

    @abstractmethod
    def why_not(self, problem: Problem) -> str | None: ...

    @abstractmethod
    def seconds(self, problem: Problem) -> float: ...

    @abstractmethod
    def solve(self, problem: Problem, search: Search) -> Iterator[AnySchedule]: ...
