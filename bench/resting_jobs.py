"""Real jobs of four ranks that rest in place of computing (`bench/workloads/resting.py`), some with somebody late, and
what the verdicts on them are.

The processes are forked from this one, which has PyTorch loaded: a job of 40 steps takes little more than its rests.
"""

import io
import multiprocessing
import os
import socket
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

from hocket.base.text_table import text_table
from hocket.chakra.job_folders import LATEST
from hocket.recording.stragglers import StragglerVerdict

__all__ = ["PLANTED", "RestingJob", "run_job", "study"]

RANKS = 4
Who = tuple[tuple[str, tuple[int, ...]], ...]


class RestingJob(NamedTuple):
    """The arguments of the workload, and who is to be named."""

    arguments: tuple[str, ...]
    expected: Who


def _one(rank: int) -> Who:
    return (("rank", (rank,)),)


_BALANCED = {shape: RestingJob((shape,), ()) for shape in ("data", "pipeline", "grid")}
PLANTED = {
    "data, rank 1": RestingJob(("data", "--late", "1"), _one(1)),
    "data, ranks 1 and 2": RestingJob(("data", "--late", "1", "2", "--share", "0.2"), (*_one(1), *_one(2))),
    "data, rank 1, last half": RestingJob(("data", "--late", "1", "--share", "0.2", "--onset", "0.5"), _one(1)),
    "pipeline, rank 1": RestingJob(("pipeline", "--late", "1"), _one(1)),
    "pipeline, rank 3": RestingJob(("pipeline", "--late", "3"), _one(3)),
    "pipeline, ranks 1 and 2": RestingJob(("pipeline", "--late", "1", "2", "--share", "0.2"), (*_one(1), *_one(2))),
    "grid, rank 1": RestingJob(("grid", "--late", "1"), _one(1)),
}


def run_job(folder: Path, arguments: Sequence[str]) -> None:
    """Runs a job that is recorded in `folder`, unless one is there. Raises ChildProcessError where a rank fails."""
    if (folder / LATEST).exists():
        return
    import torch.distributed  # once, for all jobs

    assert torch.distributed.is_available()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("fork")
    ranks = [context.Process(target=_rank, args=(rank, port, folder, arguments)) for rank in range(RANKS)]
    for process in ranks:
        process.start()
    _join(ranks, folder)


def _join(ranks: Sequence[BaseProcess], folder: Path) -> None:
    for process in ranks:
        process.join()
    failed = [rank for rank, process in enumerate(ranks) if process.exitcode]
    if failed:
        raise ChildProcessError(f"{folder}: ranks {failed} of the job failed")


def _rank(rank: int, port: int, folder: Path, arguments: Sequence[str]) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_WORLD_SIZE": str(RANKS)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "HOCKET_COLLECT": str(folder)}
    sys.argv = ["resting.py", *arguments]
    sys.stdout = io.StringIO()  # for the merge at the end, which prints its summary

    from hocket.bench.workloads import resting
    from hocket.plugin import autoload

    autoload.arm()
    resting.main()


def study(
    folder: Path, balanced: int, planted: int, verdict_in: Callable[[Path], StragglerVerdict], named: Callable[..., Who]
) -> bool:
    """Prints how often somebody is named in so many balanced jobs, in all, and in so many of each planted sort who is
    late is; whether at most 1 % of the former are."""
    wrong = []
    starved = 0
    for number in range(balanced):
        shape = list(_BALANCED)[number % len(_BALANCED)]
        run_job(folder / f"{shape}{number}", _BALANCED[shape].arguments)
        verdict = verdict_in(folder / f"{shape}{number}")
        starved += bool(verdict.starved)
        wrong += [(shape, number, verdict)] if named(verdict) else []
    if balanced:
        what = f"{balanced} balanced jobs of {RANKS} resting ranks"
        print(f"\nreal: of {what}, those in which anybody is named: {len(wrong)}")
        print(f"real: of these jobs, those in which somebody was starved of cores: {starved}")
    for shape, number, verdict in wrong:
        print(f"{shape} {number}:", *verdict.text(), sep="\n  ")
    rows = []
    for name, job in PLANTED.items():
        found: Counter[str] = Counter()
        for number in range(planted):
            place = folder / f"{name.replace(', ', '-').replace(' ', '-')}{number}"
            run_job(place, job.arguments)
            verdict = verdict_in(place)
            who = named(verdict)
            found["right" if who == job.expected else "others" if set(who) - set(job.expected) else "part"] += 1
            found["starved"] += bool(verdict.starved)
        rows.append((name, *(found[what] for what in ("right", "part", "others", "starved"))))
    if planted:
        print(f"\nreal: of {planted} jobs each in which ranks are late, by who is named")
        print("\n".join(text_table(["late", "they alone", "not all", "others", "starved"], rows)))
    return 100 * len(wrong) <= max(100, balanced)
