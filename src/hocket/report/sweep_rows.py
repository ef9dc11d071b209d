"""Jobs of a sweep as rows of a table, for pages and for text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hocket.base.units import format_bytes, format_time
from hocket.simulator.analysis import Activity, SweptJob

__all__ = ["ALIKE", "JobColumn", "job_columns"]

ALIKE = "compare them with care; algorithm: nccl-model takes the time of NCCL's model for all"
"""What to do about points that are not simulated alike."""


@dataclass(frozen=True)
class JobColumn:
    """A column: what a cell says of a simulated job, and what it is sorted by. `left`: its cells are flush left."""

    head: str
    cell: Callable[[SweptJob], str]
    key: Callable[[SweptJob], float | str]
    left: bool = False


def job_columns(jobs: Sequence[SweptJob]) -> list[JobColumn]:
    """The columns of a table of these; what is the same of all of several has none."""
    return [column for column in _COLUMNS if column.head not in _PLACES or len({*map(column.cell, jobs)}) > 1]


def _share(head: str, activity: Activity) -> JobColumn:
    return JobColumn(head, lambda job: f"{job.outcome.share(activity):.1%}", lambda job: job.outcome.share(activity))


def _rate(job: SweptJob) -> str:
    return "-" if job.outcome.tokens_per_second is None else f"{job.outcome.rate:,.1f}"


def _used(job: SweptJob) -> str:
    return "-" if job.outcome.utilisation is None else f"{job.outcome.utilisation:.1%}"


def _memory(job: SweptJob) -> str:
    outcome = job.outcome
    if not outcome.memory_bytes:
        return "-"
    return format_bytes(outcome.memory_bytes) + ("" if outcome.fits else ", TOO MUCH")


_PLACES = ("job", "topology", "ranks")
_COLUMNS = (
    JobColumn("point", lambda job: str(job.number), lambda job: job.number),
    JobColumn("job", lambda job: job.what, lambda job: job.what, left=True),
    JobColumn("topology", lambda job: job.topology, lambda job: job.topology, left=True),
    JobColumn("plan", lambda job: job.name, lambda job: job.name, left=True),
    JobColumn("ranks", lambda job: str(job.outcome.ranks), lambda job: job.outcome.ranks),
    JobColumn("step", lambda job: format_time(round(job.outcome.step_ps)), lambda job: job.outcome.step_ps),
    JobColumn("x bound", lambda job: f"{job.outcome.ratio:.3f}", lambda job: job.outcome.ratio),
    JobColumn("tokens/s/rank", _rate, lambda job: job.outcome.rate),
    JobColumn("MFU", _used, lambda job: job.outcome.utilisation or 0),
    JobColumn("memory", _memory, lambda job: job.outcome.memory_bytes),
    _share("exposed", Activity.COMMUNICATION),
    _share("bubble", Activity.BUBBLE),
    _share("skew", Activity.SKEW),
)
