"""The profiles of a job's ranks: operators of its hosts, what its devices did, and what NCCL did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.rank_names import name_ranks
from hocket.chakra.importers.files import files_in, head_of
from hocket.chakra.importers.lanes import Operator
from hocket.chakra.importers.pytorch.kineto import Kineto, read_kineto
from hocket.chakra.importers.pytorch.read import is_kineto, kinetos_of
from hocket.recording.folder import operators_path
from hocket.recording.mismatch import Mismatch
from hocket.recording.nccl.join import NcclCalls
from hocket.recording.nccl.profiles import read_nccl_profiles, read_offered_profiles
from hocket.recording.operators import operators_of
from hocket.recording.profile import RecordedProfile, join
from hocket.recording.recording import Recording

__all__ = ["Profiles", "read_profiles"]


@dataclass
class Profiles:
    """Of each rank with a profile its operators by thread and, where it has a device, the profile; of each with one of
    NCCL's what that did for its calls. `problems` tell which ranks have none, and what profile and recording do not
    have in common. `joined`: somebody looked for profiles."""

    operators: dict[int, dict[int, list[Operator]]] = field(default_factory=dict)
    devices: dict[int, RecordedProfile] = field(default_factory=dict)
    nccl: dict[int, NcclCalls] = field(default_factory=dict)
    problems: list[Mismatch] = field(default_factory=list)
    joined: bool = False


def read_profiles(
    homes: Mapping[int, Path],
    recordings: Sequence[Recording],
    unaligned: Sequence[Recording],
    kineto: Path | None,
    nccl: Path | None,
) -> Profiles:
    """The profiles of the ranks that recorded calls: those in `kineto`, a file or folder, else of `--ops`; and NCCL's
    in the folder `nccl`, else of the plugin that the collector offered. `unaligned` are the same recordings by their
    ranks' own clocks, `homes` the folders that ranks recorded into.

    Raises FormatError for a file in `kineto` or `nccl` that cannot be read or is of a rank that another is of.
    """
    profiles = Profiles(joined=True)
    if nccl is None:
        profiles.nccl, profiles.problems = read_offered_profiles(homes, recordings, unaligned)
    else:
        profiles.nccl, profiles.problems = read_nccl_profiles(nccl, recordings, unaligned)
    found = _recorded(homes, recordings) if kineto is None else _of_files(kineto, recordings)
    own = {recording.rank: recording for recording in unaligned}
    unmatched: dict[tuple[int, int], list[int]] = {}
    for recording, path, timeline in found:
        try:
            if isinstance(timeline, FormatError):
                raise timeline
            profile = join(path, timeline, recording, own[recording.rank])
        except FormatError as error:  # the gaps between its calls stay whole
            profiles.problems.append(Mismatch("operators", f"none of rank {recording.rank}: {error}"))
            continue
        unmatched.setdefault(profile.unmatched, []).append(recording.rank)
        profiles.operators[recording.rank] = operators_of(profile)
        if timeline.device:
            profiles.devices[recording.rank] = profile
    for (profiled, recorded), ranks in unmatched.items():
        if profiled or recorded:
            message = (
                f"{name_ranks(ranks)}: {profiled} operations of the profile are not in the stream, {recorded} calls"
            )
            profiles.problems.append(Mismatch("profile", f"{message} of the stream are not in the profile"))
    return profiles


_Found = Iterator[tuple[Recording, Path, Kineto | FormatError]]


def _recorded(homes: Mapping[int, Path], recordings: Sequence[Recording]) -> _Found:
    for recording in recordings:
        if len(recording) and recording.no_operators is not None:
            path = operators_path(homes[recording.rank], recording.rank)
            try:
                yield (
                    recording,
                    path,
                    FormatError(recording.no_operators) if recording.no_operators else read_kineto(path),
                )
            except FormatError as error:
                yield recording, path, error


def _of_files(kineto: Path, recordings: Sequence[Recording]) -> _Found:
    left = {recording.rank: recording for recording in recordings if len(recording)}
    for rank, path, timeline in kinetos_of([path for path in files_in([kineto]) if is_kineto(head_of(path))]):
        if rank in left:
            yield left.pop(rank), path, timeline
    for recording in left.values():
        yield recording, kineto, FormatError(f"{kineto}: no profile of it")
