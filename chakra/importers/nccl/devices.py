"""A process with several GPUs (JAX, `ncclCommInitAll`) is several ranks in one profile: the part of each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hocket.base.errors import FormatError
from hocket.chakra.importers.nccl.profile import Communicator, NcclProfile

__all__ = ["ranks_of"]


def ranks_of(profile: NcclProfile) -> list[NcclProfile]:
    """What each rank of a process recorded, by the order of their GPUs: the whole, where no communicator has several
    ranks in it.

    A part has the communicators and records of one GPU; what the process lost is told in each. A launcher's rank is the
    process's and of no part. Raises FormatError where nothing tells which communicators are on one GPU.
    """
    seats: dict[int, list[Communicator]] = defaultdict(list)
    for communicator in profile.communicators:
        seats[communicator.id].append(communicator)
    if all(len(own) == 1 for own in seats.values()):
        return [profile]
    here = {tuple(sorted(seat.rank for seat in own)) for own in seats.values()}
    if all(_apart([seat.device for seat in own]) for own in seats.values()):
        places = [seat.device or 0 for seat in profile.communicators]
    elif len(here) == 1 and _apart(*here):  # each communicator has all of them, in one order
        places = [seat.rank for seat in profile.communicators]
    else:
        raise FormatError(
            f"{profile.path}: this process is several ranks, and CUDA did not tell the GPU of each of its"
            f" {len(profile.communicators)} communicators (or two ranks of one are on one GPU): record it with this"
            " Hocket's plugin, one rank per GPU"
        )
    return [_part(profile, np.array(places), place) for place in sorted(set(places))]


def _apart(places: Sequence[int | None]) -> bool:
    """Whether all are known, and no two alike."""
    return None not in places and len(set(places)) == len(places)


def _part(profile: NcclProfile, places: npt.NDArray[np.int64], place: int) -> NcclProfile:
    here = places == place
    records = profile.records[here[profile.records["communicator"]]].copy()
    records["communicator"] = (np.cumsum(here) - 1)[records["communicator"]]
    kept = tuple(seat for seat, is_here in zip(profile.communicators, here, strict=True) if is_here)
    return replace(profile, rank=None, communicators=kept, records=records)
