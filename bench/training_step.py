"""What a simulated training step of a large model costs, and how that grows with ranks and with nodes.

Run: python -m hocket.bench.training_step [--plot FILE.html]
GPT-3 175B on DGX H100 machines, TP 8 x PP 8 x DP 2..16, ZeRO 1, 16 micro-batches a rank; then DP 4 with 4..32 of them.
Each point in a process of its own: CPU seconds, and the peak of its memory.
"""

import json
import sys
import time

from hocket.base import processes
from hocket.base.files import write_file
from hocket.base.memory import peak_rss_bytes
from hocket.base.units import format_bytes, format_time
from hocket.bench.command_line import command_line
from hocket.report import Figure, Section, render
from hocket.report.charts import Axis, Series, xy_chart
from hocket.simulator import Fidelity, simulate_traces
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import MODELS, ParallelPlan, llm_traces

_TP, _PP = 8, 8
_GPUS_PER_MACHINE = 8
_DP, _MICRO_BATCHES = 4, 16  # where the two series meet
_POINTS = [(dp, _MICRO_BATCHES) for dp in (2, _DP, 8, 16)] + [(_DP, micro_batches) for micro_batches in (4, 8, 32)]
_MODELS = ("congestion", "flow")

Row = dict[str, float]


def measure(dp: int, micro_batches: int, model: str) -> Row:
    """One point: nodes, seconds to generate and to simulate, prediction and memory."""
    start = time.process_time()
    plan = ParallelPlan(tp=_TP, sequence_parallel=True, pp=_PP, dp=dp, zero=1, global_batch=dp * micro_batches)
    traces = llm_traces(MODELS["gpt3-175b"], plan, ACCELERATORS["h100"])
    generated = time.process_time()
    topology = load(f"dgx-h100:nodes={plan.num_ranks // _GPUS_PER_MACHINE}")
    prediction = simulate_traces(traces, topology, fidelity=Fidelity(model))
    return {
        "ranks": plan.num_ranks,
        "micro_batches": micro_batches,
        "nodes": sum(map(len, traces.traces)),
        "collectives": len(prediction.collectives),
        "events": prediction.events,
        "generate_s": generated - start,
        "simulate_s": time.process_time() - generated,
        "time_ps": prediction.time_ps,
        "ratio": prediction.ratio,
        "peak_rss_bytes": peak_rss_bytes(),
    }


def _in_own_process(dp: int, micro_batches: int, model: str) -> Row:
    """The same, with the memory of this point alone."""
    arguments = [sys.executable, "-m", __spec__.name, "--point", str(dp), str(micro_batches), model]
    row: Row = json.loads(processes.run(arguments, check=True, capture_output=True, text=True).stdout)
    return row


def _plot(rows: dict[str, list[Row]], path: str) -> None:
    """CPU seconds over ranks (the same nodes on each) and over nodes (of the same ranks): straight where linear."""
    figures = []
    for fixed, value, over, title in (
        ("micro_batches", _MICRO_BATCHES, "ranks", f"ranks, {_MICRO_BATCHES} micro-batches each"),
        ("ranks", _TP * _PP * _DP, "nodes", f"nodes of {_TP * _PP * _DP} ranks"),
    ):
        series = []
        for model, color in zip(rows, ("c0", "c1"), strict=True):
            points = sorted((row for row in rows[model] if row[fixed] == value), key=lambda row: row[over])
            times = [row["simulate_s"] for row in points]
            series.append(Series(model, [row[over] for row in points], times, color))
        across, up = Axis(title, from_zero=True), Axis("CPU seconds to simulate", from_zero=True)
        figures.append(Figure(xy_chart(series, across, up, f"seconds over {over}"), f"Over {over}."))
    write_file(path, render("Simulation of a training step", "by size", [Section("Growth", figures)]))


def main() -> None:
    parser = command_line()
    parser.add_argument("--plot", metavar="FILE.html", help="write the growth as a picture here")
    parser.add_argument("--point", nargs=3, metavar=("DP", "MICRO_BATCHES", "MODEL"), help="measure one point as JSON")
    options = parser.parse_args()
    if options.point:
        dp, micro_batches, model = options.point
        print(json.dumps(measure(int(dp), int(micro_batches), model)))
        return
    print(
        f"{'model':<11} {'ranks':>5} {'micro-batches':>13} {'nodes':>8} {'collectives':>11} {'events':>9}"
        f" {'generate s':>10} {'simulate s':>10} {'us/node':>7} {'peak RSS':>9}  predicted"
    )
    rows: dict[str, list[Row]] = {model: [] for model in _MODELS}
    for model in _MODELS:
        for dp, micro_batches in _POINTS:
            row = _in_own_process(dp, micro_batches, model)
            rows[model].append(row)
            print(
                f"{model:<11} {row['ranks']:5.0f} {row['micro_batches']:13.0f} {row['nodes']:8.0f}"
                f" {row['collectives']:11.0f} {row['events']:9.0f} {row['generate_s']:10.2f} {row['simulate_s']:10.2f}"
                f" {row['simulate_s'] / row['nodes'] * 1e6:7.2f} {format_bytes(int(row['peak_rss_bytes'])):>9}"
                f"  {format_time(int(row['time_ps']))}, {row['ratio']:.2f} of bound",
                flush=True,
            )
    if options.plot:
        _plot(rows, options.plot)
        print(f"wrote {options.plot}")


if __name__ == "__main__":
    main()
