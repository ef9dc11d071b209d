"""The Python API in one page: a topology, native algorithms, a synthesized schedule, its proof and its XML.

python examples/compare_algorithms.py mesh:4x4,bandwidth=50GB/s,latency=500ns
"""

import sys

from hocket.base.units import format_time, parse_bytes
from hocket.schedule import Collective, Kind, lower_bound, save, verify
from hocket.schedule.algorithms import ALGORITHMS
from hocket.simulator import simulate_collective
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import translate


def main() -> None:
    topology = load(sys.argv[1] if len(sys.argv) > 1 else "dgx-a100:nodes=2,gpus=2")
    collective = Collective(Kind.ALL_REDUCE, topology.num_ranks, parse_bytes("64MiB"), chunks_per_rank=4)

    bound = lower_bound(collective, topology)
    print(f"{'bound':<20}{format_time(bound.time_ps):>10}  {bound.reason}")
    for name in ("ring", "direct"):
        prediction = simulate_collective(collective, topology, name)
        print(f"{name:<20}{format_time(prediction.time_ps):>10}  {prediction.ratio:.3f} times the bound")
    schedule = synthesize(collective, topology)
    print(f"{'synthesized':<20}{format_time(schedule.time_ps):>10}  {schedule.time_ps / bound.time_ps:.3f} times")

    verify(schedule)
    save(schedule, "ar.schedule")
    translate(schedule, "ar.xml", "msccl")
    print(f"wrote ar.schedule and ar.xml; {len(ALGORITHMS)} native algorithms to compare with")


if __name__ == "__main__":
    main()
