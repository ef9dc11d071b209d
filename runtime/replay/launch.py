"""Runs a replay: on processes of this machine, or as one rank of another launcher's."""

import os
import pickle
from collections.abc import Callable

from hocket.base.errors import HocketError, exit_code
from hocket.base.notices import notice
from hocket.base.scratch import hand_over, scratch_folder
from hocket.runtime.replay.connect import launched_fabric
from hocket.runtime.replay.measured import Measured
from hocket.runtime.replay.operation import SEND
from hocket.runtime.replay.plan import ReplayPlan
from hocket.runtime.replay.playing import ReplaySettings, measured, play
from hocket.runtime.run.processes import run_workers

__all__ = ["replay_here", "replay_launched"]

_STORE_GRACE_S = 60.0


def replay_here(plan: ReplayPlan, settings: ReplaySettings, iteration_done: Callable[[int], None]) -> Measured:
    """Plays on processes of this machine, one a rank. Raises HocketError, naming the rank and where it was, when one
    fails or dies, or waits for longer than the settings say."""
    with scratch_folder("replay") as folder:
        common = settings, plan.groups, _channels(plan), plan.num_ranks
        hand_over(folder / "replay.pickle", pickle.dumps(common))
        for rank, program in enumerate(plan.programs):
            hand_over(folder / f"program.{rank}.pickle", pickle.dumps(program))
        # An iteration computes too; who waits too long says so itself, and where.
        longest = max(sum(program.duration_ps) for program in plan.programs) / 1e12
        timeout_s = 2 * settings.timeout_s + 2 * longest + _STORE_GRACE_S
        module, remedy = "hocket.runtime.replay.worker", "this machine is too slow for the traces (raise --timeout)"
        by_mpi = settings.backend == "mpi"
        for line in run_workers(module, folder, plan.num_ranks, by_mpi, timeout_s, remedy):
            iteration_done(line["iteration"])
        result: Measured = pickle.loads((folder / "measured.pickle").read_bytes())
        return result


def replay_launched(plan: ReplayPlan, settings: ReplaySettings) -> Measured | None:
    """Plays as one rank among those of the launcher that started this process, which are as many as the plan's; the
    result is rank 0's."""

    def abort(error: BaseException) -> None:
        notice(f"error: rank {fabric.rank} failed: {error}")
        os._exit(exit_code(error) if isinstance(error, HocketError) else 1)

    fabric = launched_fabric(settings.backend, plan.groups, _channels(plan))
    parts = play(plan.programs[fabric.rank], fabric, settings, abort, lambda _: None)
    fabric.gather(b"")
    fabric.close()
    return measured(parts) if parts else None


def _channels(plan: ReplayPlan) -> list[tuple[int, int]]:
    """The pairs of ranks between which messages go, from and to."""
    return sorted(
        {
            (rank, operation.peer)
            for rank, program in enumerate(plan.programs)
            for operation in program.operations
            if operation.kind == SEND
        }
    )
