"""Futures of Works: Python code may wait for a collective by `work.get_future()`, or by what is chained to that."""

import time
from functools import wraps
from typing import Any
from weakref import ref

import torch
import torch.distributed as dist

from hocket.plugin.torch.hook import Hook

__all__ = ["watch_futures"]


def watch_futures(hook: Hook) -> None:
    """Tells the hook of waits for futures. A callback is no wait: it runs in whatever thread completes the future."""
    waited_for: dict[ref[torch._C.Future], list[int]] = {}  # the operations that are complete when a future is
    get_future, collect_all = dist.Work.get_future, torch._C._collect_all
    then, wait = torch._C.Future.then, torch._C.Future.wait

    def note(future: torch._C.Future, operations: list[int]) -> torch._C.Future:
        if operations:
            waited_for[ref(future, waited_for.pop)] = operations
        return future

    @wraps(get_future)
    def get_future_and_note(work: dist.Work) -> torch._C.Future:
        operation = hook.operation_of(work)
        return note(get_future(work), [] if operation is None else [operation])

    @wraps(then)
    def then_and_note(future: torch._C.Future, callback: Any) -> torch._C.Future:
        return note(then(future, callback), waited_for.get(ref(future), []))

    @wraps(collect_all)
    def collect_all_and_note(futures: list[torch._C.Future]) -> torch._C.Future:
        operations = [operation for future in futures for operation in waited_for.get(ref(future), [])]
        return note(collect_all(futures), operations)

    @wraps(wait)
    def wait_and_record(future: torch._C.Future) -> Any:
        begin = time.perf_counter_ns()
        result = wait(future)
        for operation in waited_for.pop(ref(future), []):
            hook.write_wait(operation, begin)
        return result

    dist.Work.get_future, torch._C._collect_all = get_future_and_note, collect_all_and_note
    torch._C.Future.then, torch._C.Future.wait = then_and_note, wait_and_record
