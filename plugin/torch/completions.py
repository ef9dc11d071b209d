"""When collectives on CUDA are complete: there a Work's future and its `wait` end when the device was told to begin."""

import threading
import time
from collections import deque
from contextlib import suppress

import torch.distributed as dist

from hocket.recording.stream import Stream

__all__ = ["PERIOD", "Completions"]

# Seconds between two looks: by so much at most a completion is told late.
PERIOD = 0.001
# So many are watched at once; of more the oldest are forgotten. Each holds its tensors until it is complete.
_AT_ONCE = 256


class Completions:
    """Asks the Works under way whether they are complete, in a thread of its own that sleeps while there are none."""

    def __init__(self) -> None:
        self.stream: Stream | None = None
        self._pending: deque[tuple[int, dist.Work]] = deque(maxlen=_AT_ONCE)
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="hocket-completions", daemon=True)

    def open(self, stream: Stream) -> None:
        """Where to write, and begins."""
        self.stream = stream
        self._thread.start()

    def add(self, operation: int, work: dist.Work) -> None:
        """Watches the Work of an operation that was just issued."""
        self._pending.append((operation, work))
        self._wake.set()

    def close(self) -> None:
        """Looks a last time, and ends."""
        self._closed = True
        self._wake.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            while self._pending and not self._closed:
                self._look()
                time.sleep(PERIOD)
        self._look()

    def _look(self) -> None:
        assert self.stream is not None  # opened
        for _ in range(len(self._pending)):
            operation, work = self._pending.popleft()
            complete = False
            with suppress(Exception):  # a failed one, which is its issuer's affair: it is never complete
                complete = work.is_completed()
                if not complete:
                    self._pending.append((operation, work))
            if complete:
                self.stream.write(f"d {operation} {time.perf_counter_ns()}\n")
