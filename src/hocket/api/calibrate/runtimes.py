"""Fits what a runtime's kernels take to runs of programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from hocket.api.calibrate.request import CalibrationRequest
from hocket.api.calibrate.result import CalibrationResult
from hocket.api.provenance import comment
from hocket.base.errors import FormatError, RequestError
from hocket.base.files import require_place, together
from hocket.base.reading import read_text
from hocket.calibration import Calibration, MeasuredProgram, fit_costs
from hocket.schedule import write_costs
from hocket.topology import load, save
from hocket.translator import priced_protocols, read_program

__all__ = ["runtime_fitted"]


class _Measured(msgspec.Struct):
    time_ps: int


class _Row(msgspec.Struct):
    size_bytes: int
    files: dict[str, str | None]
    in_place: _Measured | None = None
    out_of_place: _Measured | None = None


class _Asked(msgspec.Struct):
    file: str = ""


class _Run(msgspec.Struct):
    source: str
    root: int
    rows: list[_Row]
    request: _Asked


def runtime_fitted(request: CalibrationRequest, runtime: str) -> CalibrationResult:
    """The fit; its files where they are asked for: the topology with the links that fit, and the costs beside it."""
    if request.topology is None or not request.files:
        raise RequestError(
            "--runtime is fitted to files of hocket run FILE --json on a machine: say it with --topology"
        )
    if request.plan or request.holdout or request.nccl or request.report or request.predict_nodes:
        raise RequestError("--runtime fits what its kernels take alone: leave NCCL's options, --holdout and pages out")
    if request.output is not None:
        require_place(request.output)
    runs = [run for path in request.files for run in _runs(Path(path))]
    fit = fit_costs(runtime, priced_protocols(runtime), runs, load(request.topology))
    result = CalibrationResult(request, Calibration((), (), ()), None, (), (), len(runs), [], costs=fit)
    if request.output is not None:
        costs = Path(request.output).with_suffix(".costs.yaml")
        with together():
            save(fit.topology, request.output, comment(request))
            write_costs(costs, fit.costs, comment(request))
        result.written.append(f"{request.output} and {costs}")
    return result


def _runs(path: Path) -> Iterator[MeasuredProgram]:
    """A run of its program for each row; one that worked on a copy has measured the copy, too."""
    try:
        found = msgspec.json.decode(read_text(path), type=_Run)
    except msgspec.DecodeError as error:
        raise FormatError(f"{path}: {error}: expected a file of hocket run FILE --json") from error
    if not found.request.file:
        raise FormatError(f"{path}: is of a bundle: run its programs one by one, hocket run FILE --json")
    program = read_program(found.source, root=found.root if found.source.endswith(".xml") else None)
    for row in found.rows:
        for call, measured in (("in_place", row.in_place), ("out_of_place", row.out_of_place)):
            name = row.files.get(call)
            if measured is not None and measured.time_ps > 0 and name and not name.endswith(" on a copy"):
                yield MeasuredProgram(program, row.size_bytes, measured.time_ps)
                break
