"""One rank's process: `python -m hocket.runtime.run.worker FOLDER [RANK]`, started by the launcher."""

import json
import os
import pickle
import sys
from dataclasses import asdict
from pathlib import Path

from hocket.runtime.run.backend import Backend
from hocket.runtime.run.job import Job
from hocket.runtime.run.measure import measure
from hocket.runtime.run.processes import end_with_launcher, fail

__all__ = ["main"]


def _connect(job: Job, folder: Path, rank: int | None) -> Backend:
    if rank is None:
        from hocket.runtime.run.mpi import MpiBackend

        return MpiBackend()
    from hocket.runtime.run.gloo import GlooBackend

    return GlooBackend(folder, rank, job.program.num_ranks)


def main(folder: Path, rank: int | None) -> None:
    """Rank 0 prints one JSON line a row. An error is left for the launcher in FOLDER, and the exit status is 1."""
    # Thread blocks hand over to each other at every step; Python's 5 ms would be the time of a whole small collective.
    sys.setswitchinterval(1e-4)
    notes = folder / str(os.getppid())
    try:
        with open(folder / "job.pickle", "rb") as file:
            job: Job = pickle.load(file)
        if rank is not None:
            end_with_launcher()
        backend = _connect(job, folder, rank)
        if rank is None and backend.rank == 0:
            end_with_launcher()
        notes.with_suffix(".rank").write_text(str(backend.rank))
        for row in measure(job, backend):
            if backend.rank == 0:
                print(json.dumps(asdict(row)), flush=True)
        backend.barrier()
    except BaseException as error:
        fail(error, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
