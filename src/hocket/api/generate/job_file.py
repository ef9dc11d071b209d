"""A generated job in a file: the request that makes its traces, not the traces."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.api.generate.request import LlmGeneration
from hocket.api.result import Result
from hocket.base.errors import FormatError
from hocket.base.files import write_json
from hocket.base.reading import read_text
from hocket.base.text import printable_lines

__all__ = ["JOB_SUFFIX", "WrittenJob", "is_job_file", "read_job_file", "write_job_file"]

JOB_SUFFIX = ".job"


@dataclass(frozen=True, eq=False, repr=False)
class WrittenJob(Result):
    """A job's file, for how many ranks it is, and what there is to say of it."""

    request: LlmGeneration
    path: Path
    num_ranks: int
    lines: Sequence[str]

    def headline(self) -> str:
        return f"a job of {self.num_ranks} ranks in {self.path}"

    def details(self) -> Mapping[str, Any]:
        return {"path": str(self.path), "num_ranks": self.num_ranks}

    def summary(self) -> str:
        wrote = f"wrote {self.path}: the job of {self.num_ranks} ranks, whose traces are made when it is simulated"
        return printable_lines([*self.lines, wrote])


def is_job_file(path: str) -> bool:
    return path.endswith(JOB_SUFFIX) and os.path.isfile(path)


def write_job_file(request: LlmGeneration, asked: LlmGeneration, num_ranks: int, lines: Sequence[str]) -> WrittenJob:
    """Writes what makes the job anywhere (`asked`) where the request says."""
    path = Path(request.written.output)
    write_json(path, asked.to_plain())
    return WrittenJob(request, path, num_ranks, lines)


def read_job_file(path: str) -> LlmGeneration:
    """The request that makes the job. Raises FormatError and RequestError, naming the file, for what is none."""
    try:
        return LlmGeneration.from_json(read_text(path), path)
    except FormatError as error:
        raise FormatError(f"{error}; write it again with hocket generate llm ... -o NAME{JOB_SUFFIX}") from error
