"""NCCL's model and calibration drawn: which algorithm it takes where, what each would take, and a fit."""

from pathlib import Path

from hocket.api.simulate.request import Simulation
from hocket.bench.pictures.canvas import COLORS, GREY, INK, Canvas
from hocket.bench.pictures.curves import size_curves, size_name
from hocket.calibration import calibrate, read_measurements
from hocket.nccl import NcclModel
from hocket.topology.machines.loading import load_machine

__all__ = ["calibrated", "nccl_choices", "nccl_terms"]

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_SIZES = [1024 * 4**power for power in range(11)]
_NODES = (1, 2, 4, 8, 16, 32, 64)
_KINDS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter"}


def nccl_choices() -> str:
    """Algorithm and protocol of NCCL's model over size and number of nodes, for three collectives."""
    canvas = Canvas(900, 290)
    canvas.text(14, 24, "What NCCL 2.30.7 would take on DGX H100: number of nodes over size", size=15, bold=True)
    machine, color_of = load_machine("dgx-h100"), dict[str, str]()
    for panel, (kind, words) in enumerate(_KINDS.items()):
        left = 50 + 288 * panel
        canvas.text(left, 48, words, size=13, bold=True)
        for row, nodes in enumerate(reversed(_NODES)):
            choices = NcclModel(machine, nodes).choose(kind, _SIZES)
            y = 56 + 22 * row
            canvas.text(left - 6, y + 15, str(nodes), size=11, anchor="end")
            for column, size in enumerate(_SIZES):
                name = choices.name(column)
                color = color_of.setdefault(name, COLORS[len(color_of) % len(COLORS)])
                canvas.box(left + 22.5 * column, y, 21, 20, color, said=f"{size_name(size)} on {nodes} nodes: {name}")
        for column in range(0, len(_SIZES), 5):
            canvas.text(left + 22.5 * column + 10, 226, size_name(_SIZES[column]), size=11, anchor="middle")
    for at, (name, color) in enumerate(color_of.items()):
        canvas.box(50 + 140 * (at % 6), 242 + 20 * (at // 6), 12, 12, color)
        canvas.text(68 + 140 * (at % 6), 252 + 20 * (at // 6), name)
    return canvas.svg("Coloured maps of NCCL's choice of algorithm and protocol over size and number of nodes")


def nccl_terms() -> str:
    """What NCCL's model expects of each algorithm and protocol; it takes the lowest."""
    model = NcclModel(load_machine("dgx-h100"), 2)
    series: dict[str, list[float]] = {}
    for size in _SIZES:
        for term in model.terms("AllReduce", size):
            if not term.out:
                series.setdefault(f"{term.algorithm}/{term.protocol}", []).append(term.time_us)
    title = "all_reduce on 2 DGX H100: the time in us that NCCL expects of each choice"
    return size_curves(_SIZES, {name: line for name, line in series.items() if len(line) == len(_SIZES)}, title)


def calibrated() -> str:
    """How far the prediction from data sheets is from a public run of nccl-tests, and what was fitted to that run."""
    fit = calibrate(read_measurements([_EXAMPLES / "nccl" / "h100_2nodes.csv"])).fits[0]
    sizes, measured = fit.curve.size_bytes.tolist(), fit.curve.time_us
    kept = [at for at, size in enumerate(sizes) if size >= 1024]
    plain = [_predicted_us(sizes[at]) / float(measured[at]) - 1 for at in kept]
    canvas = Canvas(900, 290)
    title = "all_reduce on 2 nodes of 8 H100: predicted over measured time, before and after calibration"
    canvas.text(14, 24, title, size=15, bold=True)
    for tick in range(-40, 41, 20):
        y = 150 - 2.4 * tick
        canvas.line(60, y, 886, y, INK if tick == 0 else GREY)
        canvas.text(54, y + 4, f"{tick:+d}%", size=11, anchor="end")
    step = 820 / len(kept)
    for color, errors in ((COLORS[1], plain), (COLORS[2], fit.error[kept].tolist())):
        aside = 0.08 if color == COLORS[1] else 0.5
        for column, error in enumerate(errors):
            height = 2.4 * min(100 * abs(error), 42)
            canvas.box(64 + step * (column + aside), 150 - height if error > 0 else 150, 0.4 * step, height, color)
    for column in range(0, len(kept), 4):
        canvas.text(64 + step * (column + 0.5), 268, size_name(sizes[kept[column]]), size=11, anchor="middle")
    for at, (color, words) in enumerate(((COLORS[1], "from data sheets"), (COLORS[2], "calibrated on this run"))):
        canvas.box(600 + 140 * at, 36, 12, 12, color)
        canvas.text(617 + 140 * at, 46, words)
    return canvas.svg("Bars of the error of a prediction by size, before and after calibration")


def _predicted_us(size: int) -> float:
    return float(Simulation.of("all_reduce", "dgx-h100:nodes=2", f"{size}B").perform().time_ps) / 1e6
