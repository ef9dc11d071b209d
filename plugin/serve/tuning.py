"""Measures what could serve a call: each candidate alike, on all ranks together."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from hocket.plugin.serve.bypass import stock_alone

__all__ = ["agreed_times", "median_ns"]

_WARM_UPS = 3
#: In a graph, so that what its launch takes is shared by some.
_CALLS_OF_GRAPH = 10


def median_ns(
    run: Callable[[], None], group: dist.ProcessGroup, device: torch.device, in_graph: bool, repetitions: int
) -> int:
    """Of a call on this rank. `in_graph`: as it is replayed, which inference engines do; else a device's calls are
    timed by its own events, and the host's by the host."""
    for _ in range(_WARM_UPS):
        run()
    if device.type == "cpu":
        with stock_alone():
            dist.barrier(group)
        times: list[float] = [_host_ns(run) for _ in range(repetitions)]
    else:
        times = _device_times(run, device, in_graph, repetitions)
    return round(median(times))


def agreed_times(times_ns: list[int], group: dist.ProcessGroup, device: torch.device) -> list[int]:
    """For each candidate that of the slowest rank: a collective is done when all are."""
    slowest = torch.tensor(times_ns, dtype=torch.int64, device=device)
    with stock_alone():
        dist.all_reduce(slowest, dist.ReduceOp.MAX, group)
    return [int(value) for value in slowest.tolist()]


def _host_ns(run: Callable[[], None]) -> int:
    begin = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - begin


def _device_times(run: Callable[[], None], device: torch.device, in_graph: bool, repetitions: int) -> list[float]:
    module: Any = getattr(torch, device.type)  # torch.cuda
    calls, issue = 1, run
    if in_graph:
        graph = module.CUDAGraph()
        module.synchronize(device)
        with module.graph(graph):
            for _ in range(_CALLS_OF_GRAPH):
                run()
        calls, issue = _CALLS_OF_GRAPH, graph.replay
        issue()
    marks = []
    for _ in range(repetitions):
        begin, end = module.Event(enable_timing=True), module.Event(enable_timing=True)
        begin.record()
        issue()
        end.record()
        marks.append((begin, end))
    module.synchronize(device)
    return [begin.elapsed_time(end) * 1e6 / calls for begin, end in marks]
