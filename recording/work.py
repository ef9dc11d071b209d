"""Tasks done one after the other or by several processes: the same results in the same order."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from hocket.base.processes import worker_pool

__all__ = ["Tell", "each", "untold"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

# Hears how many of how many things are done, and of what.
Tell = Callable[[int, int, str], None]


def untold(done: int, of: int, what: str) -> None:
    """Tells nobody."""


_WAITING = 4  # tasks a process that are handed out ahead: their results wait for those before


def each(
    work: Callable[[_Task], _Result], tasks: Sequence[_Task], jobs: int, tell: Tell, what: str
) -> Iterator[_Result]:
    """The results of all tasks in their order, done by `jobs` processes; 1: by this one. Raises what the first task
    that fails raises."""
    if jobs == 1 or len(tasks) < 2:
        for done, task in enumerate(tasks):
            tell(done, len(tasks), what)
            yield work(task)
    else:
        with worker_pool(min(jobs, len(tasks))) as pool:
            ahead = [pool.submit(work, task) for task in tasks[: jobs * _WAITING]]
            for done in range(len(tasks)):
                tell(done, len(tasks), what)
                result = ahead.pop(0).result()
                if done + jobs * _WAITING < len(tasks):
                    ahead.append(pool.submit(work, tasks[done + jobs * _WAITING]))
                yield result
    if tasks:
        tell(len(tasks), len(tasks), what)
