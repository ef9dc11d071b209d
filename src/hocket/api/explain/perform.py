"""Selects as a runtime does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.explain.request import Explanation
from hocket.api.progress import Progress
from hocket.api.reading import bytes_of, element_type_of
from hocket.api.result import Result
from hocket.base.element_types import nccl_types
from hocket.base.errors import ExitCode, FormatError, RequestError
from hocket.base.files import write_json
from hocket.base.text import printable_lines
from hocket.base.units import format_bytes
from hocket.schedule import Kind
from hocket.translator.bundle import Bundle, read_bundle
from hocket.translator.bundle.manifest import TUNER_TABLE, is_bundle
from hocket.translator.msccl.profiles import DEVICE_RUNTIME
from hocket.translator.mscclpp import PLAN_RUNTIME
from hocket.translator.selection.device import select_for_device
from hocket.translator.selection.msccl import RuntimeCall, Selection, files_in_order, select
from hocket.translator.selection.mscclpp import plans_in_order, select_in_bundle, select_plan

__all__ = ["ExplanationResult", "perform"]


def perform(request: Explanation, progress: Progress) -> ExplanationResult:
    """Says what would run. Raises RequestError for a call that no library has, FormatError for what cannot be read, and
    for a folder in which nothing is for the runtime."""
    if not request.paths:
        raise RequestError("DIR|FILE... is missing: give a folder, or files in the order in which they are loaded")
    dtype = element_type_of("--dtype", request.dtype, nccl_types())
    size_bytes = bytes_of("--size", request.size)
    if size_bytes % dtype.num_bytes:
        raise RequestError(f"--size {request.size}: no whole number of {dtype.name} elements")
    call = RuntimeCall(Kind(request.collective), size_bytes, dtype.name, request.ranks, request.in_place)
    paths = [Path(path) for path in request.paths]
    of_folder = len(paths) == 1 and paths[0].is_dir()
    bundle = read_bundle(paths[0]) if of_folder and is_bundle(paths[0]) else None
    found = _selected(request.runtime, paths, bundle, call)
    if bundle is not None and found.chosen is None:
        found = replace(found, notes=(*found.notes, *_settings(bundle, call)))
    return _written(ExplanationResult(request, call, found))


def _selected(runtime: str, paths: Sequence[Path], bundle: Bundle | None, call: RuntimeCall) -> Selection:
    """`bundle`: what the folder is, if it is one."""
    if bundle is not None and not bundle.files:
        return Selection((), ())
    if bundle is not None and runtime == DEVICE_RUNTIME.name:
        return select_for_device(paths[0], call)
    files = _in_folder(paths[0], runtime) if len(paths) == 1 and paths[0].is_dir() else paths
    if runtime != PLAN_RUNTIME:
        return select(files, call, runtime)
    return select_plan(files, call) if bundle is None else select_in_bundle(paths[0], call)


def _settings(bundle: Bundle, call: RuntimeCall) -> Iterator[str]:
    """By which setting stock NCCL serves the call where the bundle's table is loaded."""
    if (bundle.collective, bundle.ranks) != (call.kind, call.num_ranks):
        return
    for one in bundle.tuned:
        if one.min_bytes <= call.size_bytes <= one.max_bytes:
            yield f"stock NCCL takes {one.algorithm} where its tuner plugin has loaded {TUNER_TABLE}"


def _written(result: ExplanationResult) -> ExplanationResult:
    if result.request.json is not None:
        write_json(result.request.json, result.as_json())
    return result


class ExplanationResult(Result):
    """What a runtime does with a call: its files in the order in which it looks at them, and what else to know."""

    def __init__(self, request: Explanation, call: RuntimeCall, selection: Selection) -> None:
        self.request: Explanation = request
        self.call, self.selection = call, selection
        runs_right = selection.chosen is not None and not selection.chosen.warnings
        self.exit_code = ExitCode.DONE if runs_right else ExitCode.CHECK_FAILED

    def headline(self) -> str:
        call, chosen = self.call, self.selection.chosen
        place = "in-place" if call.in_place else "out-of-place"
        size = f"{format_bytes(call.size_bytes)} of {call.data_type}"
        runs = "the library's own algorithm: no file matches" if chosen is None else str(chosen.path)
        return f"{self.request.runtime}, {place} {call.kind} of {size} on {call.num_ranks} ranks runs {runs}"

    def summary(self) -> str:
        return printable_lines(self._lines())

    def _lines(self) -> Iterator[str]:
        yield self.headline()
        for one in self.selection.choices:
            yield f"  {one.path.name}: {'runs' if one.runs else 'not'}: {one.reason}"
            yield from (f"    but {warning}" for warning in one.warnings)
        yield from (f"note: {note}" for note in self.selection.notes)

    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        rows = self.as_json()["files"]
        return {"files": {name: np.array([row[name] for row in rows]) for name in ("file", "runs", "reason")}}

    def as_json(self) -> dict[str, Any]:
        """What would run and why, with the request that was answered."""
        selection = self.selection
        return {
            "chosen": None if selection.chosen is None else str(selection.chosen.path),
            "files": [
                {"file": str(one.path), "runs": one.runs, "reason": one.reason, "warnings": list(one.warnings)}
                for one in selection.choices
            ],
            "notes": list(selection.notes),
            "request": self.request.to_plain(),
        }


def _in_folder(folder: Path, runtime: str) -> list[Path]:
    """The folder's files in the runtime's order. Raises FormatError where none can be for it."""
    if is_bundle(folder) and (made_for := str(read_bundle(folder).runtime)) != runtime:
        raise FormatError(
            f"{folder}: the bundle is for {made_for}: --runtime {made_for}, or translate it for {runtime}"
        )
    of_plans = runtime == PLAN_RUNTIME
    files = plans_in_order(folder) if of_plans else files_in_order(folder, runtime)
    if not any(file.suffix == (".json" if of_plans else ".xml") for file in files):
        what = "plan (.json)" if of_plans else "XML"
        remedy = f"hocket translate SCHEDULE... --to {runtime} --bundle DIR writes a folder of such"
        raise FormatError(f"{folder}: no {what} in it; {remedy}")
    return files
