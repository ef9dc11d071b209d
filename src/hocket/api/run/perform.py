"""Runs programs on real processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hocket.api.progress import Progress
from hocket.api.reading import bytes_of, element_type_of
from hocket.api.result import Report
from hocket.api.run.request import ProgramRun
from hocket.api.run.result import ProgramRunResult
from hocket.base.errors import FormatError, RequestError
from hocket.runtime.run import DATA_TYPES, Job, ReduceOp, launch, prepare, prepare_bundle
from hocket.translator import PROFILES, read_xml, run_recipe

__all__ = ["perform"]


def perform(request: ProgramRun, progress: Progress) -> ProgramRunResult | Report:
    """Runs the program at each size; rows are told as they come. Raises RequestError for fields that exclude each
    other, FormatError, ScheduleError or DeadlockError for a program that is wrong, HocketError for ranks that end."""
    file = None if request.file is None else Path(request.file)
    _check_source(request, file)
    if file is not None and request.print is not None:
        profile = PROFILES[request.print]
        return Report(
            request, run_recipe(read_xml(file, profile=request.print, root=request.root), profile, file).split("\n")
        )
    result = ProgramRunResult(request, _job(request, file))
    for line in result.head():
        progress.say(line)
    for row in launch(result.job, request.timeout):
        progress.say(result.add(row))
    result.write()
    return result


def _check_source(request: ProgramRun, file: Path | None) -> None:
    """Raises RequestError unless there is one program or bundle, and FormatError for a file that is none."""
    if request.bundle is not None:
        if file is not None or request.root is not None or request.compare or request.print is not None:
            raise RequestError("--bundle DIR is run without FILE, --root, --compare and --print")
        return
    if file is None:
        raise RequestError("give FILE or --bundle DIR")
    if file.suffix == ".schedule":
        raise FormatError(f"{file}: a schedule; first hocket translate {file} --to executor -o {file.stem}.xml")
    if file.is_dir():
        raise FormatError(f"{file}: a folder; a bundle is hocket run --bundle {file}, others are run file by file")


def _job(request: ProgramRun, file: Path | None) -> Job:
    options: dict[str, Any] = {
        "data_type": element_type_of("--dtype", request.dtype, DATA_TYPES).name,
        "op": ReduceOp(request.op),
        "iterations": request.iterations,
        "warmup": request.warmup,
        "verify": request.verify,
    }
    common = request.transport, request.ranks, _sizes(request)
    if file is not None:
        return prepare(file, *common, root=request.root, compare=request.compare, **options)
    assert request.bundle is not None
    return prepare_bundle(Path(request.bundle), *common, **options)


def _sizes(request: ProgramRun) -> list[int]:
    """The one size, or those of the sweep, each `factor` times the one before."""
    if request.size is not None and request.set_fields().keys() & {"least", "most", "factor"}:
        raise RequestError("give one --size or a sweep (-b, -e, -f), not both")
    first = bytes_of("--min", request.least) if request.size is None else bytes_of("--size", request.size)
    last = first if request.most is None else bytes_of("--max", request.most)
    if not 0 < first <= last:
        raise RequestError(f"sizes must be positive and the first ({first} B) not above the last ({last} B)")
    sizes = [first]
    while sizes[-1] * request.factor <= last:
        sizes.append(sizes[-1] * request.factor)
    return sizes
