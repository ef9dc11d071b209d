"""Makes the self-test: each part in a process of its own, limited in time, what it found kept at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hocket.api.progress import Progress
from hocket.api.selftest.child import OUTCOME, PLACE
from hocket.api.selftest.commands import TIMED_OUT, clean_environment, ended, printed
from hocket.api.selftest.file import SelfTestFile
from hocket.api.selftest.gpus import what_is_missing
from hocket.api.selftest.outcome import PartOutcome, PartPlace, State
from hocket.api.selftest.parts.registry import PARTS, VERSIONS, SelfTestPart
from hocket.api.selftest.request import SelfTest
from hocket.api.selftest.result import SelfTestResult, line_of
from hocket.base.files import make_folder, require_no_stream, require_place
from hocket.base.scratch import hand_over, scratch_folder

__all__ = ["perform"]

_GRACE = 1.1  # of a part's limit: it may end what it started by itself


def perform(request: SelfTest, progress: Progress) -> SelfTestResult:
    """Does all parts and writes the file after each. Raises HocketError where that cannot be written."""
    require_no_stream(request.output)
    require_place(request.output)
    with scratch_folder("selftest") as folder:
        return _SelfTestRun(request, folder, progress).result()


class _SelfTestRun:
    """The parts of a request, one after the other."""

    def __init__(self, request: SelfTest, folder: Path, progress: Progress) -> None:
        self._request, self._folder, self._progress = request, folder, progress
        asked = {name: value for name, value in request.to_plain().items() if name not in ("output", "json")}
        self._file = SelfTestFile(request.output, asked)

    def result(self) -> SelfTestResult:
        """What they came to."""
        versions = self._do(PARTS[VERSIONS])
        told, members = self._file.unfinished(versions.facts)
        self._file.add(VERSIONS, versions, self._folder / VERSIONS / "files")
        if not told:
            self._file.write(finished=False)
        self._say(VERSIONS, versions)
        notes = [*what_is_missing(versions.facts)] if self._request.gpu else []
        for note in notes:
            self._progress.say(note)
        for part in self._parts(versions.facts):
            before = told.get(part.name)
            if before is not None and before.state is State.PASSED:
                self._file.keep(part.name, before, members)
                self._say(part.name, before, "done before")
                continue
            outcome = self._do(part)
            self._file.add(part.name, outcome, self._folder / part.name / "files")
            self._file.write(finished=False)
            self._say(part.name, outcome)
        self._file.write(finished=True)
        return SelfTestResult(self._request, self._file.outcomes, tuple(notes))

    def _parts(self, versions: dict[str, Any]) -> Iterator[SelfTestPart]:
        """Those that are asked for, without the versions; of the GPUs' half where there are any."""
        on_gpus = self._request.gpu and _gpus(versions) > 0
        for part in PARTS.values():
            if part.name == VERSIONS or (part.on_gpus and not on_gpus):
                continue
            if not self._request.only or part.name in self._request.only:
                yield part

    def _do(self, part: SelfTestPart) -> PartOutcome:
        versions = self._file.outcomes[VERSIONS].facts if VERSIONS in self._file.outcomes else {}
        if part.by_torch and (reason := _why_not(part, versions)):
            return PartOutcome.skipped(reason)
        self._progress.status(f"{part.name}: {part.summary}")
        place = PartPlace(
            name=part.name,
            folder=str(make_folder(self._folder / part.name)),
            ranks=_gpus(versions) if part.on_gpus else self._request.ranks,
            on_gpus=part.on_gpus,
            limit_s=self._request.timeout or part.limit_s,
            facts={VERSIONS: versions},
        )
        make_folder(place.files)
        hand_over(place.path / PLACE, msgspec.json.encode(place))
        begin = time.monotonic()
        outcome = _ended_part(place)
        return msgspec.structs.replace(outcome, seconds=round(time.monotonic() - begin, 1))

    def _say(self, name: str, outcome: PartOutcome, how: str = "") -> None:
        told = self._file.outcomes.get(name, outcome)
        for line in line_of(name, told, how):
            self._progress.say(line)


def _ended_part(place: PartPlace) -> PartOutcome:
    """How the part's process ended."""
    command = [sys.executable, "-m", "hocket.api.selftest.child", place.folder]
    log, environment = place.files / "part.txt", clean_environment()
    code, text = printed(command, place.limit_s * _GRACE, log, environment)
    outcome = place.path / OUTCOME
    if code == 0 and outcome.is_file():
        return msgspec.json.decode(outcome.read_bytes(), type=PartOutcome)
    limit = f" ({place.limit_s:g} s)" if code == TIMED_OUT else ""
    return PartOutcome(state=State.FAILED, reasons=(f"the part {ended(code, text)}{limit}",))


def _why_not(part: SelfTestPart, versions: dict[str, Any]) -> str:
    """Why there can be no such part; "": there can."""
    if not versions.get("torch"):
        return "PyTorch is not installed, or cannot be imported: pip install 'hocket[torch]'"
    if not part.on_gpus:
        return "" if versions.get("gloo") else f"PyTorch {versions['torch']} was built without gloo"
    if not versions.get("nccl"):
        return f"PyTorch {versions['torch']} was built without NCCL"
    gpus = len(versions["gpus"])
    return "" if gpus > 1 else f"PyTorch sees {gpus} GPU{'s' * (gpus != 1)}: collectives need two"


def _gpus(versions: dict[str, Any]) -> int:
    """As PyTorch sees them, else the driver."""
    return len(versions.get("gpus", [])) or len(versions.get("smi_gpus", []))
