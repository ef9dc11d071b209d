"""How many message-hops the simulator works off per second of CPU time on one core, and in how much memory.

Run: python -m hocket.bench.simulator_speed
"""

import time

from hocket.base.memory import peak_rss_bytes
from hocket.base.units import format_bytes, format_time
from hocket.bench.command_line import command_line
from hocket.schedule import Kind
from hocket.schedule.algorithms import pattern
from hocket.simulator import Fidelity
from hocket.simulator.collective_plan import CollectivePlan
from hocket.simulator.engine_run import engine_job, run_engine
from hocket.simulator.models import Model
from hocket.simulator.workload import CollectiveCall, single_call
from hocket.topology import Topology, load, routing_of

CASES = [
    (Kind.ALL_REDUCE, "ring", "ring:1024,bandwidth=50GB/s,latency=500ns"),
    (Kind.ALL_REDUCE, "ring", "torus:32x32,bandwidth=50GB/s,latency=500ns"),
    (Kind.ALL_REDUCE, "halving_doubling", "torus:32x32,bandwidth=50GB/s,latency=500ns"),
    (Kind.ALL_TO_ALL, "direct", "torus:16x16,bandwidth=50GB/s,latency=500ns"),
    (Kind.ALL_TO_ALL, "direct", "switch:512,bandwidth=50GB/s,latency=500ns"),
]
SIZE = 2**26
REPEATS = 3


def main() -> None:
    print(
        f"{'collective':<12} {'algorithm':<17} {'topology':<12} {'model':<11} {'predicted':>10} {'events':>9}"
        f" {'plan s':>7} {'run s':>7} {'events/s':>9} {'peak RSS':>9}"
    )
    for kind, algorithm, spec in CASES:
        topology = load(spec)
        call = CollectiveCall(kind, tuple(range(topology.num_ranks)), SIZE)
        start = time.process_time()
        plan = CollectivePlan(pattern(algorithm, call.collective, topology), algorithm)
        _ = plan.plan
        plan_s = time.process_time() - start
        for model in (Model.CONGESTION, Model.FLOW, Model.UNCONTENDED):
            _print_case(call, topology, plan, plan_s, model)
        start = time.process_time()
        steps = CollectivePlan(plan.source, algorithm, by_step=True)
        _ = steps.plan
        _print_case(call, topology, steps, time.process_time() - start, Model.ANALYTICAL)


def _print_case(call: CollectiveCall, topology: Topology, plan: CollectivePlan, plan_s: float, model: Model) -> None:
    job = engine_job(single_call(call, topology.num_ranks), topology, routing_of(topology))
    fidelity = Fidelity(model)
    run_s = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        outcome = run_engine(job, [plan], topology, fidelity)
        run_s = min(run_s, time.process_time() - start)
    print(
        f"{call.kind:<12} {plan.algorithm:<17} {topology.name.partition(',')[0]:<12} {model:<11}"
        f" {format_time(int(outcome.finish_ps.max())):>10} {outcome.events:9} {plan_s:7.2f} {run_s:7.3f}"
        f" {outcome.events / run_s / 1e6:7.1f} M {format_bytes(peak_rss_bytes()):>9}"
    )


if __name__ == "__main__":
    command_line().parse_args()
    main()
