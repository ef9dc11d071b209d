"""Ends a process whose device gave up a program, as NCCL's watchdog does: the host does not wait for its devices, so
that nothing else would keep the job from going on with wrong values."""

import os
import threading
from collections.abc import Callable
from weakref import finalize

from hocket.base.notices import notice

__all__ = ["HANDLING_VARIABLE", "FailureWatch"]

#: PyTorch's, of NCCL's watchdog: 0 lets a process go on, as does 2, which only takes communicators down.
HANDLING_VARIABLE = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
_LETS_GO_ON = ("0", "2")
_INTERVAL_S = 0.1


class FailureWatch:
    """Looks at what a device tells, ten times a second, for as long as `owner` lives. `failure`: what went wrong, in
    words, None as long as nothing did; it is called by a thread and must not hold `owner`. `who`: what failed."""

    def __init__(self, owner: object, who: str, failure: Callable[[], str | None]) -> None:
        self._who, self._failure = who, failure
        self._ends = threading.Event()
        finalize(owner, self._ends.set)
        threading.Thread(target=self._watch, name="hocket-failure-watch", daemon=True).start()

    def _watch(self) -> None:
        while not self._ends.wait(_INTERVAL_S):
            words = self._failure()
            if words is None:
                continue
            if os.environ.get(HANDLING_VARIABLE) in _LETS_GO_ON:
                notice(f"hocket: {self._who}: {words}; its results are undefined, and every later call fails")
                return
            notice(
                f"hocket: {self._who}: {words}; the process is aborted, as by NCCL's watchdog "
                f"({HANDLING_VARIABLE}=0 lets it go on)"
            )
            os.abort()
