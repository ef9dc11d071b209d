"""Merging the streams of many ranks: CPU seconds, peak memory and bytes of `hocket collect merge`.

Run: `python -m hocket.bench.merge_scale [--ranks 4096 --calls 1000] [--jobs 2]`. Goal: 64 ranks of 100,000 calls in
under 60 s CPU and 1 GB. The last line is what 1,024 ranks of 1,000,000 calls take at that rate. The streams are made
up, the same on every machine, and written as the collector writes them: machines of 8 ranks with clocks of their own;
all_reduces, all_gathers and reduce_scatters of the world, of the ranks of a machine and of those of one place on all
machines, some asynchronous; messages around a ring; one rank that is always late, and hiccups.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.recording.folder import stream_path
from hocket.recording.stream import FORMAT, MappedStream

__all__ = ["main", "make_streams"]

Numbers = NDArray[np.int64]

MACHINE = 8  # ranks a machine
STEP = 100  # calls a step
SLOT = 50_000  # ns from one call to the next
LATE_RANK, LATE = 5, 4_000
EPOCH = 10**18
LARGE_RANKS, LARGE_CALLS = 1024, 10**6

# What is called in each slot of a step, by the last digit of its number: operation, group (0 the world, 1 a machine, 2
# one place on each machine), bytes in and out, whether asynchronous.
CALLS = (
    ("allreduce_", 0, 1 << 20, 1 << 20, True),
    ("_allgather_base_", 1, 1 << 16, MACHINE << 16, False),
    ("allreduce_", 2, 1 << 18, 1 << 18, True),
    ("allreduce_", 1, 4, 4, False),
    ("_reduce_scatter_base_", 1, MACHINE << 16, 1 << 16, True),
    ("allreduce_", 0, 1 << 20, 1 << 20, True),
    ("send", 0, 4096, 4096, True),
    ("recv_", 0, 0, 4096, True),
    ("_allgather_base_", 1, 1 << 16, MACHINE << 16, True),
    ("barrier", 0, 0, 0, False),
)


def main() -> None:
    parser = command_line()
    parser.add_argument("--ranks", type=int, default=64, help="a multiple of 8")
    parser.add_argument("--calls", type=int, default=100_000, help="of each rank; a multiple of 100")
    parser.add_argument("--jobs", type=int, default=1, help="processes that merge")
    parser.add_argument("--folder", help="keep streams and traces here")
    chosen = parser.parse_args()
    with scratch_folder("bench") as temporary:
        folder = Path(chosen.folder or temporary)
        # In processes of their own: what `wait4` says of the merge's memory would count this one's too.
        with processes.worker_pool(1) as pool:
            pool.submit(make_streams, folder, chosen.ranks, chosen.calls).result()
        _measure(folder, chosen.ranks, chosen.calls, chosen.jobs)


def _measure(folder: Path, ranks: int, calls: int, jobs: int) -> None:
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "hocket", "collect", "merge", str(folder), "--jobs", str(jobs)]
    begin = time.monotonic()
    with processes.started(command, stdout=subprocess.DEVNULL, env=environment) as merge:
        _, status, used = os.wait4(merge.pid, 0)
        merge.returncode = os.waitstatus_to_exitcode(status)
    streams = sum(path.stat().st_size for path in (folder / "stream").iterdir())
    traces = sum(path.stat().st_size for path in folder.glob("*.et"))
    total = ranks * calls
    lasted, cpu = time.monotonic() - begin, used.ru_utime + used.ru_stime
    print(f"{ranks} ranks of {calls} calls by {jobs} processes, exit code {merge.returncode}")
    print(f"streams  {streams / 1e6:8.1f} MB, {streams / total:.0f} B a call")
    print(f"traces   {traces / 1e6:8.1f} MB, {traces / total:.0f} B a call")
    print(f"CPU      {cpu:8.1f} s ({used.ru_utime:.1f} s of it user), a call {cpu / total * 1e6:.2f} us")
    print(f"time     {lasted:8.1f} s")
    print(f"memory   {used.ru_maxrss * 1024 / 1e6:8.1f} MB at most in a process")
    hours = cpu / total * LARGE_RANKS * LARGE_CALLS / 3600
    print(f"at that rate {LARGE_RANKS:,} ranks of {LARGE_CALLS:,} calls take {hours:.1f} CPU hours")


def make_streams(folder: Path, ranks: int, calls: int) -> None:
    """Writes the streams of `ranks` ranks with `calls` calls each."""
    starts, ends = _times(ranks, calls)
    for rank in range(ranks):
        offset = rank // MACHINE * 1_000_000_007
        stream_path(folder, rank).unlink(missing_ok=True)
        stream = MappedStream(stream_path(folder, rank))
        for line in _head(rank, ranks, offset):
            stream.write(_json(**line))
        stream.write(_body(starts[rank] + offset, ends[rank] + offset))
        last = int(ends[rank, -1]) + offset
        stream.write(_json(k="clock", t=last, offset=-offset, round_trip=9000))
        stream.write(_json(k="end", t=last, ok=True))
        stream.close()


def _json(**values: object) -> str:
    return json.dumps(values, separators=(",", ":")) + "\n"


def _head(rank: int, ranks: int, offset: int) -> Iterator[dict[str, object]]:
    meta = {"rank": rank, "world": ranks, "job": "bench", "boot": str(rank // MACHINE), "pid": 0, "torch": "2"}
    clock = {"epoch_ns": EPOCH, "perf_ns": offset, "step": 0}
    yield {"k": "meta", "format": FORMAT} | meta | clock | {"script": "train.py", "hook": "native"}
    members = {
        "default_pg": list(range(ranks)),
        "machine": list(range(rank // MACHINE * MACHINE, (rank // MACHINE + 1) * MACHINE)),
        "place": list(range(rank % MACHINE, ranks, MACHINE)),
    }
    for number, (name, group) in enumerate(members.items()):
        order = [*members.values()][:number].count(group)
        common = {"backend": "nccl", "order": order, "rank": group.index(rank)}
        yield {"k": "group", "id": number, "name": str(number), "description": name, "ranks": group} | common
    for number, (op, group_id, in_bytes, out_bytes, is_async) in enumerate(CALLS):
        shape = {"k": "shape", "id": number, "op": op, "group": group_id, "in": in_bytes, "out": out_bytes}
        shape |= {"async": 1} if is_async else {}
        shape |= {"dtype": "float32"} if out_bytes else {}
        shape |= {"reduce": "SUM"} if "reduce" in op else {}
        shape |= {"send": {"peer": (rank + 1) % ranks}, "recv_": {"peer": (rank - 1) % ranks}}.get(op, {})
        yield shape
    yield {"k": "clock", "t": offset, "offset": -offset, "round_trip": 9000}


def _times(ranks: int, calls: int) -> tuple[Numbers, Numbers]:
    """When each rank issues and completes each call, ns of one clock."""
    state = np.arange(ranks * calls, dtype=np.uint64).reshape(ranks, calls)
    noise = _splitmix(state)
    skew = (noise % np.uint64(10_000)).astype(np.int64)
    skew[LATE_RANK] += LATE
    skew[noise % np.uint64(20_011) == 0] += 15_000
    starts = (1 + np.arange(calls)) * SLOT + skew
    ends = np.empty_like(starts)
    for digit, (_, group, in_bytes, out_bytes, _) in enumerate(CALLS):
        own = starts[:, digit :: len(CALLS)]
        shape = (ranks // MACHINE, MACHINE, own.shape[1])
        axes = ((0, 1), 1, 0)[group]
        last = own.reshape(shape).max(axis=axes, keepdims=True)
        ends[:, digit :: len(CALLS)] = (
            np.broadcast_to(last, shape).reshape(own.shape) + 500 + (in_bytes + out_bytes) // 400
        )
    return starts, ends


def _splitmix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        state = (state + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return state ^ state >> np.uint64(31)


def _body(starts: Numbers, ends: Numbers) -> str:
    """The lines of all calls, step by step."""
    steps, counts = len(starts) // STEP, [0, 0, 0]
    starts, ends = starts.reshape(steps, STEP), ends.reshape(steps, STEP)
    per_step = [
        sum(CALLS[slot % 10][1] == group and not _is_message(slot) for slot in range(STEP)) for group in range(3)
    ]
    text, columns = "", []
    first = np.arange(steps)
    for slot in range(STEP):
        _, group, _, _, is_async = CALLS[slot % 10]
        identifier, start, end = first * STEP + slot, starts[:, slot], ends[:, slot]
        sequence = 0 * first if _is_message(slot) else first * per_step[group] + counts[group]
        counts[group] += not _is_message(slot)
        text += f"c %d {slot % 10} %d %d 0\n"
        columns += [identifier, sequence, start]
        if is_async and not _is_message(slot):
            text += "d %d %d\n"
            columns += [identifier, end]
        waits = np.maximum(start + 20_000, end - 5_000) if is_async else start
        text += "w %d %d %d 0\n"
        columns += [identifier, waits, np.maximum(end - waits, 300)]
    text += '{"k":"step","n":%d,"t":%d}\n'
    columns += [first, np.maximum(ends[:, -1], starts[:, -1]) + 1000]
    return text * steps % tuple(np.stack(columns, axis=1).ravel().tolist())


def _is_message(slot: int) -> bool:
    return CALLS[slot % 10][0] in ("send", "recv_")


if __name__ == "__main__":
    main()
