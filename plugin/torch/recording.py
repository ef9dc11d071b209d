"""A rank's stream read back: its calls, each with completion and wait."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from hocket.core.errors import FormatError
from hocket.core.files import read_text
from hocket.plugin.torch.operations import OPERATIONS

__all__ = ["Call", "Group", "Recording", "read_recording"]


class Meta(msgspec.Struct, tag="meta", tag_field="k"):
    """First line of a session."""

    rank: int
    world: int
    job: str
    boot: str
    torch: str
    script: str
    epoch_ns: int
    perf_ns: int


class _Group(msgspec.Struct, tag="group", tag_field="k"):
    id: int
    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str
    order: int


class _Collective(msgspec.Struct, tag="collective", tag_field="k"):
    id: int
    op: str
    group: int
    step: int
    t: int
    thread: int
    input_bytes: int = msgspec.field(name="in")
    output_bytes: int = msgspec.field(name="out")
    seq: int = -1
    dtype: str = ""
    is_async: int = msgspec.field(name="async", default=0)
    ptr: tuple[int, ...] = ()
    root: int | None = None
    peer: int | None = None
    tag: int = 0
    reduce: str | None = None
    in_splits: tuple[int, ...] = ()


class _Done(msgspec.Struct, tag="done", tag_field="k"):
    id: int
    t: int


class _Wait(msgspec.Struct, tag="wait", tag_field="k"):
    t0: int
    t1: int
    thread: int
    id: int | None = None
    ptr: int | None = None
    peer: int | None = None


class _Backward(msgspec.Struct, tag="backward", tag_field="k"):
    ids: tuple[int, ...]
    t0: int
    t1: int
    thread: int


class _Step(msgspec.Struct, tag="step", tag_field="k"):
    n: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    t: int


class _Clock(msgspec.Struct, tag="clock", tag_field="k"):
    t: int
    offset: int
    round_trip: int


class _Error(msgspec.Struct, tag="error", tag_field="k"):
    op: str
    message: str


class _End(msgspec.Struct, tag="end", tag_field="k"):
    ok: bool


_Record = Meta | _Group | _Collective | _Done | _Wait | _Backward | _Step | _Clock | _Error | _End
_DECODER: msgspec.json.Decoder[_Record] = msgspec.json.Decoder(_Record)
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Group:
    """A process group as one rank knows it: `ranks` in group order, `order` among groups of the same members."""

    name: str
    description: str
    ranks: tuple[int, ...]
    backend: str
    order: int


@dataclass(frozen=True)
class Call:
    """A collective or message on one rank. Times are ns, sizes bytes, `root` and `peer` world ranks.

    `end` is None when completion was not seen; `wait` is when a thread waited for it, None when none did. `in_splits`
    are the parts of the input for the group's ranks (rows of the tensor, or bytes), empty when all are the same.
    """

    op: str
    kind: str
    group: Group
    sequence: int
    step: int
    thread: int
    start: int
    end: int | None
    wait: tuple[int, int] | None
    wait_thread: int
    input_bytes: int
    output_bytes: int
    dtype: str
    is_async: bool
    root: int | None
    peer: int | None
    tag: int
    reduction: str | None
    in_splits: tuple[int, ...]

    @property
    def num_bytes(self) -> int:
        """What MLCommons' converter counts: this rank's input; a message's size. A scatter's is its root's."""
        if self.kind == "scatter":
            return self.input_bytes or self.output_bytes * len(self.group.ranks)
        return self.output_bytes if self.kind == "recv" else self.input_bytes


@dataclass(frozen=True)
class Recording:
    """What one rank recorded. `steps` holds (number, end); `offsets` (t, offset to rank 0's clock, round trip)."""

    path: Path
    rank: int
    world: int
    job: str
    boot: str
    meta: Meta
    calls: tuple[Call, ...]
    steps: tuple[tuple[int, int], ...]
    offsets: tuple[tuple[int, int, int], ...]
    errors: tuple[str, ...]
    ended: bool
    failed: bool


def read_recording(path: Path) -> Recording:
    """The last session in a stream; a killed process leaves its last line torn and zero bytes behind it.

    Raises FormatError naming file and line.
    """
    session = _last_session(path)
    try:
        return _assemble(path, session)
    except KeyError as error:
        raise FormatError(f"{path}: a line refers to an operation or group {error} that no line tells of") from error


def _last_session(path: Path) -> list[_Record]:
    session: list[_Record] = []
    torn = None
    for number, line in enumerate(read_text(path).replace("\0", "").splitlines(), start=1):
        if not line:
            continue
        try:
            record = _DECODER.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            torn = torn or f"{path}:{number}: not a line of the collector's stream: {error}"
            continue
        if isinstance(record, Meta):
            session, torn = [], None
        if torn is not None:
            raise FormatError(torn)
        session.append(record)
    if not session or not isinstance(session[0], Meta):
        raise FormatError(f"{path}: expected a stream that starts with a line of kind meta")
    return session


def _of(kind: type[_Kind], session: list[_Record]) -> list[_Kind]:
    return [record for record in session if isinstance(record, kind)]


def _assemble(path: Path, session: list[_Record]) -> Recording:
    meta = _of(Meta, session)[0]
    groups = {
        record.id: Group(record.name, record.description, record.ranks, record.backend, record.order)
        for record in _of(_Group, session)
    }
    waits = _waits(session)
    dones = {record.id: record.t for record in _of(_Done, session)}
    ends = _of(_End, session)
    return Recording(
        path=path,
        rank=meta.rank,
        world=meta.world,
        job=meta.job,
        boot=meta.boot,
        meta=meta,
        calls=tuple(
            _call(record, groups[record.group], dones.get(record.id), waits.get(record.id))
            for record in _of(_Collective, session)
        ),
        steps=tuple((record.n, record.t) for record in _of(_Step, session)),
        offsets=tuple((record.t, record.offset, record.round_trip) for record in _of(_Clock, session)),
        errors=tuple(f"{record.op}: {record.message}" for record in _of(_Error, session)),
        ended=bool(ends),
        failed=bool(ends) and not ends[0].ok,
    )


def _waits(session: list[_Record]) -> dict[int, _Wait]:
    """The first wait for each call: its own, by its output's address, at the end of an autograd pass, or implied."""
    waits: dict[int, _Wait] = {}
    written: dict[int, int] = {}
    for record in session:
        if isinstance(record, _Collective):
            written |= dict.fromkeys(record.ptr, record.id)
        elif isinstance(record, _Wait):
            call = record.id if record.ptr is None else written.pop(record.ptr, None)
            if call is not None:
                waits.setdefault(call, record)
    for backward in _of(_Backward, session):
        for call in backward.ids:
            waits.setdefault(call, _Wait(backward.t0, backward.t1, backward.thread))
    return waits | dict(_implied_waits(session, waits))


def _implied_waits(session: list[_Record], waits: dict[int, _Wait]) -> Iterator[tuple[int, _Wait]]:
    """C++ code that issues a collective and waits (DDP's set-up) leaves no wait: its thread goes on only afterwards."""
    events: dict[int, list[int]] = defaultdict(list)
    calls = {record.id: record for record in _of(_Collective, session)}
    for record in session:
        if isinstance(record, _Collective):
            events[record.thread].append(record.t)
        elif isinstance(record, _Wait | _Backward):
            events[record.thread].append(record.t0)
    for times in events.values():
        times.sort()
    for done in _of(_Done, session):
        if done.id not in waits:
            issued = calls[done.id]
            times = events[issued.thread]
            following = bisect_right(times, issued.t)
            if following == len(times) or times[following] >= done.t:
                yield done.id, _Wait(issued.t, done.t, issued.thread)


def _call(record: _Collective, group: Group, end: int | None, wait: _Wait | None) -> Call:
    interval = None
    if wait is not None:
        end = wait.t1 if end is None else min(end, wait.t1)  # the callback may come late: it needs the GIL
        # A synchronous call waits from its issue on: what it does before it blocks is no work of the script.
        interval = (wait.t0 if record.is_async else record.t, wait.t1)
    return Call(
        op=record.op,
        kind=OPERATIONS[record.op].kind,
        group=group,
        sequence=record.seq,
        step=record.step,
        thread=record.thread,
        start=record.t,
        end=end,
        wait=interval,
        wait_thread=record.thread if wait is None else wait.thread,
        input_bytes=record.input_bytes,
        output_bytes=record.output_bytes,
        dtype=record.dtype,
        is_async=bool(record.is_async),
        root=record.root,
        peer=record.peer if wait is None or record.peer is not None else wait.peer,
        tag=record.tag,
        reduction=record.reduce,
        in_splits=record.in_splits,
    )
