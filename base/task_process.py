"""A process that answers tasks of the one that started it, for `hocket.base.workers`: frames on its standard input and
output, each a length in 8 bytes and a pickle. What a task prints goes to standard error."""

import os
import pickle
import struct
import sys
import threading
from queue import SimpleQueue
from typing import Any

__all__ = ["LENGTH", "READY", "frame"]

LENGTH = struct.Struct("<Q")
READY = "ready"
"""What a process says when it has begun."""


def frame(content: object) -> bytes:
    """What is sent of it."""
    pickled = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(pickled)) + pickled


def _work() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)
    tasks: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_read, args=(tasks,), daemon=True).start()
    os.write(answers, frame(READY))
    with open(answers, "wb", buffering=0) as out:
        while True:
            function, batch = tasks.get()
            for task in batch:
                try:
                    answered = True, function(task)
                except Exception as error:  # of this task alone: the next one may do well
                    answered = False, f"{type(error).__name__}: {error}"
                _send(out.fileno(), frame(answered))


def _send(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _read(tasks: "SimpleQueue[Any]") -> None:
    """Takes tasks as they come, and ends this process, in the middle of whatever it does, with the one that started
    it."""
    try:
        while len(header := sys.stdin.buffer.read(LENGTH.size)) == LENGTH.size:
            tasks.put(pickle.loads(sys.stdin.buffer.read(LENGTH.unpack(header)[0])))
    finally:
        os._exit(1)


if __name__ == "__main__":
    _work()
