"""What a native schedule of 1024 ranks costs to build, verify and retime: `python -m hocket.bench.native_schedules`.

Prints processor seconds of this process and the peak of its memory.
"""

import time

from hocket.base.memory import peak_rss_bytes
from hocket.bench.command_line import command_line
from hocket.schedule import Collective, Kind, lower_bound, retime, verify
from hocket.schedule.algorithms import build
from hocket.topology import load


def main() -> None:
    topology = load("mesh:32x32,bandwidth=50GB/s,latency=500ns")
    collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, 2**30)
    before = time.process_time()

    def lap(what: str) -> None:
        nonlocal before
        now = time.process_time()
        print(f"{what:<16} {now - before:6.2f} s")
        before = now

    schedule = build("ring", collective, topology)
    lap("build ring")
    print(verify(schedule).describe())
    lap("verify untimed")
    timed = retime(schedule)
    lap("retime")
    print(verify(timed).describe())
    lap("verify timed")
    bound = lower_bound(collective, topology)
    lap("lower bound")
    print(f"time / bound     {timed.time_ps / bound.time_ps:6.2f}   ({bound.reason})")
    print(f"peak memory      {peak_rss_bytes() / 2**20:6.0f} MiB")


if __name__ == "__main__":
    command_line().parse_args()
    main()
