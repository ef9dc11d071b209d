"""Reading a Chakra trace: Hocket's columns against Python protobuf, on the same file in the same run.

Example: python -m hocket.bench.chakra_read --nodes 200000
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hocket.base import processes
from hocket.base.memory import peak_rss_bytes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line
from hocket.chakra import CollectiveType, TraceBuilder, read_trace, write_trace
from hocket.chakra.messages import read_messages
from hocket.chakra.trace import Trace

__all__ = ["main", "make_trace"]


def make_trace(num_nodes: int, num_names: int) -> Trace:
    """A trace with 6 or 7 fields and 2 to 5 attributes per node, and `num_names` different node names."""
    builder = TraceBuilder({"schema": "1.0.0", "rank": 0, "world_size": 8})
    for node in range(num_nodes):
        name = f"model.layers.{node % num_names}.op"
        deps = [node - 1, node - 2] if node > 1 else []
        common: dict[str, Any] = {"start_us": 40 * node, "duration_ns": 1000 * (5 + node % 900), "deps": deps}
        if node % 10 < 6:
            builder.add_comp(name, num_ops=10**6 + node, tensor_bytes=4096 + node, **common)
        elif node % 10 < 9:
            kind = CollectiveType.ALL_REDUCE if node % 2 else CollectiveType.ALL_GATHER
            builder.add_collective(name, kind, 1 << 20, group=str(node % 7 + 1), **common)
        else:
            builder.add_send(name, 1 << 16, src=0, dst=node % 7 + 1, tag=node % 100, **common)
    return builder.build()


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """CPU time of the quickest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def measure(path: Path, num_nodes: int, names: str) -> None:
    """Prints the table for one file."""
    size = path.stat().st_size
    print(f"{num_nodes} nodes, {size / 1e6:.1f} MB, {names}")
    before = peak_rss_bytes()
    trace = read_trace(path)
    grown = peak_rss_bytes() - before
    columns = sum(column.nbytes for column in vars(trace).values() if hasattr(column, "nbytes"))
    seconds = {
        "hocket columns": best_seconds(lambda: read_trace(path), 9),
        "protobuf messages": best_seconds(lambda: sum(1 for _ in read_messages(path)), 3),
    }
    for reader, cpu in seconds.items():
        speed = f"{num_nodes / cpu / 1e6:6.2f} M nodes/s {size / cpu / 1e6:6.0f} MB/s"
        print(f"  {reader:18} {cpu * 1e3:8.1f} ms CPU {speed}")
    ratio = seconds["protobuf messages"] / seconds["hocket columns"]
    print(
        f"  ratio {ratio:.1f}x; columns {columns / num_nodes:.0f} B a node; first read: {grown / 1e6:.0f} MB resident"
    )


def main() -> None:
    """Writes the files, reads them both ways, prints the speeds."""
    parser = command_line()
    parser.add_argument("--nodes", type=int, default=200_000)
    num_nodes = parser.parse_args().nodes
    with scratch_folder("bench") as folder:
        files = {"5000 different names": folder / "few.0.et", "every name different": folder / "all.0.et"}
        for path, num_names in zip(files.values(), (5000, num_nodes), strict=True):
            write_trace(path, make_trace(num_nodes, num_names))
        for names, path in files.items():
            # A process of its own: the peak memory is then that of reading.
            with processes.worker_pool(1) as pool:
                pool.submit(measure, path, num_nodes, names).result()


if __name__ == "__main__":
    main()
