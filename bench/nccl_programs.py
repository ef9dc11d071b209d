"""What simulated calls of NCCL's algorithms take, over what NCCL's model expects.

Example: python -m hocket.bench.nccl_programs --topology dgx_h100.xml dgx_b200.xml --nodes 1 2 4 16

A call alone, under the congestion model, on machines whose NVSwitches and fabric compute. A row is what can run:
an algorithm and a protocol.
"""

import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket.base.units import format_bytes, parse_bytes
from hocket.bench.command_line import command_line
from hocket.nccl import NcclModel, Term, read_settings
from hocket.nccl.programs import KINDS, PROGRAMS, nccl_program
from hocket.schedule import Kernel
from hocket.simulator import simulate_kernel, simulate_program
from hocket.topology import Topology
from hocket.topology.formats.nccl.read import read_nccl_topology
from hocket.topology.machines.nccl_topology import from_nccl

__all__ = ["main"]


def main() -> None:
    parser = command_line()
    parser.add_argument("--topology", type=Path, nargs="+", required=True, help="NCCL's topology files")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4], help="machines of each job")
    parser.add_argument("--collective", choices=list(KINDS), default="AllReduce")
    parser.add_argument("--algorithm", choices=list(PROGRAMS), nargs="+", default=list(PROGRAMS))
    parser.add_argument("--size", type=parse_bytes, nargs="+", default=[2**20, 2**24, 2**28])
    arguments = parser.parse_args()
    began = time.process_time()
    table = Table("machines", arguments.collective, *map(format_bytes, arguments.size))
    for path in arguments.topology:
        for nodes in arguments.nodes:
            model, topology = machines(path, nodes)
            for term in runnable(model, arguments.collective, arguments.algorithm):
                ratios = [simulated_us(model, topology, arguments.collective, size, term) for size in arguments.size]
                cells = [
                    f"{time_us:.1f} us, {time_us / expected_us(model, arguments.collective, size, term):.2f}"
                    for size, time_us in zip(arguments.size, ratios, strict=True)
                ]
                table.add_row(f"{nodes} x {path.stem}", f"{term.algorithm}/{term.protocol}", *cells)
    Console(width=160).print(table)
    print(f"{time.process_time() - began:.0f} s of processor time")


def machines(path: Path, nodes: int) -> tuple[NcclModel, Topology]:
    """With all that computes, where it can."""
    machine = read_nccl_topology(path)
    computes = min(gpu.sm for _, gpu in machine.gpus()) >= 90
    settings = read_settings(["NCCL_COLLNET_ENABLE=1"])
    return NcclModel(machine, nodes, settings), from_nccl(machine, nodes, nvls=computes, sharp=nodes > 1)


def runnable(model: NcclModel, collective: str, algorithms: list[str]) -> Iterator[Term]:
    for term in model.terms(collective, 2**20):
        if not term.out and term.algorithm in algorithms:
            yield term


def simulated_us(model: NcclModel, topology: Topology, collective: str, size: int, term: Term) -> float:
    found = nccl_program(model, collective, size, term.algorithm, term.protocol)
    if isinstance(found, Kernel):
        return simulate_kernel(found, topology).time_ps / 1e6
    return simulate_program(found.program, topology, size, passes=found.passes).time_ps / 1e6


def expected_us(model: NcclModel, collective: str, size: int, like: Term) -> float:
    terms = model.terms(collective, size)
    return next(term.time_us for term in terms if (term.algorithm, term.protocol) == (like.algorithm, like.protocol))


if __name__ == "__main__":
    main()
