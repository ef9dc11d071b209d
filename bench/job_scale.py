"""What a training step costs to simulate on up to 65,536 ranks: one rank of each kind for all, and every rank.

Llama 3 70B on DGX H100 nodes, TP 8 x PP 8 x DP, ZeRO 1, 16 micro-batches; each point in a process of its own.

Run: python -m hocket.bench.job_scale
"""

import json
import sys
import time

from hocket.base import processes
from hocket.base.memory import peak_rss_bytes
from hocket.base.units import format_bytes, format_time
from hocket.bench.command_line import command_line
from hocket.chakra.roles import kinds_of_traces
from hocket.simulator import simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import MODELS, ParallelPlan, llm_traces

_GPUS_PER_NODE = 8
_FOLDED = (16, 64, 256, 1024)
_WHOLE = (16, 32, 64)  # the whole of 16,384 ranks would take some 10 GB
_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")


def measure(dp: int, folded: bool, algorithm: str) -> dict[str, float]:
    """Seconds to make the job and the topology, to simulate it, and what comes of it."""
    start = time.process_time()
    plan = ParallelPlan(tp=8, sequence_parallel=True, pp=8, dp=dp, zero=1, global_batch=16 * dp)
    traces = llm_traces(MODELS["llama3-70b"], plan, ACCELERATORS["h100"])
    topology = load(f"dgx-h100:nodes={plan.num_ranks // _GPUS_PER_NODE}")
    made = time.process_time()
    found = simulate_traces(traces, topology, algorithms=dict.fromkeys(_KINDS, algorithm), folded=folded)
    return {
        "ranks": plan.num_ranks,
        "nodes": sum(len(trace) * count for trace, count in kinds_of_traces(traces)),
        "rows": found.workload.num_ranks,
        "make_s": made - start,
        "simulate_s": time.process_time() - made,
        "time_ps": found.time_ps,
        "bound_ps": found.bound_ps,
        "peak_rss_bytes": peak_rss_bytes(),
    }


def _in_own_process(dp: int, folded: bool, algorithm: str) -> dict[str, float]:
    arguments = [sys.executable, "-m", __spec__.name, "--point", str(dp), str(int(folded)), algorithm]
    row: dict[str, float] = json.loads(processes.run(arguments, check=True, capture_output=True, text=True).stdout)
    return row


def main() -> None:
    parser = command_line()
    parser.add_argument("--point", nargs=3, metavar=("DP", "FOLDED", "ALGORITHM"), help="measure one point as JSON")
    options = parser.parse_args()
    if options.point:
        dp, folded, algorithm = options.point
        print(json.dumps(measure(int(dp), bool(int(folded)), algorithm)))
        return
    print(
        f"{'collectives by':<14} {'ranks':>6} {'simulated':>9} {'nodes':>11} {'make s':>7} {'simulate s':>10}"
        f" {'us/node':>8} {'peak RSS':>9}  a step"
    )
    for algorithm in ("library", "ring"):
        times: dict[float, set[float]] = {}
        for folded, points in ((True, _FOLDED), (False, _WHOLE)):
            for dp in points:
                if algorithm == "ring" and dp > max(_WHOLE):
                    continue  # a ring of 1,024 ranks sends 2 million messages for every bucket
                row = _in_own_process(dp, folded, algorithm)
                times.setdefault(row["ranks"], set()).add(row["time_ps"])
                print(
                    f"{algorithm:<14} {row['ranks']:6.0f} {row['rows']:9.0f} {row['nodes']:11.0f} {row['make_s']:7.2f}"
                    f" {row['simulate_s']:10.2f} {row['simulate_s'] / row['nodes'] * 1e6:8.3f}"
                    f" {format_bytes(int(row['peak_rss_bytes'])):>9}  {format_time(int(row['time_ps']))}",
                    flush=True,
                )
        if any(len(found) > 1 for found in times.values()):
            raise SystemExit("folded and whole jobs differ")
    print("folded and whole jobs of as many ranks take equally many picoseconds")


if __name__ == "__main__":
    main()
