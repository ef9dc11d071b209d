"""Runs cases one after the other, each in a fresh process, and keeps what is finished."""

import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from hocket.base import processes
from hocket.base.errors import FormatError
from hocket.base.files import write_json
from hocket.bench.peers.case import Case, Figures, Outcome
from hocket.bench.peers.driver import drive

__all__ = ["Limits", "Result", "Results"]


@dataclass(frozen=True)
class Limits:
    """Of each process: seconds, and bytes of address space."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Result:
    """`beside`: what the peer's program did on this machine."""

    case: Case
    outcome: Outcome
    beside: Figures | None = None


class _Kept(msgspec.Struct):
    """The file."""

    request: Mapping[str, Any]
    results: list[Result]


@dataclass
class Results:
    """Finished cases by name, kept in the file `path` (None: nowhere) with the request that they are of."""

    path: Path | None
    finished: dict[str, Result]
    request: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None, request: Mapping[str, Any]) -> "Results":
        """What the file has, if there is one. Raises FormatError when it is not one of ours."""
        if path is None or not path.is_file():
            return cls(path, {}, request)
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept | list[Result])
        except msgspec.DecodeError as error:
            raise FormatError(f"{path}: {error}: not results of `hocket bench peers`; name another file") from error
        results = kept if isinstance(kept, list) else kept.results  # the list alone: of earlier releases
        return cls(path, {result.case.name: result for result in results}, request)

    def run(self, cases: Iterable[Case], limits: Limits, peer: Path | None = None) -> Iterator[Result]:
        """The results of all cases; those that are finished, for the same target, are not run again."""
        for case in cases:
            known = self.finished.get(case.name)
            done = known is not None and not known.outcome.error and (peer is None or known.beside is not None)
            if known is None or not done:
                known = Result(case, _outcome(case, limits), drive(peer, case, limits.seconds) if peer else None)
                self.finished[case.name] = known
                self._save()
            yield Result(case, known.outcome, known.beside)

    def _save(self) -> None:
        if self.path is not None:
            write_json(self.path, msgspec.to_builtins(_Kept(self.request, list(self.finished.values()))))


def _outcome(case: Case, limits: Limits) -> Outcome:
    command = [sys.executable, "-m", "hocket.bench.peers.measure"]
    try:
        process = processes.run(
            command,
            input=msgspec.json.encode(case),
            capture_output=True,
            timeout_s=limits.seconds,
            memory_bytes=limits.memory_bytes,
        )
    except subprocess.TimeoutExpired:
        return Outcome(case.name, error=f"not done in {limits.seconds:g} s")
    if process.returncode != 0:
        last = process.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return Outcome(case.name, error=last[0] if last else f"ended with {process.returncode}")
    return msgspec.json.decode(process.stdout, type=Outcome)
