"""Programs in place of gloo's algorithms on four processes: algbw of both, and their ratio.

Run: `python -m hocket.bench.executor`. First on this machine's loopback; then, where the machine lets this user make
network namespaces, on two machines' worth of them: ranks 0 and 2 in one, 1 and 3 in the other, joined by a trunk that
`tc` holds to an eighth of a rank's link. Gloo's ring follows the rank numbers and crosses the trunk at every hop; the
synthesized program knows the topology. Gloo's algorithm and the program take turns, call by call; a call's time is that
of its slowest rank. All processes share this machine's cores, so that other load changes the times, of both alike:
`best` and `median` are of the calls, `CPU` is the median of the processor time of all ranks together.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.base import processes
from hocket.base.errors import HocketError
from hocket.base.scratch import hand_over, scratch_folder
from hocket.base.units import format_bytes, parse_bytes
from hocket.bench.command_line import command_line
from hocket.bench.shaped_links import RANKS, TOPOLOGY, TwoMachines
from hocket.schedule import Collective, FoldedSchedule, Kind, Schedule, retime
from hocket.schedule.algorithms import build
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import Lowering, to_program_json
from hocket.translator.translate import lower_best

LOOPBACK = "fully_connected:4,bandwidth=1GB/s,latency=20us"
LARGEST = 1 << 26
CHUNKS = {Kind.BROADCAST: 16}


@dataclass(frozen=True)
class Case:
    """A program to measure: of a native algorithm, or synthesized where `algorithm` is None."""

    kind: Kind
    algorithm: str | None
    topology: str
    sizes: tuple[int, ...]

    def schedule(self, ranks: int = RANKS) -> Schedule:
        topology = load(self.topology)
        collective = Collective(self.kind, ranks, self.sizes[-1], CHUNKS.get(self.kind, 1))
        if self.algorithm is not None:
            return retime(build(self.algorithm, collective, topology))
        found = synthesize(collective, topology)
        return found.expand() if isinstance(found, FoldedSchedule) else found

    def write(self, folder: Path) -> None:
        """The program as a file."""
        in_place = self.kind in (Kind.ALL_REDUCE, Kind.BROADCAST)
        lowered = lower_best(self.schedule(), "json", Lowering(in_place=in_place))
        hand_over(folder / f"{self.kind}.json", to_program_json(lowered.program))


def measure(
    cases: Sequence[Case], prefixes: Sequence[Sequence[str]], place: Mapping[str, str]
) -> list[dict[str, dict[str, float]]]:
    """`Cost`s of `stock` and `program` for each size of each case, on a process per rank, started after its prefix."""
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, **place, "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS), "OMP_NUM_THREADS": "1"}
    with scratch_folder("bench") as folder:
        for case in cases:
            case.write(folder)
        calls = [f"{case.kind}:{size}" for case in cases for size in case.sizes]
        command = [sys.executable, "-m", "hocket.bench.executor_rank", str(folder), *calls]
        with ExitStack() as stack:
            ranks = [
                stack.enter_context(
                    processes.started(
                        [*prefix, *command],
                        env={**environment, "RANK": str(rank)},
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                    )
                )
                for rank, prefix in enumerate(prefixes)
            ]
            ends = [rank.communicate() for rank in ranks]
    for rank, (_, said) in zip(ranks, ends, strict=True):
        if rank.returncode:
            raise HocketError(f"a rank failed: {said.decode()[-2000:]}")
    found: list[dict[str, dict[str, float]]] = json.loads(ends[0][0])
    return found


def show(title: str, cases: Sequence[Case], prefixes: Sequence[Sequence[str]], place: Mapping[str, str]) -> None:
    columns = ["gloo best ms", "median", "CPU", "program best ms", "median", "CPU", "ratio best", "median", "CPU"]
    table = Table("collective", "program", "size", *columns, title=title, box=None)
    calls = [(case, size) for case in cases for size in case.sizes]
    for (case, size), costs in zip(calls, measure(cases, prefixes, place), strict=True):
        cells = [f"{seconds * 1e3:.2f}" for way in ("stock", "program") for seconds in costs[way].values()]
        ratios = [f"{costs['stock'][name] / costs['program'][name]:.2f}" for name in costs["stock"]]
        table.add_row(case.kind, case.algorithm or "synthesized", format_bytes(size), *cells, *ratios)
    Console(width=140).print(table)


def main() -> None:
    parser = command_line()
    parser.add_argument("--largest", default="64MiB", help="largest size on the loopback (64MiB)")
    largest = parse_bytes(parser.parse_args().largest)
    sizes = tuple(size for size in (1 << 14, 1 << 20, 1 << 22, LARGEST) if size <= largest)
    cases = [Case(Kind.ALL_REDUCE, "ring", LOOPBACK, sizes)]
    kinds = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.BROADCAST, Kind.ALL_TO_ALL)
    cases += [Case(kind, None, LOOPBACK, sizes[-1:]) for kind in kinds]
    show("loopback", cases, [[]] * RANKS, {"MASTER_ADDR": "127.0.0.1"})
    try:
        with scratch_folder("bench") as folder, TwoMachines() as machines:
            path = folder / "two_machines.yaml"
            hand_over(path, TOPOLOGY)
            shaped = [Case(Kind.ALL_REDUCE, None, str(path), (1 << 20, 1 << 22, 1 << 24))]
            show("two machines, shaped links", shaped, machines.prefixes, machines.environment)
    except HocketError as error:
        print(f"no shaped links here: {error}")


if __name__ == "__main__":
    main()
