"""Who is who in a job's NCCL profiles: which rank each is of, and which ranks a communicator joins.

NCCL tells a plugin a communicator's id, its size and the own rank in it, never its other members: those are known from
the other ranks' profiles. Of a process with several GPUs each has a profile (`devices.ranks_of`).
"""

from collections import defaultdict
from collections.abc import Sequence

from hocket.base.errors import FormatError
from hocket.chakra.importers.nccl.profile import NcclProfile

__all__ = ["Members", "members_of", "world_ranks"]

# World ranks in the communicator's order; None where the file of that rank is not there.
Members = tuple[int | None, ...]


def world_ranks(profiles: Sequence[NcclProfile]) -> tuple[list[int], int]:
    """The rank of each profile in the job, and how many ranks the job has as far as is known.

    They are what the launcher said, else those of the largest communicator that all have, the first made of several;
    where one process is the whole job and none has all its GPUs, their order. Raises FormatError where nothing tells
    them.
    """
    seats: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    for index, profile in enumerate(profiles):
        for communicator in profile.communicators:
            seats[communicator.ranks, communicator.id][index] = communicator.rank
    largest = max((ranks for ranks, _ in seats), default=0)
    told = {profile.rank for profile in profiles}
    if None not in told and len(told) == len(profiles):
        ranks = [rank for profile in profiles if (rank := profile.rank) is not None]
        return ranks, max(largest, *(rank + 1 for rank in ranks))
    for (size, _), seat in sorted(seats.items(), key=lambda of_id: -of_id[0][0]):
        if len(seat) == len(profiles) == len(set(seat.values())):
            return [seat[index] for index in range(len(profiles))], size
    if len({profile.path for profile in profiles}) == 1 < len(profiles) >= largest:
        return list(range(len(profiles))), len(profiles)
    raise FormatError(
        f"{profiles[0].path}: nothing tells the ranks of these {len(profiles)} processes or GPUs: no launcher gave"
        " each a rank of its own, and no communicator has them all; give the files of one run"
    )


def members_of(profiles: Sequence[NcclProfile], ranks: Sequence[int], world: int) -> dict[int, Members]:
    """The members of every communicator, by its id; `ranks` are the profiles' in a job of `world`.

    Where one rank's file is missing it is the one that a communicator lacks. Raises FormatError, naming the files, for
    files of several runs.
    """
    seats: dict[int, dict[int, int]] = defaultdict(dict)
    sizes: dict[int, int] = {}
    sources: dict[tuple[int, int], NcclProfile] = {}
    for profile, rank in zip(profiles, ranks, strict=True):
        for communicator in profile.communicators:
            name = f"communicator {communicator.id:#x}"
            if communicator.rank in seats[communicator.id]:
                other = sources[communicator.id, communicator.rank].path
                raise FormatError(f"{profile.path}: rank {communicator.rank} of {name}, as {other}: of several runs?")
            if sizes.setdefault(communicator.id, communicator.ranks) != communicator.ranks:
                raise FormatError(f"{profile.path}: {name} has {communicator.ranks} ranks here, but not in other files")
            seats[communicator.id][communicator.rank] = rank
            sources[communicator.id, communicator.rank] = profile
    absent = sorted(set(range(world)) - set(ranks))
    return {identifier: _filled(seats[identifier], size, world, absent) for identifier, size in sizes.items()}


def _filled(seat: dict[int, int], size: int, world: int, absent: Sequence[int]) -> Members:
    if size == world and all(rank == place for place, rank in seat.items()):
        return tuple(range(world))
    only = absent[0] if len(absent) == 1 else None
    return tuple(seat.get(place, only) for place in range(size))
