"""Schedule to MSCCL++ plan file: written only when the very text has been read back and proved."""

from pathlib import Path

from hocket.base.files import write_file
from hocket.base.text import shell_word
from hocket.schedule import Schedule
from hocket.translator.launching import where
from hocket.translator.lowering.levels import levelled
from hocket.translator.lowering.lowering import Lowering
from hocket.translator.mscclpp.lower import TranslatedPlan, lower_to_plan
from hocket.translator.mscclpp.plan import ExecutionPlan
from hocket.translator.mscclpp.write import to_json

__all__ = ["plan_recipe", "translate_to_plan"]


def translate_to_plan(
    schedule: Schedule, path: Path | str, lowering: Lowering | None = None, *, ranks_per_node: int | None = None
) -> TranslatedPlan:
    """Writes the schedule as an MSCCL++ plan; the arguments are those of `lower_to_plan`. What ranks send of their own
    contributions leaves at once, in one message to each other rank.

    Raises ScheduleError, with nothing written, when the plan does not fit MSCCL++ or the proof fails.
    """
    steps = levelled(schedule) if schedule.is_own.any() else None
    translation = lower_to_plan(steps or schedule, lowering, ranks_per_node=ranks_per_node)
    write_file(path, to_json(translation.plan))
    return translation


def plan_recipe(plan: ExecutionPlan, path: Path | str, nodes: tuple[int | None, int] = (None, 0)) -> str:
    """Shell text that runs the plan at `path` with MSCCL++'s own test, on so many machines (None: nobody knows) of so
    many ranks (0: they differ).

    Source: microsoft/mscclpp 0.9.0, python/test/executor_test.py and its kernels; not run where this was written.
    """
    chunk = plan.slots * plan.buffer_alignment
    placed = " $MPIRUN_OPTIONS" * (nodes[0] != 1)
    return "\n".join(
        [
            "# microsoft/mscclpp 0.9; MSCCLPP= its checkout, built and installed with pip (cupy and mpi4py are needed)",
            *where(*nodes),
            f"mpirun -np {plan.num_ranks}{placed} -x MSCCLPP_LOG_LEVEL=INFO -x MSCCLPP_LOG_SUBSYS=EXEC \\",
            f"  python3 $MSCCLPP/python/test/executor_test.py -path {shell_word(str(Path(path).resolve()))} --size 1M"
            + (" --in_place" if plan.in_place else ""),
            f'# The log proves that it was used: "Starting execution with plan: {plan.name}"',
            f"# It serves {'in-place' if plan.in_place else 'out-of-place'} calls whose input and output divide into "
            f"their chunks of a multiple of {plan.buffer_alignment} B:",
            f"# message sizes that are a multiple of {chunk} B. Reductions are sums, whatever the call asks for.",
        ]
    )
