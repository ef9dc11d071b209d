"""A search that is attended to: time limit, Ctrl-C, watching."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hocket.base.errors import ScheduleError, Stopped
from hocket.schedule import Collective, Kind
from hocket.synthesizer.problem import Problem
from hocket.synthesizer.search import Progress, Search
from hocket.synthesizer.supervision import supervise
from hocket.synthesizer.synthesis import solve
from hocket.topology import load


def search_until_stopped(progress: Progress) -> str:
    while not progress.stop.asked:
        time.sleep(0.001)
    return "best so far"


def test_a_time_limit_asks_the_search_to_stop() -> None:
    progress = Progress()
    assert supervise(lambda: search_until_stopped(progress), progress, time_limit_s=0.05) == "best so far"
    assert progress.stop.asked


def test_ctrl_c_asks_the_search_to_stop() -> None:
    progress = Progress()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert supervise(lambda: search_until_stopped(progress), progress) == "best so far"
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_counts_while_somebody_watches_and_a_second_one_leaves() -> None:
    """A terminal is drawn about as long as is waited: Ctrl-C may come there too."""
    progress, presses = Progress(), iter([KeyboardInterrupt, None, KeyboardInterrupt])

    def press(_: Progress) -> None:
        key = next(presses)
        if key is not None:
            raise key

    with pytest.raises(KeyboardInterrupt):
        supervise(lambda: time.sleep(60), progress, watch=press)
    assert progress.interrupted and progress.stop.asked


def test_what_cannot_be_interrupted_is_left_where_nothing_is_found() -> None:
    progress = Progress()
    with pytest.raises(Stopped, match="give it more time"):
        supervise(lambda: time.sleep(60), progress, time_limit_s=0.01)
    found = Progress(found=True)
    assert supervise(lambda: time.sleep(1.3) or "best so far", found, time_limit_s=0.01) == "best so far"


def test_who_watches_sees_the_progress_and_errors_come_through() -> None:
    progress, seen = Progress(engine="rounds"), []

    def fail() -> None:
        while len(seen) < 2:
            time.sleep(0.001)
        raise ScheduleError("nothing fits")

    with pytest.raises(ScheduleError, match="nothing fits"):
        supervise(fail, progress, watch=lambda now: seen.append(now.engine))
    assert seen[:2] == ["rounds", "rounds"]


def test_the_share_that_is_found_is_one_number_whenever_it_is_read() -> None:
    """Attempts begin while others read: a count and a total could be those of two attempts."""
    progress, shares = Progress(), []
    problem = Problem(Collective(Kind.ALL_GATHER, 8, 2**20), load("dgx-a100:nodes=2,gpus=4"))
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(solve, problem, Search(progress=progress))
        while not working.done():
            shares.append(progress.stop.found)
    assert working.result() and 0 <= min(shares) <= max(shares) <= 1 and progress.stop.found > 0
