"""NCCL's own log inside a benchmark's output: taken out of the way of its table, and what it tells of the run.

NCCL and the benchmark write into one buffer, and a row of the table is written in three parts, so that the log stands
within the row: `8  2  float  sum  -1node:7:7 [0] NCCL INFO AllReduce: 8 Bytes -> ...`, then the row's times on a line
of their own.
"""

import re
from collections.abc import Callable, Iterable

from hocket.calibration.measurement import BenchmarkRun
from hocket.nccl.choice import NcclChoice
from hocket.nccl.fitted import NCCL_NAMES
from hocket.nccl.log import Logged, read_setting, read_tuning

__all__ = ["NcclLines"]

_AFTER_HOST = r":\d+:\d+ \[\d+\] NCCL (?:INFO|WARN) "


class NcclLines:
    """What NCCL logged during one run."""

    def __init__(self) -> None:
        self._logged: list[Logged] = []
        self._variables: dict[str, str] = {}
        self._piece = ""

    def without(self, line: str, hosts: Iterable[str], place: str) -> str:
        """The benchmark's line; empty while the log stands within it, whole with the last of its parts.

        Raises FormatError, naming `place`, where NCCL's line is damaged.
        """
        if "NCCL " in line:
            glued = "".join(f"|{re.escape(host)}" for host in hosts)
            if found := re.search(rf"(?:^\S+{glued}){_AFTER_HOST}", line):
                self._note(line[found.end() :], place)
                self._piece = f"{self._piece} {line[: found.start()]}".strip()
                return ""
        if self._piece and (line[:1].isdigit() or line.startswith("N/A")):
            line, self._piece = f"{self._piece} {line}", ""
        return line

    def run(self, devices: Iterable[str], version: str | None) -> BenchmarkRun:
        """What is known of the run; its variables where NCCL said of any that it read it."""
        return BenchmarkRun(frozenset(devices), dict(self._variables) or None, version)

    def choices(self, kind: str, ranks: int, run: BenchmarkRun, place: str) -> Callable[[int], NcclChoice | None]:
        """By size: what NCCL chose, where it logged one choice for the size; else what its variables left."""
        if kind not in NCCL_NAMES:
            return lambda size: None
        forced = run.forced(kind, place)
        channels = forced.channels if forced else 0
        by_size: dict[int, set[NcclChoice]] = {}
        for each in self._logged:
            if each.collective in (None, NCCL_NAMES[kind]) and channels is not None:
                choice = NcclChoice(each.algorithm, each.protocol, channels)
                by_size.setdefault(each.total_bytes(ranks), set()).add(choice)

        def chosen(size: int) -> NcclChoice | None:
            found = by_size.get(size, set())
            if len(found) == 1:
                return next(iter(found))
            return forced.choice if forced and not found else None

        return chosen

    def _note(self, message: str, place: str) -> None:
        if logged := read_tuning(message, place):
            self._logged.append(logged)
        if setting := read_setting(message):
            self._variables[setting[0]] = setting[1]
