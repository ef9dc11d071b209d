"""How long making and simulating a large training step takes, and in how much memory.

GPT-3 175B with tp 8 (and sequence parallelism), pp 8, 16 micro-batches and 1 to 16 data parallel replicas, ZeRO 1, on
DGX H100: CPU time of one process, and its peak memory so far.

Run: python -m hocket.bench.llm_step
"""

import resource
import time

from hocket.chakra.generate.accelerators import ACCELERATORS
from hocket.chakra.generate.llm import MODELS, Plan, llm_traces
from hocket.core.units import format_bytes, format_time
from hocket.simulator import simulate_traces
from hocket.topology import load

REPLICAS = (1, 2, 4, 8, 16)
MICRO_BATCHES = 16


def main() -> None:
    print(f"{'ranks':>5} {'nodes':>8} {'make s':>7} {'simulate s':>11} {'predicted':>10} {'ratio':>6} {'peak RSS':>10}")
    for replicas in REPLICAS:
        _print_step(replicas)


def _print_step(replicas: int) -> None:
    plan = Plan(
        tp=8, sequence_parallel=True, pp=8, dp=replicas, zero=1, global_batch=MICRO_BATCHES * replicas
    )  # fmt: skip
    start = time.process_time()
    traces = llm_traces(MODELS["gpt3-175b"], plan, ACCELERATORS["h100"])
    made = time.process_time()
    prediction = simulate_traces(traces, load(f"dgx-h100:nodes={plan.num_ranks // 8}"))
    simulated = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{plan.num_ranks:5} {sum(map(len, traces.traces)):8} {made - start:7.2f} {simulated - made:11.2f}"
        f" {format_time(prediction.time_ps):>10} {prediction.ratio:6.3f} {format_bytes(peak):>10}"
    )


if __name__ == "__main__":
    main()
