"""Memory and speed of `hocket trace` on files of growing size: each verb runs as a process of its own, over a trace of
two ranks of which each is as large as asked for.

Example: python -m hocket.bench.trace_stream --megabytes 64 1024
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hocket.base import processes
from hocket.base.scratch import scratch_folder
from hocket.bench.command_line import command_line

__all__ = ["VERBS", "main"]

VERBS = {
    "info": "info {in}",
    "validate": "validate {in}",
    "convert": "convert {in} --profile mlcommons -o {out}",
    "slice-nodes": "slice {in} --nodes 10000:40000 -o {out}",
    "slice-time": "slice {in} --time 100ms:1s -o {out}",
    "slice-ranks": "slice {in} --ranks 1 -o {out}",
    "anonymize": "anonymize {in} -o {out}",
    "timeline": "timeline {in} -o {out}.json.gz",
    "to-json": "to-json {in}/trace.0.et",
}
_PIECE = 50_000  # nodes


class Used(NamedTuple):
    """What a process took: processor seconds (user and system) and peak resident bytes."""

    cpu: float
    peak: int


def write_rank(path: Path, rank: int, num_bytes: int) -> None:
    """A rank that computes, sums up among both and passes a message on, again and again, until the file is as large."""
    from hocket.chakra import CollectiveType, Trace, TraceBuilder
    from hocket.chakra.writing import write_blocks, write_trace

    builder = TraceBuilder({"rank": rank, "world_size": 2})
    while len(builder) < _PIECE:
        node = len(builder)
        before = [node - 1] if node else []
        name = f"model.layers.{node // 5 % 96}.attention.self.query_key_value"
        builder.add_comp(
            name, num_ops=10**6 + node, tensor_bytes=4096, start_us=40 * node, duration_ns=7500, deps=before
        )
        builder.add_collective("all_reduce", CollectiveType.ALL_REDUCE, 1 << 20, dtype="bfloat16", deps=[node])
        for add, source in ((builder.add_send, rank), (builder.add_recv, 1 - rank)):
            add("message", 1 << 16, src=source, dst=1 - source, tag=3, deps=[node])
        builder.add_comp("optimizer", duration_ns=9000, deps=[node + 1, node + 2, node + 3])
    piece = builder.build()
    one = path.with_name("piece.et")
    write_trace(one, piece)
    num_pieces = max(1, round(num_bytes / one.stat().st_size))
    one.unlink()

    def pieces() -> Iterator[Trace]:
        for number in range(num_pieces):
            yield replace(
                piece,
                id=piece.id + number * _PIECE,
                data_deps=piece.data_deps + number * _PIECE,
                start_us=piece.start_us + 40 * number * _PIECE,
            )

    write_blocks(path, pieces())


def run(arguments: list[str]) -> Used:
    """Runs `hocket trace` with these arguments, its output thrown away."""
    command = [sys.executable, "-m", "hocket", "trace", *arguments]
    with processes.started(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def main() -> None:
    """Writes the traces, runs the verbs over them, prints what they took."""
    parser = command_line()
    parser.add_argument("--megabytes", type=int, nargs="+", default=[32, 256], help="sizes of a rank's file")
    parser.add_argument(
        "--verbs", nargs="+", default=list(VERBS), choices=VERBS, metavar="VERB", help="of: %(choices)s"
    )
    parser.add_argument("--gzip", action="store_true", help="the files are .et.gz; the size is what they hold")
    arguments = parser.parse_args()
    print(f"{'':24}" + "".join(f"{megabytes:>12} MB a rank" for megabytes in arguments.megabytes))
    table: dict[str, list[Used]] = {}
    for megabytes in arguments.megabytes:
        with scratch_folder("bench") as folder:
            for rank in (0, 1):  # in a process of its own: a child's peak counts that of its parent
                path = folder / "in" / f"trace.{rank}.et{'.gz' if arguments.gzip else ''}"
                with processes.worker_pool(1) as pool:
                    pool.submit(write_rank, path, rank, megabytes * 10**6).result()
            known = {"in": str(folder / "in"), "out": str(folder / "out")}
            for verb in arguments.verbs:
                words = [word.format(**known) for word in VERBS[verb].split()]
                table.setdefault(verb, []).append(run(words))
    for verb, columns in table.items():
        cells = (f"{used.peak / 2**20:8.0f} MiB {used.cpu:6.1f} s" for used in columns)
        print(f"{verb:24}" + "  ".join(f"{cell:>19}" for cell in cells))


if __name__ == "__main__":
    main()
