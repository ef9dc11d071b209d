"""CPU seconds to lower schedules of 64 GPUs, and to make a folder of programs ready on CPU threads.

Example: python -m hocket.bench.lowering

Native schedules of 64 MiB on 8 machines of 8 GPUs, each lowered in all ways that `translate --to` tries, the best of
`--repeat`. Ready: 20 programs read, proved, wired, and one rank's tables and window made; without what Python imports.
"""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from pathlib import Path

from rich.console import Console
from rich.table import Table

from hocket._core import device as native
from hocket.base.errors import HocketError
from hocket.base.scratch import hand_over, scratch_folder
from hocket.bench.command_line import command_line
from hocket.runtime.device.wiring import Wiring
from hocket.runtime.engine.library import read_library
from hocket.schedule import Collective, Kind
from hocket.schedule.algorithms import build
from hocket.topology import load
from hocket.translator import Lowering, lower, lower_best, to_xml

__all__ = ["main"]

TOPOLOGY = "dgx-h100:nodes=8"
KINDS = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL)
ALGORITHMS = ("ring", "direct", "hierarchical")
RUNTIMES = ("device", "msccl")
PROGRAMS = 20
_SIZE = 64 << 20


def main(repeat: int) -> None:
    """Prints both tables."""
    console = Console(width=120)
    console.print(_lowered(repeat))
    console.print(_ready(repeat))


def _lowered(repeat: int) -> Table:
    table = Table(box=None, title=f"CPU s to lower for 64 ranks of {TOPOLOGY}, 64 MiB")
    for name in ("algorithm", "collective", "transfers"):
        table.add_column(name)
    for runtime in RUNTIMES:
        table.add_column(runtime, justify="right")
    topology = load(TOPOLOGY)
    for kind, algorithm in product(KINDS, ALGORITHMS):
        try:
            schedule = build(algorithm, Collective(kind, topology.num_ranks, _SIZE), topology)
        except HocketError:
            continue  # an algorithm that is none for this collective
        seconds = [_least(repeat, partial(lower_best, schedule, runtime)) for runtime in RUNTIMES]
        table.add_row(algorithm, str(kind), str(schedule.num_transfers), *(f"{each:.2f}" for each in seconds))
    return table


def _ready(repeat: int) -> Table:
    table = Table(box=None, title=f"{PROGRAMS} programs, from their files to ready on CPU threads")
    for name in ("ranks", "KiB", "CPU s"):
        table.add_column(name, justify="right")
    for ranks in (4, 8):
        with scratch_folder("bench") as folder:
            for number, text in enumerate(islice(_programs(ranks), PROGRAMS)):
                hand_over(folder / f"{number:02}.xml", text)
            size = sum(path.stat().st_size for path in folder.iterdir())
            seconds = _least(repeat, partial(_make_ready, folder))
            table.add_row(str(ranks), str(size >> 10), f"{seconds:.2f}")
    return table


def _programs(ranks: int) -> Iterator[str]:
    topology = load(f"dgx-h100:gpus={ranks}")
    for kind, algorithm in product(KINDS, ("ring", "direct", "halving_doubling", "recursive_doubling", "pairwise")):
        try:
            schedule = build(algorithm, Collective(kind, ranks, _SIZE), topology)
        except HocketError:
            continue
        for protocol, instances in product(("Simple", "LL"), (1, 4)):
            program = lower(schedule, "device", Lowering(protocol=protocol, instances=instances, slots=2))
            yield to_xml(program, "device")


def _make_ready(folder: Path) -> native.Threads:
    library = read_library(str(folder))
    wiring = Wiring.of([algorithm.program for algorithm in library.algorithms])
    for number, algorithm in enumerate(library.algorithms):
        wiring.tables(number, 0, algorithm.part(0))
    window = wiring.window()
    windows = [native.SharedWindow(window.bytes) for _ in range(wiring.num_ranks)]
    addresses, processes = [each.address for each in windows], [os.getpid()] * wiring.num_ranks
    return native.Threads(0, addresses, processes, window, wiring.most_blocks, None, 1, None)


def _least(repeat: int, work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(repeat):
        before = time.process_time()
        work()
        seconds.append(time.process_time() - before)
    return min(seconds)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--repeat", type=int, default=2)
    main(parser.parse_args().repeat)
