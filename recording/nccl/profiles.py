"""The profiles that NCCL left of a collected job, each with the rank that it is of."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.rank_names import name_ranks
from hocket.chakra.importers.nccl.devices import ranks_of
from hocket.chakra.importers.nccl.members import members_of, world_ranks
from hocket.chakra.importers.nccl.profile import SUFFIX, NcclProfile, profile_files, read_profile
from hocket.recording.mismatch import Mismatch
from hocket.recording.nccl.join import NcclCalls, join_calls
from hocket.recording.parts.part import Part
from hocket.recording.recording import Recording

__all__ = ["offered_files", "read_nccl_profiles", "read_offered_profiles", "untimed"]

_SHOWN = 4


def read_nccl_profiles(
    path: Path, recordings: Sequence[Recording], unaligned: Sequence[Recording]
) -> tuple[dict[int, NcclCalls], list[Mismatch]]:
    """What NCCL did in each rank, from the profiles in a folder, and what they and the recordings do not have in
    common.

    `unaligned` are the same recordings by their ranks' own clocks. A profile is of the rank with its process's number;
    where no process has that, of the rank that its launcher, or a communicator of all processes, gave it.

    Raises FormatError for files that cannot be read, and for those of several runs.
    """
    profiles = [part for file in profile_files(path) for part in ranks_of(read_profile(file))]
    return _joined(path, profiles, recordings, unaligned)


def read_offered_profiles(
    homes: Mapping[int, Path], recordings: Sequence[Recording], unaligned: Sequence[Recording]
) -> tuple[dict[int, NcclCalls], list[Mismatch]]:
    """The same of the profiles of the plugin that the collector offered to the job's NCCL, where it says they are; of
    other processes' files there nothing is read. What is wrong with them is a problem, never an error."""
    processes = {recording.meta.pid for recording in recordings}
    problems = untimed(recordings)
    try:
        files = offered_files(homes, recordings)
        profiles = [profile for profile in map(read_profile, files) if profile.process in processes]
        if not profiles:
            return {}, problems
        parts = [part for profile in profiles for part in ranks_of(profile)]
        calls, told = _joined(homes[recordings[0].rank], parts, recordings, unaligned)
    except FormatError as error:
        return {}, [*problems, Mismatch("nccl", f"its profiles are not joined: {error}")]
    return calls, problems + told


def offered_files(homes: Mapping[int, Path], recordings: Sequence[Recording | Part]) -> list[Path]:
    """What the plugin that the collector offered to the job's NCCL wrote, of whichever process; `homes` are the folders
    that ranks recorded into."""
    places = {(homes[recording.rank] / recording.nccl.folder) for recording in recordings if recording.nccl is not None}
    return [file for place in sorted(places) for file in sorted(place.glob(f"*{SUFFIX}")) if file.is_file()]


def untimed(recordings: Sequence[Recording | Part]) -> list[Mismatch]:
    """Why the plugin tells no times of ranks that used NCCL, ranks alike together."""
    ranks_of: dict[str, list[int]] = {}
    for recording in recordings:
        used = {shape.group.backend for shape in recording.shapes}
        if recording.nccl is not None and recording.nccl.problem and any("nccl" in backend for backend in used):
            ranks_of.setdefault(recording.nccl.problem, []).append(recording.rank)
    return [Mismatch("nccl", f"{name_ranks(ranks)}: no times of NCCL's: {why}") for why, ranks in ranks_of.items()]


def _joined(
    path: Path, profiles: Sequence[NcclProfile], recordings: Sequence[Recording], unaligned: Sequence[Recording]
) -> tuple[dict[int, NcclCalls], list[Mismatch]]:
    by_process = {recording.rank: _of_process(profiles, recording) for recording in recordings}
    if any(by_process.values()):
        found = {rank: own for rank, own in by_process.items() if own is not None}
    else:
        found = dict(zip(world_ranks(profiles)[0], profiles, strict=True))
    members = members_of(list(found.values()), list(found), recordings[0].world)
    calls: dict[int, NcclCalls] = {}
    for recording, own in zip(recordings, unaligned, strict=True):
        if len(recording) and recording.rank in found:
            profile, one_clock = found[recording.rank], by_process[recording.rank] is not None
            calls[recording.rank] = join_calls(profile, recording, own.columns.issued, members, one_clock)
    lacking = [recording.rank for recording in recordings if len(recording) and recording.rank not in found]
    problems = [Mismatch("nccl", f"{name_ranks(lacking)}: no profile of it in {path}")] if lacking else []
    return calls, problems + _problems(calls)


def _of_process(profiles: Sequence[NcclProfile], recording: Recording) -> NcclProfile | None:
    """The one of the recording's process; hosts may give several the same number. Of a process with several GPUs it is
    the one with the recording's rank in a communicator of the whole job."""
    found = [
        profile
        for profile in profiles
        if profile.process == recording.meta.pid and profile.rank in (None, recording.rank)
    ]
    told = [profile for profile in found if profile.rank is not None or _has_rank(profile, recording)]
    if len({profile.path for profile in told or found}) == 1 < len(told or found):
        raise FormatError(
            f"{found[0].path}: none of the {len(found)} GPUs of this process is rank {recording.rank} of a communicator"
            f" of all {recording.world} ranks: nothing tells which one the recording is of"
        )
    if len(told or found) > 1:
        names = " and ".join(str(profile.path) for profile in (told or found)[:2])
        raise FormatError(f"{names} may both be of rank {recording.rank}: give the files of one run")
    return next(iter(told or found), None)


def _has_rank(profile: NcclProfile, recording: Recording) -> bool:
    return any(own.ranks == recording.world and own.rank == recording.rank for own in profile.communicators)


def _problems(calls: dict[int, NcclCalls]) -> list[Mismatch]:
    """What was not matched, ranks alike together."""
    ranks_of: dict[str, list[int]] = {}
    for rank, own in calls.items():
        if own.unmatched or len(own.attributes) < own.calls:
            text = f"{own.calls - len(own.attributes)} of {own.calls} calls have no record of NCCL's"
            ranks_of.setdefault(f"{text}, {own.unmatched} of {own.records} records no call", []).append(rank)
        for name, count in list(own.strangers.items())[:_SHOWN]:
            message = f"communicator {name} is no recorded group's: {count} collectives of it are left out"
            ranks_of.setdefault(message, []).append(rank)
    return [Mismatch("nccl", f"{name_ranks(ranks)}: {text}") for text, ranks in ranks_of.items()]
