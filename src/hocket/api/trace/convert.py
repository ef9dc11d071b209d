"""Writes traces for another reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hocket.api.progress import Progress
from hocket.api.trace.request import TraceConversion
from hocket.api.trace.written import TraceWriter, WrittenTraces, check_place, write_job
from hocket.chakra.agreement import of_unknown_groups
from hocket.chakra.groups import FILE_NAMES
from hocket.chakra.losses import REPAIRS, Loss, loss_lines, losses_of, losses_of_job
from hocket.chakra.profile import TraceProfile
from hocket.chakra.reading import TraceFiles
from hocket.chakra.repairing import repaired
from hocket.chakra.trace import TraceSet
from hocket.chakra.writing import SCHEMA_VERSION

__all__ = ["perform"]

_MOST_GROUPS = 4  # are named


def perform(request: TraceConversion, progress: Progress) -> WrittenTraces:
    """What ASTRA-sim needs concerns the whole job; else the traces go through block by block."""
    traces = request.files.open()
    if request.repair:
        return _repair(request, traces, progress)
    writer = TraceWriter(request.written, traces.paths)
    if request.profile == TraceProfile.ASTRA_SIM:
        return write_job(request, traces.read(complete=True), request.written, request.profile, progress)
    changes: Counter[str] = Counter()
    for rank, file in enumerate(traces.files):
        num_nodes = writer.write(rank, file.blocks(complete=True))
        if file.era.is_old:
            changes[f"nodes of schema {file.era} written as of {SCHEMA_VERSION}"] += num_nodes
    return writer.finish(request, traces.groups, changes)


def _repair(request: TraceConversion, traces: TraceFiles, progress: Progress) -> WrittenTraces:
    """All ranks are held: what is inferred of a node may be what others say."""
    check_place(request.written, traces.paths)
    whole = traces.read(complete=True)
    whole = replace(whole, traces=tuple(repaired(trace) for trace in whole.traces))
    done: Counter[Loss] = Counter()
    for trace in whole.traces:
        done.update(losses_of(trace.metadata, REPAIRS))
    repairs = [f"repaired: {count} {loss.what} {loss.kind}: {loss.reason}" for loss, count in sorted(done.items())]
    written = write_job(request, whole, request.written, request.profile, progress, after=repairs)
    lines = [*loss_lines(losses_of_job(whole)), *_groups_to_name(whole)]
    return replace(written, warnings=[f"  warning: {line}" for line in lines])


def _groups_to_name(traces: TraceSet) -> Iterator[str]:
    """What has to be given where collectives are of process groups that no file names, which no repair can infer."""
    unknown = of_unknown_groups(traces)
    if unknown:
        shown = [f"{count} of {name}" for name, count in unknown.most_common(_MOST_GROUPS)]
        shown += [f"{len(unknown) - _MOST_GROUPS} groups more"] * (len(unknown) > _MOST_GROUPS)
        yield (
            f"{unknown.total()} collectives are of process groups whose ranks no file tells ({', '.join(shown)}): "
            f'name their ranks in JSON such as {{"{next(iter(unknown))}": [0, 1]}}, as {FILE_NAMES[0]} beside the '
            "traces or by --groups"
        )
