"""Rates of Chakra traces on files: reading and writing."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from hocket.base.scratch import scratch_folder
from hocket.bench.speed.case import SpeedCase, Work
from hocket.chakra import CollectiveType, Trace, TraceBuilder, read_trace, write_trace

__all__ = ["CASES"]

_NAMES = 96
_FOLDERS = ExitStack()  # of the files, which are there until the process ends


def _trace(num_nodes: int) -> Trace:
    """Of a rank that computes, communicates and passes messages on."""
    builder = TraceBuilder({"schema": "1.0.0", "rank": 0, "world_size": 8})
    while (node := len(builder)) < num_nodes:
        deps = [node - 1] if node else []
        name = f"model.layers.{node % _NAMES}.attention"
        builder.add_comp(name, num_ops=10**6 + node, tensor_bytes=4096, start_us=40 * node, duration_ns=7500, deps=deps)
        builder.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 1 << 20, group="1", deps=[node])
        builder.add_send("message", 1 << 16, src=0, dst=1, tag=3, deps=[node + 1])
    return builder.build()


def _file(full: bool) -> tuple[Path, Trace]:
    folder = _FOLDERS.enter_context(scratch_folder("speed"))
    path, trace = folder / "trace.0.et", _trace(150_000 if full else 6_000)
    write_trace(path, trace)
    return path, trace


def _read(full: bool) -> Work:
    path, trace = _file(full)
    return Work(partial(read_trace, path), len(trace), path.stat().st_size)


def _write(full: bool) -> Work:
    path, trace = _file(full)
    return Work(partial(write_trace, path, trace), len(trace), path.stat().st_size)


CASES = (
    SpeedCase("parse", "trace nodes", "a Chakra trace read", _read),
    SpeedCase("write", "trace nodes", "a Chakra trace written", _write),
)
