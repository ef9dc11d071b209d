"""Jobs that call all collectives, by the stock library or by programs in its place."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hocket.api.selftest.commands import clean_environment, ended, printed, torchrun
from hocket.api.selftest.outcome import PartPlace
from hocket.base.files import write_file
from hocket.base.scratch import hand_over
from hocket.runtime.run.job import RunTask
from hocket.runtime.selftest.rows import JoinedTask, joined, ranks_told, tables

__all__ = ["LibraryJob"]

#: NCCL's log of GPUs: what it found and chose, no line per call.
_NCCL_LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,GRAPH"}


class LibraryJob:
    """A job of a part, a process per rank, in the part's folder."""

    def __init__(self, place: PartPlace, tasks: Sequence[RunTask]) -> None:
        self._place, self._tasks = place, tuple(tasks)
        hand_over(place.path / "tasks.pickle", pickle.dumps(self._tasks))

    def run(self, limit_s: float, **variables: str) -> list[str]:
        """Runs it; what went wrong with it, in lines. Calls that every rank came through are kept however it ends."""
        place = self._place
        more = _NCCL_LOG if place.on_gpus else {}
        command = torchrun(place.ranks, "hocket.runtime.selftest.worker", str(place.path))
        code, text = printed(command, limit_s, place.files / "log.txt", clean_environment(**more, **variables))
        return [f"the job {ended(code, text)}"] if code else []

    def joined(self) -> list[JoinedTask]:
        """What it did."""
        return joined(self._place.path, self._tasks)

    def write_tables(self, done: Sequence[JoinedTask], name: str, by: str) -> None:
        """As nccl-tests prints them."""
        place = self._place
        told = ranks_told(place.path, place.ranks)
        library = int(place.versions.get("nccl") or 0) if place.on_gpus else 0
        write_file(place.files / name, tables(done, by, told, library))

    def report(self) -> dict[str, Any]:
        """What programs served, as rank 0 said at its end; {} where it did not."""
        path = self.report_path
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}

    @property
    def report_path(self) -> Path:
        return self._place.files / "served.json"
