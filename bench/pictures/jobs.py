"""Jobs drawn as ranks over time: a recording, and pipeline schedules."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from hocket.api.generate.request import LlmGeneration
from hocket.api.simulate.request import Simulation
from hocket.base.scratch import scratch_folder
from hocket.bench.pictures.canvas import COLORS, GREY, Canvas
from hocket.chakra import NodeType, read_traces
from hocket.simulator import Prediction
from hocket.simulator.workload import NodeKind

__all__ = ["pipelines", "recording"]

_TRACES = Path(__file__).resolve().parents[2] / "examples" / "traces"
_PASSES = {"forward": COLORS[0], "backward": COLORS[2], "weights": COLORS[4]}
_PIPELINES = (("1f1b", 1), ("interleaved", 2), ("zb-h1", 1))


def recording() -> str:
    """The recorded example job: when each rank computed and when it was in a collective."""
    traces = read_traces(_TRACES).traces
    canvas = Canvas(900, 190)
    canvas.text(14, 24, "examples/traces as recorded: four ranks over time", size=15, bold=True)
    first = min(int(trace.start_us.min()) for trace in traces)
    last = max(int((trace.start_us + trace.duration_us).max()) for trace in traces)
    for rank, trace in enumerate(traces):
        y = 44 + 26 * rank
        canvas.text(70, y + 15, f"rank {rank}", size=11, anchor="end")
        canvas.box(78, y, 808, 20, "#eef1f4")
        for kind, color in ((NodeType.COMP, COLORS[0]), (NodeType.COMM_COLL, COLORS[1])):
            for row in (trace.type == kind).nonzero()[0].tolist():
                begin = (int(trace.start_us[row]) - first) / (last - first)
                width = int(trace.duration_us[row]) / (last - first)
                top, height = (y, 20) if kind is NodeType.COMP else (y + 12, 8)
                canvas.box(78 + 808 * begin, top, 808 * width, height, color)
    for at, (said, color) in enumerate((("computation", COLORS[0]), ("all_reduce, waits included", COLORS[1]))):
        canvas.box(78 + 140 * at, 156, 12, 12, color)
        canvas.text(96 + 140 * at, 166, said)
    canvas.text(886, 166, f"{(last - first) / 1000:.0f} ms", anchor="end")
    return canvas.svg("Four rows of ranks over time, divided into computation and all_reduces")


def pipelines() -> str:
    """One training step of four pipeline stages by three pipeline schedules: computation, and the bubble between."""
    canvas = Canvas(900, 400)
    canvas.text(14, 24, "A step of Llama 3 8B on 4 H100, pp 4, 8 micro-batches: three schedules", size=15, bold=True)
    steps = []
    with scratch_folder("picture") as folder:
        for name, chunks in _PIPELINES:
            job = str(folder / f"{name}.job")
            asked = {"pp": 4, "schedule": name, "chunks": chunks, "global_batch": 8, "sequence": 4096}
            LlmGeneration.of("llama3-8b", output=job, topology="dgx-h100:gpus=4", **asked).perform()
            steps.append((name, Simulation.of(job, "dgx-h100:gpus=4").perform().prediction))
    whole = max(prediction.time_ps for _, prediction in steps)
    for panel, (name, prediction) in enumerate(steps):
        top = 44 + 114 * panel
        canvas.text(14, top + 12, f"{name}: {prediction.time_ps / 1e9:.0f} ms", size=13, bold=True)
        for rank in range(4):
            y = top + 20 + 21 * rank
            canvas.text(70, y + 13, f"stage {rank}", size=11, anchor="end")
            canvas.box(78, y, 808 * prediction.time_ps / whole, 17, GREY)
            for said, begin, end in _passes(prediction, rank):
                x, width = 78 + 808 * begin / whole, 808 * (end - begin) / whole
                canvas.box(x, y, width, 17, _PASSES.get(said, COLORS[5]), stroke="#ffffff")
    for at, (said, color) in enumerate({**_PASSES, "optimizer": COLORS[5], "bubble, messages": GREY}.items()):
        canvas.box(78 + 150 * at, 384, 12, 12, color)
        canvas.text(96 + 150 * at, 394, said)
    return canvas.svg("Three pipeline schedules as rows of four stages over time; grey is the bubble")


def _passes(prediction: Prediction, rank: int) -> Iterator[tuple[str, int, int]]:
    """What a rank computes, its layers together: forward, backward or weights, begin and end in picoseconds."""
    work = prediction.workload
    rows = range(int(work.rank_offset[rank]), int(work.rank_offset[rank + 1]))
    computed = sorted((int(prediction.node_start_ps[row]), row) for row in rows if work.kind[row] == NodeKind.COMPUTE)
    passes = groupby(computed, key=lambda each: tuple(work.strings[work.name[each[1]]].split()[:2]))
    for (said, *_), nodes in passes:
        listed = list(nodes)
        yield said, listed[0][0], max(int(prediction.node_finish_ps[row]) for _, row in listed)
