"""Ranks that are forked from a process with PyTorch loaded, which holds their store: whoever ends, it stays."""

import ctypes
import os
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial

import torch.distributed as dist

_CLONE_NEWUSER, _CLONE_NEWPID = 0x10000000, 0x20000000


def run_ranks(
    name: str,
    store: dist.TCPStore,
    size: int,
    body: Callable[[int], None],
    apart: frozenset[int] = frozenset(),
    seconds: float = 150,
) -> list[int]:
    """What each rank ended with, as os.waitstatus_to_exitcode; those of `apart` are in a namespace of processes of
    their own, or end with 77 where there can be none. Who runs for too long is killed."""
    children = [_fork(partial(_rank, name, store.port, rank, size, body), rank in apart) for rank in range(size)]
    codes: dict[int, int] = {}
    until = time.monotonic() + seconds
    while len(codes) < size:
        for child in set(children) - set(codes):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                codes[child] = os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            for child in set(children) - set(codes):
                os.kill(child, 9)
        time.sleep(0.02)
    return [codes[child] for child in children]


def _fork(body: Callable[[], None], is_apart: bool = False) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        if is_apart:
            flags = _CLONE_NEWPID | (_CLONE_NEWUSER if os.geteuid() else 0)
            if ctypes.CDLL(None).unshare(flags) != 0:
                os._exit(77)
            inner = _fork(body)  # the namespace begins with the next child
            code = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
        else:
            body()
            code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if code >= 0 else 1)


def _rank(name: str, port: int, rank: int, size: int, body: Callable[[int], None]) -> None:
    store = dist.PrefixStore(name, dist.TCPStore("127.0.0.1", port, is_master=False))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    body(rank)
