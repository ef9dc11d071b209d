"""What each network model makes of the same all_reduce on 64 ranks (links of 50 GB/s and 500 ns): where they part.

Run: python -m hocket.bench.fidelity_ladder [--ranks 64] [--limit 60] [--csv ladder.csv] [--picture ladder.svg]

Packets have no headers to speak of (6 bytes, the least that ns-3 takes), so that all models carry the same bytes.
`stored` is with switches that store what they pass on, as ns-3's do. ns-3 is asked where it is installed
(docs/network-models.md#ns-3), which takes a minute of 64 ranks, and many of 128: with `--limit` a number
that takes more seconds than that is left out, as `late`.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hocket.base.files import atomic_write, write_file
from hocket.base.units import format_bytes
from hocket.base.workers import Failed, Workers
from hocket.bench.command_line import command_line
from hocket.bench.drawing import bars
from hocket.bench.ladder_cells import CellTime, LadderCell, time_of
from hocket.simulator import Fidelity, Packets
from hocket.simulator.ns3 import found
from hocket.topology import Topology, load

__all__ = ["LEVELS", "Row", "ladder", "topologies"]

LINKS = "bandwidth=50GB/s,latency=500ns"
SIZES = (2**24, 2**16)
ALGORITHMS = ("ring", "halving_doubling", "direct")
_STORED = "store_and_forward"
_AS_NS3 = Packets(header=6, arbitration="fifo", buffer=2**30)
LEVELS = {
    "uncontended": Fidelity("uncontended"),
    "analytical": Fidelity("analytical"),
    "congestion, stored": Fidelity("congestion", switching=_STORED),
    "congestion": Fidelity("congestion"),
    "flow": Fidelity("flow"),
    "packet": Fidelity("packet", packets=Packets(header=6)),
    "packet, stored": Fidelity("packet", switching=_STORED, packets=_AS_NS3),
    "ns3": Fidelity("ns3", packets=Packets(header=6)),
}


@dataclass(frozen=True)
class Row:
    """One all_reduce: its bound, what each level of the ladder that does it takes, and the levels that were late."""

    topology: str
    algorithm: str
    size_bytes: int
    bound_ps: int
    times: Mapping[str, CellTime]
    late: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """In a few letters."""
        topology, algorithm = re.split("[: ]", self.topology)[0], self.algorithm.partition("_")[0]
        return f"{topology} {algorithm} {format_bytes(self.size_bytes)}"

    def over(self, level: str, reference: str) -> float | None:
        """How many times as long a level takes as another one."""
        if level not in self.times or reference not in self.times:
            return None
        return self.times[level].time_ps / self.times[reference].time_ps


def topologies(ranks: int) -> list[Topology]:
    """A ring, a torus, a switch, and a fat tree whose four links up are one; `ranks` is a power of 2 from 32 up."""
    rows = 1 << (ranks.bit_length() - 1) // 2
    shapes = (f"ring:{ranks}", f"torus:{rows}x{ranks // rows}", f"switch:{ranks}")
    return [load(f"{shape},{LINKS}") for shape in shapes] + [_leaf_spine(ranks)]


def _leaf_spine(ranks: int) -> Topology:
    """Leaves of 16 hosts whose four links up are one of 200 GB/s: 4 to 1."""
    links = []
    for host in range(ranks):
        links += [(host, ranks + host // 16, 500_000, 50 * 10**9), (ranks + host // 16, host, 500_000, 50 * 10**9)]
    spine = ranks + ranks // 16
    for leaf in range(ranks, spine):
        links += [(leaf, spine, 500_000, 200 * 10**9), (spine, leaf, 500_000, 200 * 10**9)]
    return Topology.from_links("leaf-spine 4:1", ranks, links, num_switches=ranks // 16 + 1)


def ladder(
    topology: Topology, algorithm: str, size_bytes: int, levels: Mapping[str, Fidelity], workers: Workers | None = None
) -> Row:
    """What these levels make of an all_reduce, in a process of workers where these are given. One that cannot do it is
    left out; one that takes longer than workers may, or more memory than there is, is late."""
    plain = replace(topology)  # without the engine's form of it, which no process can hand to another
    cells = [LadderCell(plain, algorithm, size_bytes, fidelity) for fidelity in levels.values()]
    if workers is None:
        answers: Mapping[int, CellTime | Failed | None] = dict(enumerate(map(time_of, cells)))
    else:
        answers = dict(workers.answers(time_of, cells))
    found_times = {level: answers[at] for at, level in enumerate(levels)}
    times = {level: each for level, each in found_times.items() if isinstance(each, CellTime)}
    late = frozenset(level for level, each in found_times.items() if isinstance(each, Failed))
    bound_ps = max((each.bound_ps for each in times.values()), default=0)
    return Row(topology.name.partition(",")[0], algorithm, size_bytes, bound_ps, times, late)


def _width(level: str) -> int:
    return max(len(level), len("28758.0"))


def _line(row: Row, levels: Mapping[str, Fidelity]) -> str:
    cells = []
    for level in levels:
        found_time = row.times.get(level)
        none = "late" if level in row.late else "-"
        cells.append(none if found_time is None else f"{'!' * found_time.below_bound}{found_time.time_ps / 1e6:.1f}")
    size = format_bytes(row.size_bytes)
    shown = " ".join(f"{cell:>{_width(level)}}" for level, cell in zip(levels, cells, strict=True))
    return f"{row.topology:<15} {row.algorithm:<17} {size:>6} {row.bound_ps / 1e6:8.1f} {shown}"


def _write_csv(path: str, rows: list[Row], levels: Mapping[str, Fidelity]) -> None:
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["topology", "algorithm", "size_bytes", "bound_ps", *(f"{level}_ps" for level in levels)])
        for row in rows:
            times = [row.times[level].time_ps if level in row.times else "" for level in levels]
            writer.writerow([row.topology, row.algorithm, row.size_bytes, row.bound_ps, *times])


def _picture(rows: list[Row], levels: Mapping[str, Fidelity]) -> str:
    """Bars of how far each level is from packets, up from 1 % and down from it."""
    names = [level for level in levels if level not in ("packet", "congestion, stored")]
    apart = {level: [_apart(row.over(level, "packet")) for row in rows] for level in names}
    return bars([row.name for row in rows], apart, "all_reduce: % off packets (bars up: over 1 %)")


def _apart(over: float | None) -> float | None:
    """Per cent, of less than a hundredth none."""
    off = 0.0 if over is None else abs(over - 1) * 100
    return off if off >= 0.01 else None


def main() -> None:
    parser = command_line()
    parser.add_argument("--ranks", type=int, default=64, choices=(32, 64, 128), help="of the all_reduce")
    parser.add_argument("--limit", type=float, help="seconds that a number may take, else it is late; none by default")
    parser.add_argument("--csv", help="also write the times here")
    parser.add_argument("--picture", help="also draw here where the models part (.svg)")
    arguments = parser.parse_args()
    levels = {name: fidelity for name, fidelity in LEVELS.items() if name != "ns3" or found() is not None}
    names = " ".join(f"{level:>{_width(level)}}" for level in levels)
    print(f"{'topology':<15} {'algorithm':<17} {'size':>6} {'bound':>8} {names}")
    rows = []
    with Workers(1, arguments.limit) as limited:
        workers = limited if arguments.limit is not None else None
        for topology in topologies(arguments.ranks):
            for algorithm in ALGORITHMS:
                for size in SIZES:
                    rows.append(ladder(topology, algorithm, size, levels, workers))
                    print(_line(rows[-1], levels), flush=True)
    print("times in us; ! below the bound" + f"; late: more than {arguments.limit:g} s" * (workers is not None))
    for level in levels:
        spent = sum(row.times[level].cpu_s for row in rows if level in row.times)
        print(f"{level}: {spent:.1f} s of CPU time" + " beside ns-3's own process" * (level == "ns3"))
    if arguments.csv:
        _write_csv(arguments.csv, rows, levels)
    if arguments.picture:
        write_file(arguments.picture, _picture(rows, levels))


if __name__ == "__main__":
    main()
