"""Turns what other tools recorded into traces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hocket.api.progress import Progress
from hocket.api.reading import bytes_of, one_of
from hocket.api.trace.request import TraceImport
from hocket.api.trace.written import WrittenTraces, check_place, write_job
from hocket.base.collectives import NAMED_KINDS, RECV, SEND
from hocket.base.errors import ExitCode, RequestError
from hocket.chakra import NodeType, TraceSet, write_trace
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.importers import ImportedJob, import_traces
from hocket.chakra.importers.told import EXPERT_OPERATIONS, Told
from hocket.chakra.losses import all_communication_lost, communication_lost, loss_lines, losses_of_job

__all__ = ["perform"]

_GROUP = re.compile(r"([0-9]{1,7})(?::([0-9]{1,7}))?")


def perform(request: TraceImport, progress: Progress) -> WrittenTraces:
    job = import_traces(request.paths, request.source, _told(request))
    notes = [f"note: {note}" + (f" ({count})" if count > 1 else "") for note, count in job.notes.items()]
    if job.missing:
        written = _write_some(request, job, notes)
    else:
        traces = TraceSet(tuple(job.traces.values()), job.groups)
        written = write_job(request, traces, request.written, request.profile, progress, after=notes)
    return _judged(request, job, written)


def _judged(request: TraceImport, job: ImportedJob, written: WrittenTraces) -> WrittenTraces:
    """With warnings of what was lost, and exit code 1 where of collectives and messages nothing is left."""
    losses = losses_of_job(TraceSet(tuple(job.traces.values()), job.groups))
    placed = sum(int((trace.type >= NodeType.COMM_SEND).sum()) for trace in job.traces.values())
    lost_all = all_communication_lost(losses, placed)
    warnings = [f"  warning: {line}" for line in loss_lines(losses)]
    if lost := communication_lost(losses):
        told = "the notes say which file or option tells them"
        warnings.append(f"  warning: {lost} of {lost + placed} collectives and messages are lost: {told}")
    if lost_all:
        warnings.append(
            "  warning: NO COMMUNICATION IS LEFT THAT USES LINKS: all was lost (--accept-losses takes the traces so)"
        )
    code = ExitCode.CHECK_FAILED if lost_all and not request.accept_losses else ExitCode.DONE
    return replace(written, warnings=warnings, exit_code=code)


def _told(request: TraceImport) -> Told:
    sizes = {name: bytes_of(f"--size {name}", text) for name, text in _named("--size", "BYTES", request.size)}
    groups = {}
    for name, text in _named("--group", "RANKS[:STRIDE]", request.group):
        numbers = _GROUP.fullmatch(text)
        if numbers is None or int(numbers[1]) * int(numbers[2] or 1) == 0:
            raise RequestError(f"--group {name}={text}: expected a number of ranks, such as 8, or 2:8 for 8 apart")
        groups[name] = int(numbers[1]), int(numbers[2] or 1)
    return Told(request.world, request.rank, sizes, groups)


def _named(option: str, value: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names of operations, and what was told of each."""
    known = [*(kind for kind in NAMED_KINDS), SEND, RECV, *EXPERT_OPERATIONS]
    for text in texts:
        name, equals, rest = text.partition("=")
        if not equals:
            raise RequestError(f"{option} {text}: expected NAME={value}")
        yield one_of(option, name, map(str, known)), rest


def _write_some(request: TraceImport, job: ImportedJob, notes: list[str]) -> WrittenTraces:
    """Writes the traces of a job of which not all ranks are there."""
    place, folder = request.written, Path(request.written.output)
    check_place(place)
    for rank, trace in job.traces.items():
        write_trace(folder / f"{place.prefix}.{rank}.et{'.gz' * place.gzip}", trace, request.profile)
    write_groups(folder / FILE_NAMES[0], job.groups)
    num_nodes = sum(map(len, job.traces.values()))
    shown = ", ".join(map(str, job.missing[:8])) + (", ..." if len(job.missing) > 8 else "")
    count = f"{len(job.missing)} of {job.world} ranks are missing"
    missing = f"note: the traces of ranks {shown}: {count}; hocket trace complete makes them"
    return WrittenTraces(request, folder, place.prefix, len(job.traces), num_nodes, {}, after=[missing, *notes])
