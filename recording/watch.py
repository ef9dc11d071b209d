"""Watches a collection while the job runs."""

import time
from collections.abc import Callable
from pathlib import Path

from hocket.base.errors import ExitCode
from hocket.recording.folder import stream_paths
from hocket.recording.hangs import Report, examine
from hocket.recording.stream_follower import Follower, now_ns

__all__ = ["Watch", "watch"]

_PAUSE = 0.5  # seconds between two looks
_SECOND = 10**9


class Watch:
    """Looks at the streams of the newest job in a folder, again and again."""

    def __init__(self, folder: Path, timeout: int) -> None:
        self._folder = folder
        self._timeout = timeout * _SECOND
        self._followers: dict[Path, Follower] = {}

    def look(self) -> Report:
        """What hangs now. Raises FormatError for a broken line."""
        for path in stream_paths(self._folder):
            self._followers.setdefault(path, Follower(path)).read()
        return examine(self.ranks(), now_ns(), self._timeout)

    def ranks(self) -> dict[int, Follower]:
        """The ranks of the newest job that have a stream."""
        begun = [(follower.meta, follower) for follower in self._followers.values() if follower.meta is not None]
        newest = max(((meta.epoch_ns, meta.job) for meta, _ in begun), default=(0, ""))[1]
        return {meta.rank: follower for meta, follower in begun if meta.job == newest}

    def is_over(self) -> bool:
        """Whether every rank that has a stream has ended, one way or the other, and nothing can come any more."""
        ranks = self.ranks()
        over = bool(ranks) and all(follower.ended is not None or follower.is_gone() for follower in ranks.values())
        quiet = all(now_ns() - follower.last_t >= self._timeout for follower in ranks.values())
        worlds = {follower.meta.world for follower in ranks.values() if follower.meta is not None}
        return over and (quiet or worlds == {len(ranks)})

    def verdict(self, report: Report) -> ExitCode:
        """DEADLOCK while something hangs, CHECK_FAILED when a rank died or ended with an error, else DONE."""
        if report.hangs:
            return ExitCode.DEADLOCK
        failed = any(follower.ended is False for follower in self.ranks().values())
        return ExitCode.CHECK_FAILED if report.gone or failed else ExitCode.DONE


def watch(folder: Path, timeout: int, tell: Callable[[Report], None]) -> ExitCode:
    """Looks until the job is over and tells what hangs or has died, once for each change; the last verdict, DEADLOCK
    where the job was ended while it hung."""
    watching = Watch(folder, timeout)
    told, hung = Report((), (), ()).identity, False
    while True:
        report = watching.look()
        if report.identity != told:
            told = report.identity
            tell(report)
        hung = bool(report.hangs) or (hung and bool(report.gone))  # who ends a job that hangs ends it rank by rank
        if watching.is_over():
            return ExitCode.DEADLOCK if hung else watching.verdict(report)
        time.sleep(_PAUSE)
