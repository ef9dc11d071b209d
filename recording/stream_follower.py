"""Follows a rank's stream while it is written: what the rank is in now, and what it did last in each group."""

from dataclasses import dataclass, field
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.chakra.c10d import OPERATIONS
from hocket.recording.operations import PEER_TO_PEER
from hocket.recording.recording import GroupKey
from hocket.recording.stream_lines import (
    FIRST,
    BackwardLine,
    EndLine,
    GroupLine,
    InternalLine,
    Meta,
    ShapeLine,
    StepLine,
    decode_line,
)

__all__ = ["Follower", "Issued", "UsedGroup"]


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

    @property
    def is_message(self) -> bool:
        """Whether it has no number in its group."""
        return self.kind in PEER_TO_PEER


@dataclass
class Follower:
    """What a stream tells of its last session so far; `read` goes on where it stopped.

    `open` holds what was issued and is not known to be over, by its number; `last` the last collective in each group.
    Times are ns since the epoch, by the clock of the rank's machine.
    """

    path: Path
    meta: Meta | None = None
    open: dict[int, Issued] = field(default_factory=dict)
    last: dict[GroupKey, Issued] = field(default_factory=dict)
    last_issued: Issued | None = None
    last_t: int = 0
    ended: bool | None = None
    _groups: dict[int, UsedGroup] = field(default_factory=dict)
    _shapes: dict[int, ShapeLine] = field(default_factory=dict)
    _inside: dict[int, int] = field(default_factory=dict)  # the last synchronous call of each thread
    _offset: int = 0

    def read(self) -> None:
        """Takes in the whole lines that were added. Raises FormatError naming file and line of one that is broken."""
        whole = self._added()
        self._offset += len(whole)
        begin = whole.rfind(b"\n" + FIRST) + 1
        if begin or whole.startswith(FIRST):  # of a killed session the last line is torn: only the newest counts
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
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                seen = file.read().rstrip(b"\0")
                if b"\0" in seen:
                    file.seek(self._offset)
                    seen = file.read(len(seen))
        except OSError as error:
            raise FormatError(f"{self.path}: {error.strerror}") from error
        whole = seen[: seen.rfind(b"\n") + 1]
        last = whole.rfind(b"\n", 0, -1) + 1  # it may be half in the map
        return whole[:last] if b"\0" in whole[last:] else whole

    def _restart(self) -> None:
        for name in ("open", "last", "_groups", "_shapes", "_inside"):
            getattr(self, name).clear()
        self.meta = self.last_issued = self.ended = None

    def _take(self, record: object) -> None:
        if isinstance(record, list):
            self._take_numbers(*record)
        elif isinstance(record, Meta):
            self.meta = record
            self.last_t = record.epoch_ns
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
        elif isinstance(record, StepLine):
            self._seen(record.t)
        elif isinstance(record, EndLine):
            self.ended = record.ok

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
            case ("w", (t, duration, _)) | ("a", (t, duration, _, _)):
                self.open.pop(identifier, None)
                self._seen(t + duration)
            case "x", ():
                self.open.pop(identifier, None)

    def _issue(self, identifier: int, shape: ShapeLine, sequence: int, t: int, thread: int) -> None:
        kind = shape.kind or OPERATIONS[shape.op].kind
        issued = Issued(
            group=self._groups[shape.group],
            kind=kind,
            sequence=sequence,
            num_bytes=shape.output_bytes if kind == "recv" else shape.input_bytes,
            peer=shape.peer,
            is_async=bool(shape.is_async),
            line=shape.at,
            thread=thread,
            t=self._seen(t),
        )
        self.open[identifier] = self.last_issued = issued
        if not issued.is_async:
            self._inside[thread] = identifier
        if not issued.is_message:
            self.last[issued.group.key] = issued

    def _seen(self, t: int) -> int:
        assert self.meta is not None  # a session begins with it
        t += self.meta.epoch_ns - self.meta.perf_ns
        self.last_t = max(self.last_t, t)
        return t

    def is_gone(self) -> bool:
        """Whether the process that wrote ran on this machine and is no more; a stream of elsewhere cannot tell."""
        if self.meta is None or self.meta.pid == 0 or self.meta.boot != _boot():
            return False
        try:
            return Path(f"/proc/{self.meta.pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
        except OSError:
            return True


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
