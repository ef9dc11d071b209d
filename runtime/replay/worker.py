"""One rank's process of a replay: `python -m hocket.runtime.replay.worker FOLDER [RANK]`, started by the launcher."""

import json
import os
import pickle
import sys
from pathlib import Path

from hocket.base.scratch import hand_over
from hocket.runtime.replay.connect import local_fabric
from hocket.runtime.replay.playing import measured, play
from hocket.runtime.run.processes import end_with_launcher, fail

__all__ = ["main"]


def main(folder: Path, rank: int | None) -> None:
    """Rank 0 prints one JSON line an iteration and leaves `measured.pickle` in FOLDER."""
    end_with_launcher(folder)
    try:
        with open(folder / "replay.pickle", "rb") as file:
            settings, groups, channels, num_ranks = pickle.load(file)
        fabric = local_fabric(settings.backend, folder, rank, num_ranks, groups, channels)
        if rank is None:
            from hocket.runtime.run.mpi_memory import forget_names

            forget_names()
        hand_over((folder / str(os.getppid())).with_suffix(".rank"), str(fabric.rank))
        with open(folder / f"program.{fabric.rank}.pickle", "rb") as file:
            program = pickle.load(file)

        def iteration_done(number: int) -> None:
            if fabric.rank == 0:
                print(json.dumps({"iteration": number}), flush=True)

        parts = play(program, fabric, settings, lambda error: fail(error, folder), iteration_done)
        if parts:
            hand_over(folder / "measured.pickle", pickle.dumps(measured(parts)))
        fabric.gather(b"")
        fabric.close()
    except BaseException as error:
        fail(error, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
