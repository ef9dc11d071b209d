"""`--watch`: another process follows the job while this one runs it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hocket.base.processes import started

__all__ = ["WATCH_HELP", "watching"]

WATCH_HELP = "Say on stderr what the job waits for when it hangs."


@contextmanager
def watching(folder: str, wanted: bool) -> Iterator[None]:
    """While inside and `wanted`, says on stderr what the job that writes into `folder` waits for when it hangs."""
    if not wanted:
        yield
        return
    with started([sys.executable, "-m", "hocket", "collect", "watch", folder], stdout=sys.stderr):
        yield
