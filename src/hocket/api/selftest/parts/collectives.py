"""Every collective by torch.distributed: what the stock library does, and Hocket's programs in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hocket.api.selftest.jobs import LibraryJob
from hocket.api.selftest.outcome import PartOutcome, PartPlace
from hocket.plugin.serve import VARIABLE
from hocket.runtime.run.table import bandwidths
from hocket.runtime.selftest.calls import checks, timings
from hocket.runtime.selftest.rows import JoinedTask

__all__ = ["TABLE", "device", "messages", "native", "stock"]

TABLE = "table.txt"
_SIZES = {False: [1 << power for power in range(10, 23, 3)], True: [1 << power for power in range(10, 29, 2)]}
_ITERATIONS = {False: 5, True: 20}
_SHARE = 0.9  # of the part's time that is the job's: the rest is for what it left


def stock(place: PartPlace) -> PartOutcome:
    """By the library alone."""
    return _run(place, f"stock {place.library}", {})


def native(place: PartPlace) -> PartOutcome:
    """By programs, run by the engine for CPU cores."""
    return _run(place, "programs by the native engine", _served_by(place, "native"))


def device(place: PartPlace) -> PartOutcome:
    """By programs, run by the device interpreter."""
    return _run(place, "programs by the device engine", _served_by(place, "device"))


def messages(place: PartPlace) -> PartOutcome:
    """By programs, over the library's own sends and receives."""
    return _run(place, "programs by messages", _served_by(place, "p2p"))


def _served_by(place: PartPlace, engine: str) -> dict[str, str]:
    report = str(place.files / "served.json")
    programs = str(place.beside("programs") / "bundles")
    return {VARIABLE: programs, "HOCKET_ALGORITHMS_ENGINE": engine, "HOCKET_ALGORITHMS_REPORT": report}


def _run(place: PartPlace, by: str, variables: dict[str, str]) -> PartOutcome:
    if variables and not (place.beside("programs") / "bundles").is_dir():
        return PartOutcome.skipped("the part before it made no programs")
    checked = [*checks(place.ranks, place.library)]
    timed = [*timings(place.ranks, place.library, _SIZES[place.on_gpus], _ITERATIONS[place.on_gpus])]
    job = LibraryJob(place, [*checked, *timed])
    faults = job.run(place.limit_s * _SHARE, **variables)
    done = job.joined()
    job.write_tables(done[len(checked) :], TABLE, by)
    job.write_tables(done[: len(checked)], "checks.txt", by)
    faults += [*_wrong(done)]
    if variables and not faults:
        faults += [*_unserved(job.report())]
    rows = sum(len(each.rows) for each in done)
    wrong = sum(each.wrong for each in done)
    said = f"{rows} calls on {place.ranks} ranks, {wrong} wrong values"
    return PartOutcome.of_faults(said, tuple(faults), times=[*_times(done[len(checked) :])])


def _wrong(done: Sequence[JoinedTask]) -> Iterator[str]:
    for each in done:
        yield from each.errors
        for row in each.rows:
            if row.wrong:
                yield f"{each.name}, {row.size_bytes} B: {row.wrong} wrong values"


def _unserved(report: dict[str, Any]) -> Iterator[str]:
    """What was not run by the programs, though it should."""
    if not report:
        yield "rank 0 did not say what the programs served"
        return
    for program in report["algorithms"]:
        if not program["calls"]:
            yield f"{program['file']}: never ran"
    for count in report["stock"]:
        if count["operation"] != "barrier":
            yield f"{count['calls']} x {count['operation']} by the stock library: {count['reason']}"


def _times(done: Sequence[JoinedTask]) -> Iterator[dict[str, Any]]:
    """In picoseconds, of each size the quicker way; bandwidth in bytes per second."""
    for each in done:
        for row in each.rows:
            measured = [result for result in (row.out_of_place, row.in_place) if result]
            best = min(measured, key=lambda result: result.time_ps)
            bus = bandwidths(each.task, row.size_bytes, best)[1]
            yield {
                "collective": str(each.task.kind),
                "size_bytes": row.size_bytes,
                "time_ps": best.time_ps,
                "busbw": round(bus),
            }
