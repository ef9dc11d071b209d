"""Follows a rank's stream while it is written: what the rank is in now, and what it did last in each group."""

import dataclasses
import itertools
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from hocket.base.errors import FormatError
from hocket.chakra.c10d import OPERATIONS
from hocket.recording.calls import GroupKey
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.segments import segment_number, segment_paths
from hocket.recording.stream_lines import (
    FIRST,
    BackwardLine,
    ClockLine,
    EndLine,
    GraphLine,
    GroupLine,
    InternalLine,
    Meta,
    ReplayLine,
    ShapeLine,
    StepLine,
    decode_line,
)

__all__ = ["Follower", "Issued", "Listener", "UsedGroup", "now_ns"]

# Added to this machine's monotonic clock, which nobody sets: a wall clock that is set meanwhile moves no time here.
_WALL_NS = time.time_ns() - time.perf_counter_ns()


def now_ns() -> int:
    """The time, in ns since the epoch, that goes on evenly whatever is done to the wall clock."""
    return time.perf_counter_ns() + _WALL_NS


@dataclass(frozen=True)
class UsedGroup:
    """A process group as a rank names it."""

    key: GroupKey
    ranks: tuple[int, ...]
    title: str


@dataclass(frozen=True)
class Issued:
    """A collective or message that a rank issued at `t`, ns since the epoch; `peer` a message's other end."""

    group: UsedGroup
    kind: str
    sequence: int
    num_bytes: int
    peer: int | None
    is_async: bool
    line: str
    thread: int
    t: int
    on_device: bool = False

    @property
    def is_message(self) -> bool:
        """Whether it has no number in its group."""
        return self.kind in PEER_TO_PEER


class Listener(Protocol):
    """Told of what a follower reads, in the order of the stream. Times are ns of the rank's performance counter."""

    def began(self, meta: Meta) -> None:
        """A session begins."""

    def issued(self, identifier: int, call: Issued, t: int) -> None:
        """An operation was issued."""

    def refused(self, identifier: int) -> None:
        """An operation never took place."""

    def ended(self, identifier: int, t: int) -> None:
        """An operation is complete: where its wait was seen first, by that. On a device its host only thinks so."""

    def waited(self, identifier: int, begin: int, duration: int) -> None:
        """A thread waited for an operation; it may be one of before the first that was read."""

    def device_came(self, identifier: int, t: int, end: int | None) -> None:
        """A device's stream came to an operation, which ended there at `end`: None where nothing tells."""

    def device_waited(self, identifier: int, arrival: int, on: int) -> None:
        """A device's stream came to the wait for an operation, and went on. Several that are waited for at once are
        told one after the other, by the same times."""

    def replayed(self, number: int, calls: Sequence[Issued]) -> None:
        """A graph was replayed, which does these calls; none where its capture is not known."""

    def replay_told(self, number: int, begin: int, end: int) -> None:
        """A replay ran on its device from when to when."""

    def step_ended(self, number: int, t: int) -> None:
        """A training step ended."""

    def clock_measured(self, line: ClockLine) -> None:
        """How far the rank's clock is from rank 0's."""

    def closed(self) -> None:
        """The session has ended: no operation is told of any more."""


@dataclass
class Follower:
    """What a stream tells of its last session so far; `read` goes on where it stopped.

    `open` holds what was issued and is not known to be over, by its number; `last` the last collective in each group.
    Times are ns since the epoch, by the clock of the rank's machine.
    """

    path: Path
    listener: Listener | None = None
    meta: Meta | None = None
    open: dict[int, Issued] = field(default_factory=dict)
    last: dict[GroupKey, Issued] = field(default_factory=dict)
    last_issued: Issued | None = None
    last_t: int = 0
    ended: bool | None = None
    _groups: dict[int, UsedGroup] = field(default_factory=dict)
    _shapes: dict[int, ShapeLine] = field(default_factory=dict)
    _graphs: dict[int, list[ShapeLine]] = field(default_factory=dict)  # of their calls
    _inside: dict[int, int] = field(default_factory=dict)  # the last synchronous call of each thread
    _file: Path | None = None
    _offset: int = 0

    def read(self) -> None:
        """Takes in the whole lines that were added. Raises FormatError naming file and line of one that is broken."""
        while self._read_file():
            pass

    def _read_file(self) -> bool:
        """Takes in what was added to the file that is followed; whether there is another now."""
        files = segment_paths(self.path) or [self.path]
        if self._file not in files:  # the first, or a cap has dropped it
            self._file, self._offset = files[0], 0
        assert self._file is not None
        following = files[files.index(self._file) + 1 :]
        with suppress(FileNotFoundError):  # dropped this moment
            self._take_added()
        if not following:
            return False
        self._file, self._offset = following[0], 0
        return True

    def _take_added(self) -> None:
        whole = self._added()
        self._offset += len(whole)
        begin = whole.rfind(b"\n" + FIRST) + 1
        if (begin or whole.startswith(FIRST)) and not self._goes_on(
            whole[begin:]
        ):  # of a killed session the last line is torn: only the newest counts
            self._restart()
        for line in whole[begin:].splitlines():
            if b"\0" in line:
                continue
            if self.meta is None and not line.startswith(FIRST):
                raise FormatError(f"{self.path}: expected a stream that starts with a line of kind meta")
            try:
                self._take(decode_line(line))
            except (ValueError, KeyError) as error:
                raise FormatError(f"{self.path}: not a line of the collector's stream: {line[:80]!r}") from error

    def _added(self) -> bytes:
        """Whole lines, of which those that are lost have zero bytes: a page that never reached the disk.

        Of what is not written yet a map has zero bytes too, but nothing behind them. Something may be written there
        while a reader passes: what was there before is certain only at a second look.
        """
        assert self._file is not None
        try:
            with open(self._file, "rb") as file:
                file.seek(self._offset)
                seen = file.read().rstrip(b"\0")
                if b"\0" in seen:
                    file.seek(self._offset)
                    seen = file.read(len(seen))
        except FileNotFoundError:
            if segment_number(self._file) is None:
                raise FormatError(f"{self._file}: no such file") from None
            raise
        except OSError as error:
            raise FormatError(f"{self._file}: {error.strerror}") from error
        whole = seen[: seen.rfind(b"\n") + 1]
        last = whole.rfind(b"\n", 0, -1) + 1  # it may be half in the map
        return whole[:last] if b"\0" in whole[last:] else whole

    def _goes_on(self, lines: bytes) -> bool:
        """Whether these are of a further segment of the same session, which begins as all do."""
        return self.meta is not None and decode_line(lines.partition(b"\n")[0]) == self.meta

    def _restart(self) -> None:
        for name in ("open", "last", "_groups", "_shapes", "_graphs", "_inside"):
            getattr(self, name).clear()
        self.meta = self.last_issued = self.ended = None

    def _take(self, record: object) -> None:
        if isinstance(record, list):
            self._take_numbers(*record)
        elif isinstance(record, Meta):
            self._graphs.clear()  # a segment begins with those that can be replayed
            if record != self.meta:
                self.meta = record
                self.last_t = 0
                self._seen(record.perf_ns)
                if self.listener is not None:
                    self.listener.began(record)
        elif isinstance(record, GroupLine):
            key = tuple(sorted(record.ranks)), record.order
            title = record.name if record.description in ("", "undefined") else record.description
            self._groups[record.id] = UsedGroup(key, record.ranks, title)
        elif isinstance(record, ShapeLine):
            self._shapes[record.id] = record
        elif isinstance(record, BackwardLine | InternalLine):
            for identifier in record.ids:
                self.open.pop(identifier, None)
            self._seen(record.t1)
            if self.listener is not None and record.ids:
                self.listener.waited(record.ids[-1], record.t0, record.t1 - record.t0)
                for identifier in record.ids:
                    self.listener.ended(identifier, record.t1)
        elif isinstance(record, GraphLine):
            if all(shape.group in self._groups for shape in record.shapes):  # else lost
                self._graphs[record.id] = [record.shapes[place] for place, _ in record.calls]
        elif isinstance(record, ReplayLine):
            self._take_replay(record)
        elif isinstance(record, StepLine):
            self._seen(record.t)
            if self.listener is not None:
                self.listener.step_ended(record.n, record.t)
        elif isinstance(record, ClockLine):
            if self.listener is not None:
                self.listener.clock_measured(record)
        elif isinstance(record, EndLine):
            self.ended = record.ok
            if self.listener is not None:
                self.listener.closed()

    def _take_numbers(self, letter: int, identifier: int, *numbers: int) -> None:
        match chr(letter), numbers:
            case "c", (shape, sequence, t, thread):
                # A synchronous call leaves a wait only when all is well, but its thread goes on only afterwards.
                self.open.pop(self._inside.pop(thread, -1), None)
                known = self._shapes.get(shape)
                if known is not None and known.group in self._groups:  # else lost
                    self._issue(identifier, known, sequence, t, thread)
            case "d", (t,):
                self.open.pop(identifier, None)
                self._seen(t)
                if self.listener is not None:
                    self.listener.ended(identifier, t)
            case ("w", (t, duration, _)) | ("a", (t, duration, _, _)):
                self.open.pop(identifier, None)
                self._seen(t + duration)
                if self.listener is not None:
                    self.listener.waited(identifier, t, duration)
                    self.listener.ended(identifier, t + duration)
            case "x", ():
                self.open.pop(identifier, None)
                if self.listener is not None:
                    self.listener.refused(identifier)
            case (("r" | "e" | "v" | "g"), _) if self.listener is not None:
                self._take_device_times(self.listener, chr(letter), identifier, *numbers)

    @staticmethod
    def _take_device_times(listener: Listener, letter: str, identifier: int, t: int, end: int | None = None) -> None:
        if letter == "v" and end is not None:
            listener.device_waited(identifier, t, end)
        elif letter == "g" and end is not None:
            listener.replay_told(identifier, t, end)
        else:
            listener.device_came(identifier, t, end)

    def _take_replay(self, replay: ReplayLine) -> None:
        self._seen(replay.t1)
        if self.listener is None:
            return
        numbers = {group: itertools.count(first) for group, first, _ in replay.bases}
        calls = []
        for shape in self._graphs.get(replay.graph, ()):
            issued = self._described(shape, 0, replay.t0, replay.thread)
            if not issued.is_message and shape.group in numbers:
                issued = dataclasses.replace(issued, sequence=next(numbers[shape.group]))
            calls.append(issued)
        self.listener.replayed(replay.n, calls)

    def _described(self, shape: ShapeLine, sequence: int, t: int, thread: int) -> Issued:
        kind = shape.kind or OPERATIONS[shape.op].kind
        return Issued(
            group=self._groups[shape.group],
            kind=kind,
            sequence=sequence,
            num_bytes=shape.output_bytes if kind == "recv" else shape.input_bytes,
            peer=shape.peer,
            is_async=bool(shape.is_async),
            line=shape.at,
            thread=thread,
            t=self._seen(t),
            on_device=shape.stream is not None,
        )

    def _issue(self, identifier: int, shape: ShapeLine, sequence: int, t: int, thread: int) -> None:
        issued = self._described(shape, sequence, t, thread)
        self.open[identifier] = self.last_issued = issued
        if self.listener is not None:
            self.listener.issued(identifier, issued, t)
        if not issued.is_async:
            self._inside[thread] = identifier
        if not issued.is_message:
            self.last[issued.group.key] = issued

    def _seen(self, t: int) -> int:
        assert self.meta is not None  # a session begins with it
        t += _WALL_NS if self.meta.boot == _boot() else self.meta.epoch_ns - self.meta.perf_ns
        self.last_t = max(self.last_t, t)
        return t

    @property
    def is_here(self) -> bool:
        """Whether the process that wrote runs, or ran, on this machine since it began."""
        return self.meta is not None and self.meta.pid != 0 and self.meta.boot == _boot()

    def is_gone(self) -> bool:
        """Whether the process that wrote ran on this machine and is no more; a stream of elsewhere cannot tell."""
        if not self.is_here or self.meta is None:
            return False
        try:
            return Path(f"/proc/{self.meta.pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
        except OSError:
            return True


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
