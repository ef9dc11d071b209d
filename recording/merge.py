"""Turns the ranks' streams into execution traces, one a rank, and a summary."""

from dataclasses import asdict, replace
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.files import together, write_file, write_json
from hocket.chakra import write_trace
from hocket.chakra.groups import FILE_NAMES, write_groups
from hocket.chakra.trace import Trace
from hocket.recording.agreement import Mismatch, clock_residual, mismatches
from hocket.recording.alignment import align
from hocket.recording.cutting import cut_recordings
from hocket.recording.devices import joined_devices
from hocket.recording.folder import merged_files, stream_path, stream_paths
from hocket.recording.matching import match, number_groups
from hocket.recording.messages import find_messages, tags_in_trace
from hocket.recording.profiles import read_profiles
from hocket.recording.recording import Recording, read_recording
from hocket.recording.scatters import scattered_bytes, sizes_in_trace
from hocket.recording.summary import RecordingSummary, summarize
from hocket.recording.tables import render
from hocket.recording.timeline import build_trace, window

__all__ = ["merge"]


def merge(folder: Path | str, kineto: Path | None = None, nccl: Path | None = None) -> RecordingSummary:
    """Writes `trace.<rank>.et` of every rank that recorded something, comm_groups.json, summary.txt and summary.json.

    The ranks' profiles, those of `--ops` or in the file or folder `kineto`, and those of NCCL in the folder `nccl` are
    joined in (`profiles.read_profiles`).
    Works on what there is: the summary tells which ranks are missing or did not end. Raises FormatError when there is
    no stream, a line of one is broken, or no rank recorded a collective.
    """
    folder = Path(folder)
    unaligned = _read(folder)
    recordings, clocks = align(unaligned)
    profiles = read_profiles(folder, recordings, unaligned, kineto, nccl)
    recordings = [
        recording.completed(profiles.nccl[recording.rank].completed(recording.columns.end))
        if recording.rank in profiles.nccl
        else recording
        for recording in recordings
    ]
    numbering = number_groups(recordings)
    matched = match(recordings, numbering)
    messages = find_messages(recordings, numbering)
    problems = [*mismatches(recordings, matched, messages)]
    residual, where = clock_residual(matched)
    if where:
        problems.append(Mismatch("clock", f"{where} ended {residual} ns before its last rank began"))
    problems += profiles.problems
    present = [recording for recording in recordings if len(recording)]
    cut, cuts = cut_recordings(present, matched, messages)
    scattered = scattered_bytes(matched)
    sizes = {recording.rank: sizes_in_trace(recording, numbering, scattered) for recording in present}
    tags = tags_in_trace(present, messages)
    chosen = {rank: calls.attributes for rank, calls in profiles.nccl.items()}
    devices: dict[int, Trace] = {}
    if profiles.devices:
        devices, told = joined_devices(profiles.devices, cut, numbering, sizes, tags, chosen)
        problems += told
    summary = summarize(recordings, numbering, matched, problems, clocks, residual, cuts, profiles.nccl)

    origin = min(window(recording)[0] for recording in present)
    stale = {path for path in merged_files(folder) if path.suffix == ".et"}  # of an earlier job, with more ranks maybe
    with together():
        for recording in cut:
            rank, path = recording.rank, folder / f"trace.{recording.rank}.et"
            trace = devices.get(rank)
            if trace is None:
                more = profiles.operators.get(rank, {}), chosen.get(rank, {})
                trace = build_trace(recording, numbering, sizes[rank], tags[rank], origin, *more)
            write_trace(path, replace(trace, metadata=trace.metadata | _metadata(recording)))
            stale.discard(path)
        groups = {str(number): group.ranks for number, group in numbering.values() if number}
        write_groups(folder / FILE_NAMES[0], groups)
        write_json(folder / "summary.json", asdict(summary))
        write_file(folder / "summary.txt", render(summary))
    for path in stale:
        path.unlink()
    return summary


def _metadata(recording: Recording) -> dict[str, object]:
    meta = recording.meta
    library = {"mpi": meta.mpi} if meta.mpi else {"torch": meta.torch}
    head = {"rank": recording.rank, "world_size": recording.world, "generator": "hocket collect"}
    return {**head, "script": meta.script, **library}


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
