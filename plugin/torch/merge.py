"""Turns the ranks' streams into execution traces, one a rank, and a summary."""

import json
from dataclasses import asdict
from pathlib import Path

from hocket.chakra import write_trace
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.importers.lanes import Operator
from hocket.core.errors import FormatError
from hocket.core.files import atomic_write
from hocket.plugin.torch.agreement import Mismatch, clock_residual, mismatches
from hocket.plugin.torch.alignment import align
from hocket.plugin.torch.cutting import cut_recordings
from hocket.plugin.torch.folder import merged_files, operators_path, stream_path, stream_paths
from hocket.plugin.torch.matching import match, number_groups
from hocket.plugin.torch.messages import find_messages, tags_in_trace
from hocket.plugin.torch.operators import read_operators
from hocket.plugin.torch.recording import Recording, read_recording
from hocket.plugin.torch.scatters import scattered_bytes
from hocket.plugin.torch.summary import Summary, summarize
from hocket.plugin.torch.tables import render
from hocket.plugin.torch.timeline import build_trace, window

__all__ = ["merge"]


def merge(folder: Path | str) -> Summary:
    """Writes `trace.<rank>.et` of every rank that recorded something, comm_groups.json, summary.txt and summary.json.

    Works on what there is: the summary tells which ranks are missing or did not end. Raises FormatError when there is
    no stream, a line of one is broken, or no rank recorded a collective.
    """
    folder = Path(folder)
    recordings, clocks = align(_read(folder))
    numbering = number_groups(recordings)
    matched = match(recordings, numbering)
    messages = find_messages(recordings, numbering)
    problems = [*mismatches(recordings, matched, messages)]
    residual, where = clock_residual(matched)
    if where:
        problems.append(Mismatch("clock", f"{where} ended {residual} ns before its last rank began"))
    operators = {}
    for recording in recordings:
        if len(recording) and recording.no_operators is not None:
            try:
                operators[recording.rank] = _operators(folder, recording)
            except FormatError as error:  # the gaps between its calls stay whole
                problems.append(Mismatch("operators", f"none of rank {recording.rank}: {error}"))
    present = [recording for recording in recordings if len(recording)]
    cut, cuts = cut_recordings(present, matched, messages)
    summary = summarize(recordings, numbering, matched, problems, clocks, residual, cuts)

    scattered = scattered_bytes(matched)
    tags = tags_in_trace(present, messages)
    origin = min(window(recording)[0] for recording in present)
    for stale in merged_files(folder):  # of an earlier job, with more ranks maybe
        stale.unlink()
    for recording in cut:
        metadata = {"rank": recording.rank, "world_size": recording.world, "generator": "hocket collect"}
        meta = recording.meta
        metadata |= {"script": meta.script} | ({"mpi": meta.mpi} if meta.mpi else {"torch": meta.torch})
        computed = operators.get(recording.rank, {})
        trace = build_trace(recording, numbering, scattered, tags[recording.rank], origin, metadata, computed)
        write_trace(folder / f"trace.{recording.rank}.et", trace)
    write_groups(folder / FILE_NAMES[0], {str(number): group.ranks for number, group in numbering.values() if number})
    with atomic_write(folder / "summary.json") as file:
        json.dump(asdict(summary), file, indent=1)
    with atomic_write(folder / "summary.txt") as file:
        file.write(render(summary))
    return summary


def _operators(folder: Path, aligned: Recording) -> dict[int, list[Operator]]:
    if aligned.no_operators:
        raise FormatError(aligned.no_operators)
    return read_operators(operators_path(folder, aligned.rank), read_recording(aligned.path), aligned)


def _read(folder: Path) -> list[Recording]:
    """The recordings of the newest job in the folder, by rank."""
    recordings = sorted(map(read_recording, stream_paths(folder)), key=lambda recording: recording.rank)
    if not recordings:
        raise FormatError(f"{stream_path(folder, 0).parent}: no rank*.stream: is this the folder of a collection?")
    newest = max(recordings, key=lambda recording: recording.meta.epoch_ns)
    recordings = [recording for recording in recordings if recording.job == newest.job]
    if not any(len(recording) for recording in recordings):
        steps = f"the script made {max(len(recording.steps) for recording in recordings)} steps"
        raise FormatError(f"{folder}: no rank recorded a collective; {steps}: are --skip-steps and --steps right?")
    return recordings
