"""A rank's stream read back: its calls, each with completion and wait."""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hocket.core.errors import FormatError
from hocket.core.files import read_text
from hocket.plugin.torch.operations import OPERATIONS

__all__ = ["Call", "Group", "Recording", "read_recording"]

Record = dict[str, Any]


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

    `end` is None when completion was not seen; `wait` is when a thread waited for it, None when none did.
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

    @property
    def num_bytes(self) -> int:
        """What MLCommons' converter counts: this rank's input; a message's size. A scatter's is its root's."""
        if self.kind == "scatter":
            return self.output_bytes * len(self.group.ranks)
        return self.output_bytes if self.kind == "recv" else self.input_bytes


@dataclass(frozen=True)
class Recording:
    """What one rank recorded. `steps` holds (number, end); `offsets` (t, offset to rank 0's clock, round trip)."""

    path: Path
    rank: int
    world: int
    job: str
    boot: str
    meta: Record
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
    except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise FormatError(f"{path}: not a stream of the collector: {type(error).__name__} {error}") from error


def _last_session(path: Path) -> list[Record]:
    session: list[Record] = []
    torn = None
    for number, line in enumerate(read_text(path).replace("\0", "").splitlines(), start=1):
        if not line:
            continue
        try:
            record = json.loads(line)
            kind = record["k"]
        except (ValueError, TypeError, KeyError, RecursionError):
            torn = number
            continue
        if kind == "meta":
            session, torn = [], None
        if torn is not None:
            raise FormatError(f"{path}:{torn}: not a line of the collector's stream")
        session.append(record)
    if not session or session[0]["k"] != "meta":
        raise FormatError(f"{path}: expected a stream that starts with a line of kind meta")
    return session


def _assemble(path: Path, session: list[Record]) -> Recording:
    by_kind: dict[str, list[Record]] = defaultdict(list)
    for record in session:
        by_kind[record["k"]].append(record)
    meta = by_kind["meta"][0]
    groups = {
        record["id"]: Group(
            record["name"], record["description"], tuple(record["ranks"]), record["backend"], record["order"]
        )
        for record in by_kind["group"]
    }
    waits = _waits(session)
    ends = {record["id"]: record["t"] for record in by_kind["done"]}
    calls = tuple(
        _call(record, groups[record["group"]], ends.get(record["id"]), waits.get(record["id"]))
        for record in by_kind["collective"]
    )
    return Recording(
        path=path,
        rank=meta["rank"],
        world=meta["world"],
        job=meta["job"],
        boot=meta["boot"],
        meta=meta,
        calls=calls,
        steps=tuple((record["n"], record["t"]) for record in by_kind["step"]),
        offsets=tuple((record["t"], record["offset"], record["round_trip"]) for record in by_kind["clock"]),
        errors=tuple(f"{record['op']}: {record['message']}" for record in by_kind["error"]),
        ended=bool(by_kind["end"]),
        failed=bool(by_kind["end"]) and not by_kind["end"][0]["ok"],
    )


def _waits(session: list[Record]) -> dict[int, Record]:
    """The first wait for each call: its own, by its output's address, at the end of an autograd pass, or implied."""
    waits: dict[int, Record] = {}
    written: dict[int, int] = {}
    for record in session:
        if record["k"] == "collective":
            written |= dict.fromkeys(record.get("ptr", ()), record["id"])
        elif record["k"] == "wait":
            call = record["id"] if "id" in record else written.pop(record["ptr"], None)
            if call is not None:
                waits.setdefault(call, record)
    for record in session:
        if record["k"] == "backward":
            for call in record["ids"]:
                waits.setdefault(call, record)
    return waits | dict(_implied_waits(session, waits))


def _implied_waits(session: list[Record], waits: dict[int, Record]) -> Iterator[tuple[int, Record]]:
    """C++ code that issues a collective and waits (DDP's set-up) leaves no wait: its thread goes on only afterwards."""
    events: dict[int, list[int]] = defaultdict(list)
    calls = {}
    for record in session:
        if record["k"] == "collective":
            calls[record["id"]] = record
        if record["k"] in ("collective", "wait", "backward"):
            events[record["thread"]].append(record["t"] if "t" in record else record["t0"])
    for times in events.values():
        times.sort()
    for done in session:
        if done["k"] == "done" and done["id"] not in waits:
            issued, end = calls[done["id"]], done["t"]
            times = events[issued["thread"]]
            following = bisect_right(times, issued["t"])
            if following == len(times) or times[following] >= end:
                yield done["id"], {"t0": issued["t"], "t1": end, "thread": issued["thread"]}


def _call(record: Record, group: Group, end: int | None, wait: Record | None) -> Call:
    interval = None
    if wait is not None:
        end = wait["t1"] if end is None else min(end, wait["t1"])  # the callback may come late: it needs the GIL
        # A synchronous call waits from its issue on: what it does before it blocks is no work of the script.
        interval = (wait["t0"] if "async" in record else record["t"], wait["t1"])
    return Call(
        op=record["op"],
        kind=OPERATIONS[record["op"]].kind,
        group=group,
        sequence=record.get("seq", -1),
        step=record["step"],
        thread=record["thread"],
        start=record["t"],
        end=end,
        wait=interval,
        wait_thread=record["thread"] if wait is None else wait["thread"],
        input_bytes=record["in"],
        output_bytes=record["out"],
        dtype=record.get("dtype", ""),
        is_async="async" in record,
        root=record.get("root"),
        peer=record.get("peer", None if wait is None else wait.get("peer")),
        tag=record.get("tag", 0),
        reduction=record.get("reduce"),
    )
