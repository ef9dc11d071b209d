"""NCCL's plugins: a job in which it loads Hocket's profiler and tuner, which must show in what the profiler records."""

from __future__ import annotations

from hocket.api.nccl.request import NcclEnvironment, NcclProfileReading
from hocket.api.selftest.jobs import LibraryJob
from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.base.files import write_file
from hocket.runtime.run.job import RunTask
from hocket.schedule import Kind

__all__ = ["load"]

#: What the tuner is to choose, which NCCL would not for the larger sizes: then it is the table that was followed.
_TABLE = """\
# collective, min, max, algorithm, protocol, channels, nodes, ranks
allreduce,0,1073741824,ring,ll,-1,-1,-1
"""
_CHOSEN = ("ring", "ll")
_SIZES = (1 << 12, 1 << 20, 1 << 24)


def load(place: PartPlace) -> PartOutcome:
    """Fails where NCCL loads one of them not, or does not do what the tuner's table says."""
    table, profile = place.files / "table.csv", place.path / "profile"
    write_file(table, _TABLE)
    variables = NcclEnvironment.of(profile=profile, table=table, kernels=True).perform().variables
    task = RunTask(Kind.ALL_REDUCE, place.ranks, 0, place.library, _SIZES)
    faults = LibraryJob(place, (task,)).run(place.limit_s * 0.8, **variables)
    if not any(profile.glob("*.ncclprofile")):
        faults.append("the profiler left no file: NCCL did not load it (files/log.txt, lines of PROFILER/Plugin)")
        return PartOutcome.of_faults("no profile", tuple(faults))
    read = NcclProfileReading.of(profile).perform()
    write_file(place.files / "profile.txt", read.summary() + "\n")
    calls = [call for call in read.calls if call.function == "AllReduce"]
    followed = [call for call in calls if (call.algorithm.lower(), call.protocol.lower()) == _CHOSEN]
    if not followed:
        faults.append("no all_reduce ran Ring/LL, as the tuner's table says (files/log.txt, lines of TUNER/Plugin)")
    return PartOutcome.of_faults(f"{read.headline()}; {len(followed)} of {len(calls)} as the table says", tuple(faults))
