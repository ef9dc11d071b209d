"""Whether all thread blocks of a program fit on a GPU at once: they wait for each other, so all must run."""

from collections.abc import Iterator, Sequence

from hocket.base.errors import ScheduleError
from hocket.schedule import AMD
from hocket.topology.machines.hardware import GPUS
from hocket.translator.msccl.findings import Finding, Severity
from hocket.translator.msccl.profiles import PROFILES

__all__ = ["MULTIPROCESSORS", "residency_findings"]

#: Multiprocessors (AMD: compute units) of a GPU, from the vendors' data sheets.
MULTIPROCESSORS = {name.upper(): kind.multiprocessors for name, kind in GPUS.items()} | {"H20": 78}
_AMD = frozenset(name.upper() for name, kind in GPUS.items() if kind.gcn)


def residency_findings(thread_blocks: Sequence[int], runtime: str, gpu: str | None) -> Iterator[Finding]:
    """The rank with most `thread_blocks` (of each rank) against the GPU asked for, or, as a note, against all that the
    runtime runs on.

    Raises ScheduleError for a GPU that is not in `MULTIPROCESSORS`.
    """
    if gpu is not None and gpu not in MULTIPROCESSORS:
        raise ScheduleError(f"no GPU '{gpu}'; GPUs: {', '.join(MULTIPROCESSORS)}")
    blocks, rank = max((number, -rank) for rank, number in enumerate(thread_blocks))
    is_amd = runtime in PROFILES and PROFILES[runtime].protocols is AMD
    names = [gpu] if gpu else [name for name in MULTIPROCESSORS if (name in _AMD) == is_amd]
    small = [f"{name} ({MULTIPROCESSORS[name]})" for name in names if MULTIPROCESSORS[name] < blocks]
    if not small:
        return
    waiting = f"{blocks} thread blocks that wait for each other"
    if gpu:
        said = f"{waiting} are more than the multiprocessors of {small[0]}"
        yield Finding("residency", Severity.KERNEL, 0, f"rank {-rank}", said, "use fewer channels, or other GPUs")
        return
    said = f"{waiting} must run at once, one on a multiprocessor: GPUs with fewer, {', '.join(small)}, cannot run this"
    remedy = "nothing to do on other GPUs; for these use fewer channels"
    yield Finding("residency", Severity.NOTE, 0, f"rank {-rank}", said, remedy)
