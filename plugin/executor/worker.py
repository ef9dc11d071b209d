"""One rank's process: `python -m hocket.plugin.executor.worker FOLDER [RANK]`, started by the launcher."""

import json
import os
import pickle
import sys
import threading
import traceback
from dataclasses import asdict
from pathlib import Path

from hocket.core.errors import HocketError
from hocket.plugin.executor.backend import Backend
from hocket.plugin.executor.job import Job
from hocket.plugin.executor.measure import measure

__all__ = ["main"]


def _connect(job: Job, folder: Path, rank: int | None) -> Backend:
    if rank is None:
        from hocket.plugin.executor.mpi import MpiBackend

        return MpiBackend()
    from hocket.plugin.executor.gloo import GlooBackend

    return GlooBackend(folder, rank, job.program.num_ranks)


def _end_with_launcher() -> None:
    """The launcher holds the other end of our standard input (mpiexec's, which hands it to rank 0 and ends all others
    with it): when the launcher is gone, so are we."""

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main(folder: Path, rank: int | None) -> None:
    """Rank 0 prints one JSON line a row. An error is left for the launcher in FOLDER, and the exit status is 1."""
    # Thread blocks hand over to each other at every step; Python's 5 ms would be the time of a whole small collective.
    sys.setswitchinterval(1e-4)
    notes = folder / str(os.getppid())
    try:
        with open(folder / "job.pickle", "rb") as file:
            job: Job = pickle.load(file)
        if rank is not None:
            _end_with_launcher()
        backend = _connect(job, folder, rank)
        if rank is None and backend.rank == 0:
            _end_with_launcher()
        notes.with_suffix(".rank").write_text(str(backend.rank))
        for row in measure(job, backend):
            if backend.rank == 0:
                print(json.dumps(asdict(row)), flush=True)
        backend.barrier()
    except BaseException as error:
        text = str(error) if isinstance(error, HocketError) else traceback.format_exc()
        notes.with_suffix(".error").write_text(text, encoding="utf-8")
        # Thread blocks may wait for ever for what failed.
        os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
