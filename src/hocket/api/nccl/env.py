"""The variables with which NCCL loads Hocket's plugins, for a shell to evaluate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hocket.api.nccl.request import NcclEnvironment
from hocket.api.progress import Progress
from hocket.api.result import Report
from hocket.base.errors import RequestError
from hocket.base.text import shell_word
from hocket.nccl.tuning.table import read_tuner_table
from hocket.plugin.nccl.library import nccl_profiler_path, nccl_tuner_path

__all__ = ["NcclVariables", "perform"]


@dataclass(eq=False, repr=False)
class NcclVariables(Report):
    """The variables by name; its text is a line `export NAME=VALUE` each."""

    variables: dict[str, str] = field(default_factory=dict)

    def details(self) -> Mapping[str, Any]:
        return {"variables": self.variables}


def perform(request: NcclEnvironment, progress: Progress) -> NcclVariables:
    if request.profile is None and request.table is None:
        raise RequestError("give --profile DIR, --table FILE, or both")
    if request.kernels and request.profile is None:
        raise RequestError("--kernels goes with --profile DIR")
    variables: dict[str, Path | str] = {}
    if request.profile is not None:
        folder = Path(request.profile).absolute()
        variables |= {"NCCL_PROFILER_PLUGIN": nccl_profiler_path(), "HOCKET_NCCL_PROFILE": folder}
        variables |= {"HOCKET_NCCL_EVENTS": "collective,p2p,kernel_channel"} if request.kernels else {}
    if request.table is not None:
        read_tuner_table(request.table)
        table = Path(request.table).absolute()
        variables |= {"NCCL_TUNER_PLUGIN": nccl_tuner_path(), "HOCKET_NCCL_TUNER_TABLE": table}
    texts = {name: str(value) for name, value in variables.items()}
    return NcclVariables(
        request, [f"export {name}={shell_word(text)}" for name, text in texts.items()], variables=texts
    )
