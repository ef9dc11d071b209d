"""What simulated jobs are, and recordings made of calls that never were."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hocket.recording.calls import CallColumns, CallShape, Group
from hocket.recording.recording import Recording
from hocket.recording.stream_lines import Meta
from hocket.recording.waits import NONE

__all__ = [
    "STEP_NS",
    "TRANSFER_NS",
    "SimulatedJob",
    "columns_of",
    "group_of",
    "recording_of",
    "release",
    "shape_of",
]

Numbers = NDArray[np.int64]

STEP_NS = 30_000_000
TRANSFER_NS = 200_000
_BYTES = 1 << 20


@dataclass(frozen=True)
class SimulatedJob:
    """`ranks` on `machines` make `steps` of `collectives` synchronous all_reduces each, 30 ms a step; or, as
    `pipeline`, each machine's ranks hand a message on, from first to last, before the step's all_reduce, or work off
    so many `micro_batches` in the order 1F1B (`bench/simulated_pipelines.py`).

    `jitter`: standard deviation of a rank's work in a step as a share of the step, half of its variance being the same
    within a step; one piece of work in 500 is a hiccup of 10 % of a step. Each collective of a step is of the world,
    or, `repeated`, of a group of its own of all ranks; or, in a `grid` with so many columns, of the rows but the step's
    last, of the columns. `late` ranks work longer by `share` of a
    step, from the part `onset` of the steps on; in a `sporadic` job in each 20th step on average and then 20 times as
    much. `slow_link`: the messages that this rank sends take that much longer. `stalls`: the share of pieces of work
    that are held up, by four steps in the mean.
    """

    ranks: int = 4
    machines: int = 1
    steps: int = 150
    collectives: int = 3
    jitter: float = 0.02
    late: tuple[int, ...] = ()
    share: float = 0.0
    sporadic: bool = False
    pipeline: bool = False
    slow_link: int | None = None
    repeated: bool = False
    grid: int = 0
    micro_batches: int = 0
    onset: float = 0.0
    stalls: float = 0.0


def release(random: np.random.Generator, ranks: int) -> Numbers:
    """By how much ranks leave a collective after its end."""
    return random.exponential(20_000, ranks).astype(np.int64)


def columns_of(start: Numbers, wait: Numbers, steps: int | None = None) -> CallColumns:
    """Synchronous calls, steps by calls, from `start` to `wait`; `steps` where they are not apart."""
    steps = len(start) if steps is None else steps
    start, wait = start.ravel(), wait.ravel()
    none = np.full(len(start), NONE)
    return CallColumns(
        shape=np.zeros(len(start), np.int64),
        sequence=np.arange(len(start)),
        step=np.arange(len(start)) // (len(start) // steps),
        thread=np.ones(len(start), np.int64),
        issued=start,
        start=start,
        begin=start,
        end=wait,
        wait_begin=start,
        wait_end=wait,
        wait_thread=np.ones(len(start), np.int64),
        peer=none,
        batch=none,
    )


def recording_of(job: SimulatedJob, rank: int, shapes: list[CallShape], columns: CallColumns) -> Recording:
    """What a rank recorded."""
    boot = str(rank // (job.ranks // job.machines))
    head = Meta(
        rank=rank, world=job.ranks, job="j", boot=boot, script="s", epoch_ns=0, perf_ns=0, step=0, hook="native"
    )
    ends = columns.wait_end.reshape(job.steps, -1)[:, -1]
    return Recording(
        path=Path("simulated"),
        rank=rank,
        world=job.ranks,
        job="j",
        boot=boot,
        meta=head,
        shapes=tuple(shapes),
        columns=columns,
        steps=tuple((step, end + 1) for step, end in enumerate(ends.tolist())),
        offsets=((0, 0, 20_000), (int(ends[-1]), 0, 20_000)),
        errors=(),
        unseen=(),
        lost=(),
        no_operators=None,
        nccl=None,
        ended=True,
        failed=False,
        first_step=0,
        cut=False,
        dropped=0,
    )


def group_of(ranks: range, order: int) -> Group:
    """A group of gloo's."""
    return Group("0", "default_pg", tuple(ranks), "gloo", order)


def shape_of(op: str, kind: str, group: Group) -> CallShape:
    """Calls of 1 MiB."""
    data = {"input_bytes": _BYTES, "output_bytes": _BYTES, "dtype": "float32", "reduction": "SUM", "in_splits": ()}
    place = {"root": None, "peer": None, "tag": 0, "stream": None, "line": ""}
    return CallShape(op=op, kind=kind, group=group, is_async=False, **data, **place)  # type: ignore[arg-type]
