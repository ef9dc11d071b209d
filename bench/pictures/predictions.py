"""Predictions drawn: ranks over time, links by heat, a step's parts, the two regimes, predicted beside measured."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from hocket.api.generate.request import LlmGeneration
from hocket.api.simulate.request import Simulation
from hocket.api.step.request import StepReport
from hocket.base.scratch import scratch_folder
from hocket.bench.pictures.canvas import COLORS, INK, Canvas, heat
from hocket.bench.pictures.curves import size_curves
from hocket.report.topology_picture import draw_topology
from hocket.schedule import Collective, Kind
from hocket.simulator import simulate_collective
from hocket.simulator.analysis import rank_table
from hocket.topology import load

__all__ = ["fabric", "link_heat", "measured", "regimes", "step", "traffic"]

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_CLUSTER = "dgx-h100:nodes=2"


def _simulated(*what: object, **options: object) -> Any:
    """What `hocket simulate` answers."""
    return Simulation.of(*what, **options).perform()


def regimes() -> str:
    """all_reduce on two DGX H100 over its size: stock NCCL, the links alone, and the lower bound."""
    sizes = [1024 * 4**power for power in range(11)]
    stock = _simulated("all_reduce", "dgx-h100:nodes=2", "1KiB..1GiB:4").curves[0].columns
    links = _simulated("all_reduce", "dgx-h100:nodes=2", "1KiB..1GiB:4", library="none").curves[0].columns
    series = {
        "stock NCCL": (stock["time_ps"] / 1e6).tolist(),
        "best native algorithm, links alone": (links["time_ps"] / 1e6).tolist(),
        "lower bound": (stock["bound_ps"] / 1e6).tolist(),
    }
    return size_curves(sizes, series, "all_reduce on 2 DGX H100: time in us over the size")


def measured() -> str:
    """A public run of all_reduce on two nodes of eight H100 beside the plain prediction."""
    with (_EXAMPLES / "nccl" / "h100_2nodes.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["oop_time_us"]]
    rows = [row for row in rows if int(row["size_bytes"]) >= 1024][::2]
    sizes = [int(row["size_bytes"]) for row in rows]
    predicted = [_simulated("all_reduce", "dgx-h100:nodes=2", f"{size}B").time_ps / 1e6 for size in sizes]
    series = {"measured": [float(row["oop_time_us"]) for row in rows], "predicted, nothing fitted": predicted}
    title = "all_reduce on 2 nodes of 8 H100: time in us (nccl-tests issue 309, NCCL 2.26.2)"
    return size_curves(sizes, series, title)


def step() -> str:
    """The tutorial's step: its parts, and what would shorten it."""
    with scratch_folder("picture") as folder:
        job, report = str(folder / "llama.job"), folder / "step.json"
        asked = LlmGeneration.of(
            "llama3-8b",
            output=job,
            topology=_CLUSTER,
            sequence_parallel=True,
            tp=4,
            dp=4,
            zero=1,
            global_batch=32,
            sequence=4096,
        )
        asked.perform()
        StepReport.of(job, _CLUSTER, json=str(report)).perform()
        said = json.loads(report.read_text(encoding="utf-8"))
    canvas = Canvas(900, 300)
    whole = said["step_ps"]
    canvas.text(14, 24, f"Llama 3 8B on 2 DGX H100: a step of {whole / 1e9:.0f} ms", size=15, bold=True)
    x = 14.0
    parts = [part for part in said["parts"] if part["mean_ps"]]
    for at, (color, part) in enumerate(zip(COLORS, parts, strict=False)):
        name = " ".join(filter(None, (part["activity"], part["dimension"])))
        width = 872 * part["mean_ps"] / whole
        canvas.box(x, 40, width, 34, color, said=name)
        canvas.box(14 + 250 * at, 84, 12, 12, color)
        canvas.text(31 + 250 * at, 94, f"{name}: {part['mean_ps'] / whole:.1%}", size=12)
        x += width
    canvas.text(14, 122, "What would shorten it, or not:", size=13, bold=True)
    tried = sorted(said["what_ifs"], key=lambda each: each["to_ps"])[:7]
    most = max(abs(each["to_ps"] - each["from_ps"]) for each in tried)
    for row, each in enumerate(tried):
        change = each["to_ps"] - each["from_ps"]
        y = 134 + 22 * row
        canvas.text(486, y + 13, each["name"].partition(" (")[0], anchor="end", size=11)
        canvas.box(494, y, 300 * abs(change) / most, 16, COLORS[2] if change < 0 else COLORS[5])
        canvas.text(500 + 300 * abs(change) / most, y + 13, f"{change / whole:+.1%}", size=11)
    return canvas.svg("A bar of the parts of a training step, and bars of what would shorten it")


def traffic() -> str:
    """The recorded example job on two nodes: each rank's time, by stock NCCL and by `auto`."""
    canvas = Canvas(900, 250)
    canvas.text(14, 24, "examples/traces on 2 DGX A100 of 2 GPUs: where each rank's time goes", size=15, bold=True)
    traces, nodes = _EXAMPLES / "traces", "dgx-a100:nodes=2,gpus=2"
    stock = _simulated(traces, nodes, compute_scale="1/1000").prediction
    auto = _simulated(
        _EXAMPLES / "traces", "dgx-a100:nodes=2,gpus=2", algorithm="auto", compute_scale="1/1000"
    ).prediction
    whole = max(stock.time_ps, auto.time_ps)
    parts = (("computation", COLORS[0]), ("waiting for other ranks", COLORS[4]), ("communicating", COLORS[1]))
    for number, (name, prediction) in enumerate((("stock NCCL", stock), ("native", auto))):
        table = rank_table(prediction)
        top = 44 + 92 * number
        canvas.text(14, top + 42, name, size=13, bold=True)
        for rank in range(4):
            y, x = top + 20 * rank, 170.0
            canvas.text(x - 8, y + 13, f"rank {rank}", size=11, anchor="end")
            wait = int(table["exposed_wait_ps"][rank])
            shares = (int(table["compute_ps"][rank]), wait, int(table["exposed_ps"][rank]) - wait)
            for (said, color), time_ps in zip(parts, shares, strict=True):
                width = 640 * time_ps / whole
                canvas.box(x, y, width, 16, color, said=f"{said}: {time_ps / 1e6:.1f} us")
                x += width
            canvas.text(x + 6, y + 13, f"{sum(shares) / 1e6:.0f} us", size=11)
    for at, (said, color) in enumerate(parts):
        canvas.box(150 + 200 * at, 228, 12, 12, color)
        canvas.text(168 + 200 * at, 238, said, size=12)
    return canvas.svg("Bars of four ranks, divided into computation, waiting and communication, by two libraries")


def fabric(name: str) -> str:
    """A cluster of 8 DGX H100 on that fabric, as `hocket topology show -o` draws it."""
    return draw_topology(load(f"dgx-h100:nodes=8,fabric={name},leaf=4"))


def link_heat() -> str:
    """One all_reduce on a 4x4 mesh by three algorithms: how busy each link is."""
    canvas = Canvas(900, 270)
    canvas.text(14, 24, "all_reduce of 64 MiB on a 4x4 mesh: how busy each link is", size=15, bold=True)
    topology = load("mesh:4x4,bandwidth=50GB/s,latency=500ns")
    for panel, name in enumerate(("ring", "halving_doubling", "torus_ring", "multitree")):
        found = simulate_collective(Collective(Kind.ALL_REDUCE, 16, size_bytes=64 * 2**20), topology, name)
        left = 30 + 222 * panel
        use = np.asarray(found.link_utilisation)
        for link in range(topology.num_links):
            src, dst = int(topology.src[link]), int(topology.dst[link])
            (x1, y1), (x2, y2) = ((left + 20 + 46 * (r % 4), 64 + 46 * (r // 4)) for r in (src, dst))
            aside = 4 if src < dst else -4
            dx, dy = (0, aside) if y1 == y2 else (aside, 0)
            canvas.line(x1 + dx, y1 + dy, x2 + dx, y2 + dy, heat(float(use[link])), width=4)
        for rank in range(16):
            canvas.circle(left + 20 + 46 * (rank % 4), 64 + 46 * (rank // 4), 9, INK)
        canvas.text(left + 88, 244, name, size=13, anchor="middle", bold=True)
        canvas.text(left + 88, 260, f"{found.time_ps / 1e9:.2f} ms", size=12, anchor="middle")
    return canvas.svg("Four drawings of a 4x4 mesh whose links are coloured from grey, idle, to red, always busy")
