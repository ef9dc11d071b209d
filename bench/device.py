"""The device interpreter: what its kernels take of a GPU, and its speed on this machine's cores beside the engine's.

Run: `python -m hocket.bench.device` (for the kernels NVRTC is needed: PyTorch for CUDA). `spilled`: bytes that a thread
keeps in memory for want of registers; a multiprocessor has 65,536 registers, so 128 for each of 512 lanes. The second
table is of an in-place ring all_reduce of float32 by 4 processes, both over memory that they share, in turns, five
times each: the least time, and the device's bandwidth over the engine's.
"""

from rich.console import Console
from rich.table import Table

from hocket.base.scratch import hand_over, scratch_folder
from hocket.base.units import format_bytes
from hocket.bench.command_line import command_line
from hocket.runtime.device.compiler import ARCHITECTURES, assemble, compiler_version
from hocket.runtime.device.source import ELEMENTS
from hocket.runtime.engine.elements import REDUCTION_NUMBER
from hocket.runtime.run import launch, prepare
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import lower, to_program_json

__all__ = ["main"]

RANKS = 4
SIZES = tuple(1 << power for power in range(10, 27, 2))
TURNS = 5
TRANSPORTS = ("shm", "device")
_TIMEOUT_S = 300.0


def main() -> None:
    console = Console(width=120)
    if compiler_version() is not None:
        console.print(_kernels())
    console.print(_speed())


def _kernels() -> Table:
    table = Table(title=f"the kernel for sums, by NVRTC {compiler_version()}")
    table.add_column("type")
    for architecture in ARCHITECTURES:
        for what in ("registers", "spilled"):
            table.add_column(f"{architecture} {what}", justify="right")
    for element in ELEMENTS:
        made = [assemble(architecture, element, REDUCTION_NUMBER["sum"]) for architecture in ARCHITECTURES]
        table.add_row(element, *[str(value) for one in made for value in (one.registers, one.spilled)])
    return table


def _speed() -> Table:
    topology = load(f"ring:{RANKS},bandwidth=50GB/s,latency=500ns")
    schedule = build("ring", Collective(Kind.ALL_REDUCE, RANKS, SIZES[-1], RANKS), topology)
    least: dict[tuple[str, int], int] = {}
    with scratch_folder("bench") as folder:
        path = folder / "ring.json"
        hand_over(path, to_program_json(lower(schedule, "executor")))
        for _ in range(TURNS):
            for transport in TRANSPORTS:
                for row in launch(prepare(path, transport, RANKS, SIZES), _TIMEOUT_S):
                    assert row.in_place is not None and row.in_place.wrong == 0
                    key = transport, row.size_bytes
                    least[key] = min(least.get(key, row.in_place.time_ps), row.in_place.time_ps)
    table = Table("size", "engine us", "device us", "ratio", title=f"ring all_reduce of {RANKS} processes")
    for size in SIZES:
        engine, device = (least[transport, size] for transport in TRANSPORTS)
        table.add_row(format_bytes(size), f"{engine / 1e6:.0f}", f"{device / 1e6:.0f}", f"{engine / device:.2f}")
    return table


if __name__ == "__main__":
    command_line().parse_args()
    main()
