"""What schedules too large to spell out cost: `python -m hocket.bench.folded_schedules`.

all_gather on square meshes, folded by both of their reflections; in rounds every chunk walks along its row, then along
all columns. Prints processor seconds of this process, and the peak of its memory until then.
"""

import time

import numpy as np

from hocket.base.memory import peak_rss_bytes
from hocket.base.scratch import scratch_folder
from hocket.base.units import format_bytes
from hocket.bench.command_line import command_line
from hocket.schedule import (
    Collective,
    FoldedSchedule,
    Kind,
    Phase,
    RoundShape,
    RoundSpool,
    Symmetry,
    load,
    save,
    verify,
)
from hocket.topology import load as load_topology

SIDES = (50, 100, 200)
CHUNK_BYTES = 1024


def walks(side: int) -> FoldedSchedule:
    """The schedule. Of the chunks that wait for a link in a column those of the nearest rank go first."""
    topology = load_topology(f"mesh:{side}x{side},bandwidth=50GB/s,latency=500ns")
    symmetry, n = Symmetry.flips(side, side), side * side
    links = np.flatnonzero(symmetry.home(topology.dst) == 0).astype(np.int32)
    src = topology.src[links].astype(np.int32)
    step = topology.dst[links] - src
    in_row = np.abs(step) == 1
    # So many ranks are behind the source on its line, as seen from the destination.
    place = np.where(in_row, src % side, src // side)
    behind = np.where(step > 0, place, side - 1 - place)
    length_ps = int(topology.latency_ps[0]) + -(-CHUNK_BYTES * 10**12 // int(topology.bandwidth[0]))
    with RoundSpool(RoundShape(len(links), n, length_ps), "walks") as spool:
        for distance in range(side - 1):
            able = np.flatnonzero(in_row & (behind >= distance)).astype(np.int32)
            spool.writer.take(distance, able, src[able] - step[able] * distance)
        for distance in range(side - 1):
            able = np.flatnonzero(~in_row & (behind >= distance)).astype(np.int32)
            row = (src[able] - step[able] * distance) // side * side
            for column in range(side):
                spool.writer.take(side - 1 + distance * side + column, able, row + np.int32(column))
        phase = Phase(np.arange(len(links) + 1), links, spool.finish())
    collective = Collective(Kind.ALL_GATHER, n, n * CHUNK_BYTES)
    return FoldedSchedule(collective, topology, symmetry, (phase,), True, None, "walks", None)


def main(sides: list[int]) -> None:
    print("| ranks | transfers | stored | file | make, s | save, s | load, s | verify, s | peak memory |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for side in sides:
        with scratch_folder("bench") as folder:
            path = folder / "walks.schedule"
            laps = [time.process_time()]
            schedule = walks(side)
            laps.append(time.process_time())
            save(schedule, path)
            laps.append(time.process_time())
            read = load(path)
            laps.append(time.process_time())
            report = verify(read)
            laps.append(time.process_time())
            row = [
                side**2,
                f"{report.num_transfers:.2e}",
                f"{schedule.num_representatives:.2e}",
                format_bytes(path.stat().st_size),
                *(f"{seconds:.2f}" for seconds in np.diff(laps)),
                format_bytes(peak_rss_bytes()),
            ]
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("sides", metavar="SIDE", nargs="*", type=int, default=list(SIDES), help="even sides of meshes")
    main(parser.parse_args().sides)
