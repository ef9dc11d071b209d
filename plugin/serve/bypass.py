"""Calls of torch.distributed that the stock library is to run, although programs serve this process's calls."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["is_stock_wanted", "stock_alone"]

_local = threading.local()


@contextmanager
def stock_alone() -> Iterator[None]:
    """Within, this thread's calls run the stock algorithm, and are not counted."""
    before = is_stock_wanted()
    _local.wanted = True
    try:
        yield
    finally:
        _local.wanted = before


def is_stock_wanted() -> bool:
    return getattr(_local, "wanted", False)
