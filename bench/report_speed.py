"""What the report of a large job costs: CPU seconds and bytes of its page and its JSON, of the page made again from
that JSON, and until a browser has it ready to use.

A step of Llama 3 70B on 512 GPUs of DGX H100 nodes, TP 8 x PP 8 x DP 8, about a million nodes, every rank simulated.
Chromium is asked where it and playwright are installed (`--chromium PATH`).

Run: python -m hocket.bench.report_speed
"""

import shutil
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from hocket.base.files import write_file
from hocket.base.scratch import scratch_folder
from hocket.base.units import format_bytes
from hocket.bench.command_line import command_line
from hocket.report.prediction_page import prediction_page
from hocket.simulator import Fidelity, Prediction, simulate_traces
from hocket.simulator.analysis import SimulatedFacts, stored_facts, write_prediction
from hocket.topology import load
from hocket.workload.accelerators import ACCELERATORS
from hocket.workload.llm import MODELS, ParallelPlan, llm_traces

_KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
_NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"
Made = TypeVar("Made")


def job(batches: int) -> Prediction:
    """The step with so many micro-batches, as `hocket simulate --report` predicts it."""
    plan = ParallelPlan(tp=8, sequence_parallel=True, pp=8, dp=8, zero=1, global_batch=8 * batches)
    traces = llm_traces(MODELS["llama3-70b"], plan, ACCELERATORS["h100"])
    fidelity = Fidelity(link_bins=128)
    return simulate_traces(
        traces, load("dgx-h100:nodes=64"), fidelity=fidelity, algorithms=dict.fromkeys(_KINDS, "ring"), folded=False
    )


def main(batches: int, chromium: str | None) -> None:
    """Prints the table."""
    found, seconds = _timed(lambda: job(batches))
    nodes, ranks = len(found.node_start_ps), found.workload.num_ranks
    print(
        f"{ranks} ranks, {nodes:,} nodes, {len(found.collectives):,} collectives: simulated in {seconds:.2f} s of CPU"
    )
    print(f"{'':<28} {'CPU':>8} {'size':>12}")
    with scratch_folder("report_speed") as folder:
        page, form = folder / "page.html", folder / "form.json"
        text, seconds = _timed(lambda: prediction_page(SimulatedFacts(found)))
        write_file(page, text)
        _row("page", seconds, page)
        _, seconds = _timed(lambda: write_prediction(found, form))
        _row("JSON", seconds, form)
        again, seconds = _timed(lambda: prediction_page(stored_facts(form)))
        write_file(folder / "again.html", again)
        _row("page of the JSON", seconds, folder / "again.html")
        if chromium is not None and find_spec("playwright"):
            for name, value in _in_browser(page, chromium).items():
                print(f"{name:<28} {value:>6.2f} s")


def _timed(make: Callable[[], Made]) -> tuple[Made, float]:
    start = time.process_time()
    return make(), time.process_time() - start


def _row(name: str, seconds: float, path: Path) -> None:
    print(f"{name:<28} {seconds:>6.2f} s {format_bytes(path.stat().st_size):>12}")


def _in_browser(page: Path, chromium: str) -> dict[str, float]:
    """Seconds until the page answers, and of them those in which its process was at work."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page()
        session = shown.context.new_cdp_session(shown)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        shown.goto(page.as_uri())
        ready = float(shown.evaluate(_NEXT_FRAME)) / 1e3
        metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        browser.close()
    return {"Chromium, until it answers": ready, "of them CPU of the page": metrics["TaskDuration"]}


if __name__ == "__main__":
    parser = command_line()
    parser.add_argument("--batches", type=int, default=12, help="micro-batches of the step: about 86,000 nodes each")
    parser.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    main(**vars(parser.parse_args()))
