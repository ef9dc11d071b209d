"""What NCCL's rings take when interpreters run them, by the simulator, over what NCCL's own model says.

Example: python -m hocket.bench.interpreter_costs --topology dgx-h100 dgx-a100

Both count with the same launch, steps and links; NCCL adds latency and bytes up, the simulator plays every message.
"""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from hocket.bench.command_line import command_line
from hocket.nccl.names import PROTOCOLS
from hocket.nccl.programs import NcclProgram, nccl_program
from hocket.nccl.programs.spec import model_of
from hocket.schedule import NVIDIA
from hocket.simulator import simulate_program
from hocket.topology import load
from hocket.translator.interpreter_costs import protocols_on

__all__ = ["main", "rows"]

_SIZES = tuple(3 << power for power in (15, 17, 19, 21, 23, 26))
_MOST_LL = 4 << 20  # NCCL takes LL for small messages alone
_US = 10**6  # ps

_Row = tuple[str, str, int, float, float]


def rows(specs: Sequence[str]) -> Iterator[_Row]:
    """Topology, protocol, bytes, what NCCL's model says and what the program takes (us)."""
    for spec in specs:
        topology = load(spec)
        model, protocols = model_of(topology.name, topology.num_ranks), protocols_on(NVIDIA, topology)
        for protocol in PROTOCOLS:
            for size in _SIZES:
                if protocol == "LL" and size > _MOST_LL:
                    continue
                found = nccl_program(model, "AllReduce", size, "Ring", protocol)
                assert isinstance(found, NcclProgram)  # rings are programs of sends and receives
                program = found.program
                whole = -(-size // program.chunks_per_loop) * program.chunks_per_loop
                terms = model.terms("AllReduce", whole)
                said = next(one.time_us for one in terms if (one.algorithm, one.protocol) == ("Ring", protocol))
                taken = simulate_program(program, topology, whole, protocols=protocols).time_ps / _US
                yield spec, protocol, whole, said, taken


def main(specs: Sequence[str]) -> None:
    """Prints the table."""
    table = Table(box=None, title="all_reduce by NCCL's rings")
    for name in ("topology", "protocol", "KiB", "NCCL's model us", "program us", "ratio"):
        table.add_column(name, justify="left" if name in ("topology", "protocol") else "right")
    for spec, protocol, size, said, taken in rows(specs):
        table.add_row(spec, protocol, str(size >> 10), f"{said:.1f}", f"{taken:.1f}", f"{taken / said:.2f}")
    Console().print(table)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--topology", nargs="+", default=["dgx-h100", "dgx-a100"])
    main(parser.parse_args().topology)
