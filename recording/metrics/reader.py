"""Reads the streams of a running job into metrics, again and again."""

from collections.abc import Sequence
from pathlib import Path

from hocket.recording.folder import stream_paths
from hocket.recording.metrics.families import Family
from hocket.recording.metrics.meter import Meter
from hocket.recording.metrics.rank_meter import RankMeter
from hocket.recording.stream_follower import Follower

__all__ = ["MetricsReader"]


class MetricsReader:
    """The metrics of the job that records into a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._meter = Meter()
        self._followers: dict[Path, Follower] = {}
        self._ranks: dict[Path, RankMeter] = {}

    def read(self) -> Sequence[Family]:
        """Takes in what was added; the metrics then. Raises FormatError for a broken line."""
        for path in sorted(stream_paths(self._folder), key=lambda path: int(path.stem.removeprefix("rank"))):
            if path not in self._followers:
                follower = self._followers[path] = Follower(path)
                follower.listener = self._ranks[path] = RankMeter(self._meter, follower)
            self._followers[path].read()
            self._ranks[path].looked()
        return self._meter.families()

    def is_over(self) -> bool:
        """Whether every rank that has a stream has ended, one way or the other."""
        followers = self._followers.values()
        return bool(followers) and all(follower.ended is not None or follower.is_gone() for follower in followers)

    def job(self) -> str:
        """The name of the job, "" before it is known."""
        metas = [follower.meta for follower in self._followers.values() if follower.meta is not None]
        return metas[0].job if metas else ""
