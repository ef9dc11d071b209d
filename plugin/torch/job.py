"""What the ranks of a job tell each other through its store: the folder they record into, and who wrote what."""

import json
import os
import socket
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import torch.distributed as dist

from hocket.base.errors import HocketError
from hocket.base.rank_names import name_ranks
from hocket.recording.jobs import claim_job, enter_job

__all__ = ["WrittenStream", "agree_on_folder", "await_ends", "await_streams", "has_recorded", "name_silent", "tell_end"]

_PATIENCE = timedelta(seconds=60)
_PAUSE = 0.1  # seconds between two looks for a stream that a file system does not show yet


class WrittenStream(NamedTuple):
    """What a rank says at its end: where it wrote how much; no `path` where it recorded nothing."""

    rank: int
    path: str = ""
    size: int = 0
    host: str = ""


def agree_on_folder(store: dist.Store, turn: int, root: Path, name: str, known: Path | None = None) -> Path:
    """The job's folder in `root`, the same on all ranks: the first that comes makes it, calls it `name`, and tells the
    others, whenever they come. `known` is the folder in which this process records already, which then stays the job's.
    `turn` counts the worlds that this process has left: torchrun's store outlives them, and the next may be others.

    Raises HocketError where it cannot be made, and DistError where the first rank does not tell.
    """
    key = _job_of(turn)
    if store.add(f"{key}/first", 1) == 1:
        try:
            folder = known or claim_job(root, name)
        except HocketError:
            store.set(key, "")
            raise
        store.set(key, folder.name)
        return folder
    store.wait([key], _PATIENCE)
    agreed = store.get(key).decode()
    if not agreed:
        raise HocketError("the job's first rank could not make its folder")
    return known if known is not None and known.name == agreed else enter_job(root, agreed)


def has_recorded(store: dist.Store, turn: int) -> bool:
    """Whether some rank of the job records."""
    return bool(store.check([_job_of(turn)]))


def tell_end(store: dist.Store, written: WrittenStream) -> None:
    """Tells rank 0, which waits for it, that this rank has ended. Raises DistError without a store."""
    store.set(_end_of(written.rank), json.dumps(written._replace(host=socket.gethostname())))


def await_ends(store: dist.Store, ranks: Iterable[int], seconds: int) -> list[WrittenStream]:
    """What the ranks say at their ends, of all that say it in time. Raises DistError without a store."""
    waited, keys = list(ranks), [_end_of(rank) for rank in ranks]
    try:
        store.wait(keys, timedelta(seconds=seconds))
    except dist.DistNetworkError:
        raise
    except dist.DistError:
        waited = [rank for rank in waited if store.check([_end_of(rank)])]
    return [WrittenStream(*json.loads(store.get(_end_of(rank)))) for rank in waited]


def await_streams(folder: Path, written: Iterable[WrittenStream], seconds: float) -> Iterator[str]:
    """Waits until the ranks' streams are seen whole in `folder`, which may be late on a network's file system; a line
    for each that is not."""
    deadline = time.monotonic() + seconds
    waited = [each for each in written if each.path]
    while waited := [each for each in waited if _seen(folder, each) < each.size]:
        if time.monotonic() > deadline:
            break
        time.sleep(_PAUSE)
    for each in waited:
        seen = _seen(folder, each)
        what = f"{seen} of {each.size} bytes are seen" if seen else "nothing is seen"
        yield f"rank {each.rank} wrote {each.path} on {each.host}, of which here {what} after {seconds:.0f} s more"


def name_silent(world: int, written: Iterable[WrittenStream]) -> str:
    """Who did not tell; "" where all did."""
    silent = sorted(set(range(1, world)) - {each.rank for each in written})
    return name_ranks(silent) if silent else ""


def _seen(folder: Path, written: WrittenStream) -> int:
    """The bytes of the stream that are there, by a look past what a file system remembers of names."""
    path = folder / Path(written.path).parent.name / Path(written.path).name
    try:
        with os.scandir(path.parent):  # looks the folder up anew
            return path.stat().st_size
    except OSError:
        return 0


def _job_of(turn: int) -> str:
    return f"hocket/job/{turn}"


def _end_of(rank: int) -> str:
    return f"hocket/ended/{rank}"
