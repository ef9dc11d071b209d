"""Jobs whose recording is known to the picosecond: the times at which they run on a network."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from in_process import hocket

from hocket.chakra import CollectiveType, TraceBuilder, TraceSet, write_traces
from hocket.chakra.trace import NodeType
from hocket.simulator import simulate_traces
from hocket.topology import load

__all__ = ["of_rank_0", "one_message", "pairs_of_four", "run_on", "steps_of_two", "validated"]


def steps_of_two(steps: int, *, first: int = 0, told: bool = True, sizes: Sequence[int] = (2_000, 200_000)) -> TraceSet:
    """The traces of two ranks that do so many steps, of which the traces tell or not: computation, and all_reduces of
    these inputs."""
    builders = []
    for work_ns in (20_000, 50_000):
        builder = TraceBuilder()
        last: tuple[int, ...] = ()
        for step in range(first, first + steps):
            if told:
                builder.begin_step(step)
            last = (builder.add_comp("forward", duration_ns=work_ns, deps=last),)
            for size in sizes:
                last = (builder.add_collective("gradients", CollectiveType.ALL_REDUCE, size, deps=last),)
        builders.append(builder)
    return TraceSet(tuple(builder.build() for builder in builders))


def run_on(topology: str, traces: TraceSet, folder: Path, *, clocks_us: Sequence[int] = ()) -> Path:
    """Writes the traces with the times at which they would run on the topology as recorded, each rank's by a clock that
    is so far ahead; the path of them."""
    truth = simulate_traces(traces, load(topology))
    made = []
    for rank, trace in enumerate(traces.traces):
        rows = slice(int(truth.workload.rank_offset[rank]), int(truth.workload.rank_offset[rank + 1]))
        start, finish = truth.node_start_ps[rows] // 1000, truth.node_finish_ps[rows] // 1000
        order = np.argsort(trace.id, kind="stable")
        start_us, duration = np.zeros(len(trace), np.uint64), np.zeros(len(trace), np.int64)
        start_us[order] = start // 1000 + (clocks_us[rank] if clocks_us else 0)
        duration[order] = finish - start // 1000 * 1000
        duration[trace.type == NodeType.COMP] = trace.duration_ns[trace.type == NodeType.COMP]
        made.append(replace(trace, start_us=start_us, duration_ns=duration))
    write_traces(folder / "traces", replace(traces, traces=tuple(made)))
    return folder / "traces"


def of_rank_0(traces: Path, folder: Path) -> Path:
    """The job of two ranks that is made of the traces' rank 0 alone; the path of it."""
    (folder / "one").mkdir()
    (folder / "one" / "trace.0.et").write_bytes((traces / "trace.0.et").read_bytes())
    made = hocket("trace", "complete", folder / "one", "--world", 2, "-o", folder / "job")
    assert made.returncode == 0, made.stderr
    return folder / "job"


def validated(traces: Path, *options: str) -> dict[str, Any]:
    """What `hocket validate` writes as JSON."""
    done = hocket("validate", traces, *options, "--json", "-")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def pairs_of_four(steps: int) -> TraceSet:
    """The traces of four ranks that do so many steps: all_reduces of pairs and of all."""
    builders = []
    for rank in range(4):
        builder = TraceBuilder()
        last: tuple[int, ...] = ()
        for step in range(steps):
            builder.begin_step(step)
            last = (builder.add_comp("forward", duration_ns=20_000, deps=last),)
            for group, size in ((f"pair.{rank // 2}", 200_000), ("all", 300_000)):
                last = (builder.add_collective("sum", CollectiveType.ALL_REDUCE, size, group=group, deps=last),)
        builders.append(builder)
    groups = {"pair.0": (0, 1), "pair.1": (2, 3), "all": (0, 1, 2, 3)}
    return TraceSet(tuple(builder.build() for builder in builders), groups)


def one_message() -> TraceSet:
    """The traces of two ranks, of which the first sends something to the second."""
    builders = []
    for rank in range(2):
        builder = TraceBuilder()
        work = builder.add_comp("forward", duration_ns=50_000)
        (builder.add_recv if rank else builder.add_send)("activations", 100_000, src=0, dst=1, deps=[work])
        builders.append(builder)
    return TraceSet(tuple(builder.build() for builder in builders))
