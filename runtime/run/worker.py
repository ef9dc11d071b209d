"""One rank's process: `python -m hocket.runtime.run.worker FOLDER [RANK]`, started by the launcher."""

import json
import os
import pickle
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from hocket.base.scratch import hand_over
from hocket.runtime.run.job import RunTask
from hocket.runtime.run.measure import Own, measure
from hocket.runtime.run.processes import end_with_launcher, fail
from hocket.runtime.run.ranks import EngineRanks

__all__ = ["main"]

_GRACE_S = 0.5


def _connect(
    task: RunTask, folder: Path, rank: int, timeout_s: float
) -> tuple[EngineRanks, Own | None, Callable[[], str], Callable[[], int]]:
    """This rank's end, the collective to compare with, over what it talks, and which peer it lost (-1: none)."""
    if task.transport == "mpi":
        from hocket.runtime.run.mpi import Mpi

        mpi = Mpi(task)
        ranks = EngineRanks(task, rank, mpi.messages.transport(), folder, timeout_s)
        return ranks, mpi.own if task.compare else None, lambda: "MPI's messages", lambda: -1
    own = None
    if task.transport == "gloo" or task.compare:
        from hocket.runtime.run.gloo import Gloo

        gloo = Gloo(task, folder, rank)
        own = gloo.own if task.compare else None
        if task.transport == "gloo":
            messages = gloo.messages
            ranks = EngineRanks(task, rank, messages.transport(), folder, timeout_s)
            return ranks, own, lambda: "gloo's messages", lambda: messages.lost
    from hocket.runtime.run.local import connect_here

    here = connect_here(folder, rank, task.num_ranks, task.transport != "tcp")
    if task.transport == "device":
        from hocket.runtime.run.device import join_device

        return join_device(task, here, folder, timeout_s), own, lambda: "device on threads", lambda: here.mesh.lost
    ranks = EngineRanks(task, rank, here.mesh, folder, timeout_s, lambda part: here.open(part, int(timeout_s * 1000)))
    return ranks, own, lambda: here.mesh.transports, lambda: here.mesh.lost


def main(folder: Path, rank: int | None) -> None:
    """Rank 0 prints one JSON line a row. An error is left for the launcher in FOLDER, and the exit status is 1."""
    notes = folder / str(os.getppid())

    def lost() -> int:
        return -1

    end_with_launcher(folder)
    try:
        with open(folder / "task.pickle", "rb") as file:
            task, timeout_s = pickle.load(file)
        if rank is None:
            from hocket.runtime.run.mpi import rank_in_world
            from hocket.runtime.run.mpi_memory import forget_names

            at = rank_in_world()
            forget_names()
        else:
            at = rank
        hand_over(notes.with_suffix(".rank"), str(at))
        ranks, own, transport, lost = _connect(task, folder, at, timeout_s)
        for row in measure(task, ranks, own, transport):
            if at == 0:
                print(json.dumps(asdict(row)), flush=True)
        ranks.barrier()
    except BaseException as error:
        if lost() >= 0:
            time.sleep(_GRACE_S)  # the rank that was lost is the one to be named: its end is noted first
        fail(error, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
