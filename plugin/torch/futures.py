"""Futures of Works: Python code may wait for a collective by `work.get_future()`, or by what is chained to that."""

from __future__ import annotations

import time
from functools import wraps
from typing import Any
from weakref import ref

import torch.distributed as dist

from hocket.plugin.torch import interfaces
from hocket.plugin.torch.hook import Hook
from hocket.plugin.torch.interfaces import Future

__all__ = ["watch_futures"]


def watch_futures(hook: Hook) -> None:
    """Tells the hook of waits for futures. A callback is no wait: it runs in whatever thread completes the future."""
    waited_for: dict[ref[Future[Any]], list[int]] = {}  # the operations that are complete when a future is
    get_future, collect_all = dist.Work.get_future, interfaces.COLLECT_ALL.ask()
    then, wait = interfaces.THEN.ask(), interfaces.WAIT.ask()
    if then is None or wait is None:
        return

    def note(future: Future[Any], operations: list[int]) -> Future[Any]:
        if operations:
            waited_for[ref(future, waited_for.pop)] = operations
        return future

    @wraps(get_future)
    def get_future_and_note(work: dist.Work) -> Future[Any]:
        operation = hook.operation_of(work)
        return note(get_future(work), [] if operation is None else [operation])

    @wraps(then)
    def then_and_note(future: Future[Any], callback: Any) -> Future[Any]:
        return note(then(future, callback), waited_for.get(ref(future), []))

    def collect_all_and_note(futures: list[Future[Any]]) -> Future[Any]:
        operations = [operation for future in futures for operation in waited_for.get(ref(future), [])]
        assert collect_all is not None  # else this is put nowhere
        return note(collect_all(futures), operations)

    @wraps(wait)
    def wait_and_record(future: Future[Any]) -> Any:
        begin = time.perf_counter_ns()
        result = wait(future)
        for operation in waited_for.pop(ref(future), []):
            hook.write_wait(operation, begin)
        return result

    dist.Work.get_future = get_future_and_note
    interfaces.THEN.put(then_and_note)
    interfaces.WAIT.put(wait_and_record)
    if collect_all is not None:
        interfaces.COLLECT_ALL.put(wraps(collect_all)(collect_all_and_note))
