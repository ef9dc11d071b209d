"""The translator at scale: CPU seconds and memory to lower, write, read and prove a ring all_reduce as JSON.

Example: python -m hocket.bench.translator_scale --ranks 1024

A ring of 1024 ranks has 2 * 1024 * 1023 = 2095104 transfers. The reference ring of 64 ranks in
`../shared/data/msccl_xml` beside the checkout is read and proved too, where present.
"""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.base.memory import peak_rss_bytes
from hocket.bench.command_line import command_line
from hocket.schedule import FIFO_DEPTH, Collective, Kind, execute
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import PROFILES, Profile, from_program_json, from_xml, lower, read_document, to_program_json
from hocket.translator.msccl.rules import check

__all__ = ["main"]

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "msccl_xml"
REFERENCE = FOLDER / "az_msccl_tools" / "allreduce_ring_64g_ch1_i1_simple.xml"


class _Clock:
    def __init__(self, title: str) -> None:
        self.table = Table("what", "CPU s", "peak GB", box=None, title=title)
        self._before = time.process_time()

    def lap(self, what: str) -> None:
        seconds = time.process_time() - self._before
        peak = peak_rss_bytes() / 1e9
        self.table.add_row(what, f"{seconds:.2f}", f"{peak:.2f}")
        self._before = time.process_time()


def _reading(content: bytes) -> Table:
    """MB/s of the tokenizer alone, with all rules of a runtime, and to a program; each the best of ten."""
    table = Table("XML", "MB per CPU s", box=None)

    def add(what: str, read: Callable[[], object]) -> None:
        seconds = []
        for _ in range(10):
            before = time.process_time()
            read()
            seconds.append(time.process_time() - before)
        table.add_row(what, f"{len(content) / 1e6 / min(seconds):.0f}")

    add("read as columns", lambda: read_document(content, REFERENCE.name))
    for name, profile in PROFILES.items():
        add(f"all rules of {name}", partial(_check, content, profile))
    add("to a program", lambda: from_xml(content, REFERENCE.name))
    return table


def _check(content: bytes, profile: Profile) -> None:
    list(check(read_document(content, REFERENCE.name), profile))


def main(ranks: int, topology: str, chunks: int) -> None:
    """Prints a row for each thing done."""
    if REFERENCE.is_file():
        content = REFERENCE.read_bytes()
        Console(width=120).print(_reading(content))
        clock = _Clock(REFERENCE.name)
        program = from_xml(content, REFERENCE.name)
        clock.lap(f"read {len(content) / 1e6:.1f} MB of XML")
        proof = execute(program, fifo_depth=FIFO_DEPTH[program.protocol], max_count=1)
        clock.lap(f"prove {proof.messages} messages")
        Console(width=120).print(clock.table)
    collective = Collective(Kind.ALL_REDUCE, ranks, 1 << 26, chunks)
    schedule = build("ring", collective, load(f"{topology},bandwidth=50GB/s,latency=500ns"))
    clock = _Clock(f"ring all_reduce of {schedule.num_transfers} transfers on {topology}")
    program = lower(schedule, "json")
    clock.lap("lower")
    text = to_program_json(program)
    clock.lap(f"write {len(text) / 1e6:.0f} MB of JSON")
    again = from_program_json(text, "text")
    clock.lap("read")
    proof = execute(again, fifo_depth=1, max_count=1)
    clock.lap(f"prove {proof.messages} messages")
    Console(width=120).print(clock.table)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--topology", help="default: a ring of the ranks")
    parser.add_argument("--chunks", type=int, default=1, help="per rank")
    arguments = parser.parse_args()
    main(arguments.ranks, arguments.topology or f"ring:{arguments.ranks}", arguments.chunks)
