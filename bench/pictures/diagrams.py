"""What is made of what: drawings that no computation makes."""

from collections.abc import Sequence

from hocket.bench.pictures.canvas import COLORS, INK, Canvas

__all__ = ["architecture", "collection", "data_flow", "deployment", "fidelity", "served_call"]

_ROOMS = (
    (("cli", "hocket ... on the shell"), ("docs", "generated tables, the reference")),
    (("api", "a request and a result per verb"), ("report", "self-contained pages"), ("bench", "claims, peers, speed")),
    (
        ("plugin", "inside a job"),
        ("runtime", "runs programs and replays"),
        ("recording", "merges jobs"),
    ),
    (("synthesizer", "schedules for a topology"), ("translator", "programs, XML, plans"), ("calibration", "fits")),
    (("simulator", "network models, predictions"), ("workload", "generated jobs"), ("nccl", "the stock library")),
    (
        ("schedule", "collectives, bounds, proofs"),
        ("chakra", "execution traces"),
        ("topology", "ranks, links"),
    ),
    (("base", "units, files, errors"), ("core", "the C++20 engine")),
)
_ROOM_COLORS = (COLORS[7], COLORS[7], COLORS[3], COLORS[2], COLORS[0], COLORS[4], COLORS[6])


def architecture() -> str:
    """The folders in layers: each imports what stands below it, or beside it."""
    canvas = Canvas(820, 540)
    canvas.text(20, 26, "Folders: imports go down or sideways, never up", size=15, bold=True)
    for layer, rooms in enumerate(_ROOMS):
        y = 44 + 68 * layer
        for at, (name, subject) in enumerate(rooms):
            x = 20 + 262 * at
            canvas.box(x, y, 250, 56, _ROOM_COLORS[layer], rounding=6)
            canvas.text(x + 12, y + 24, name + "/", size=15, fill="#ffffff", bold=True)
            canvas.text(x + 12, y + 44, subject, size=12, fill="#ffffff")
    canvas.line(806, 60, 806, 510, INK, width=2, arrow=True)
    canvas.text(20, 532, "tests/test_architecture.py enforces it.", size=11)
    return canvas.svg("The folders of Hocket as layers, from the command line down to base")


def collection() -> str:
    """From the ranks of a job over the shared folder to reports."""
    canvas = Canvas(900, 230)
    for node in range(2):
        y = 20 + 100 * node
        canvas.box(14, y, 250, 88, "#ffffff", rounding=6, stroke=COLORS[7])
        canvas.text(24, y + 18, f"node {node}", size=12, bold=True)
        for rank in range(4):
            canvas.box(24 + 58 * rank, y + 28, 52, 26, COLORS[0], rounding=4)
            canvas.text(50 + 58 * rank, y + 45, f"rank {4 * node + rank}", size=11, anchor="middle", fill="#ffffff")
        canvas.text(24, y + 74, "train.py, torch, NCCL: unchanged", size=11)
        canvas.line(266, y + 44, 316, 110, COLORS[7], width=2, arrow=True)
    _box(canvas, 320, 60, 160, "traces/JOB/stream/", ["a file per rank,", "survives a kill"], COLORS[4])
    canvas.line(482, 110, 512, 110, COLORS[7], width=2, arrow=True)
    _box(canvas, 516, 60, 160, "merge, by rank 0", ["clocks, groups,", "summary.txt, *.et"], COLORS[2])
    canvas.line(678, 110, 708, 110, COLORS[7], width=2, arrow=True)
    _box(canvas, 712, 60, 172, "hocket step, validate", ["anywhere, no GPU:", "step.html"], COLORS[3])
    canvas.text(320, 184, "on a file system that all nodes share", size=11)
    return canvas.svg("Ranks of two nodes write into a shared folder; rank 0 merges; reports are made anywhere")


def fidelity() -> str:
    """The network models, from the cheapest to the most detailed."""
    steps = (
        ("bound", "what nothing beats", "microseconds"),
        ("uncontended", "each message alone", "an event per message"),
        ("analytical", "alpha-beta, step by step", "an event per message"),
        ("congestion", "links serve one at a time", "an event per hop"),
        ("flow", "max-min fair sharing", "an event per rate"),
        ("packet", "buffers, PFC, ECN, loss", "per packet and hop"),
    )
    canvas = Canvas(900, 250)
    for at, (name, what, cost) in enumerate(steps):
        x, y = 14 + 147 * at, 180 - 30 * at
        canvas.box(x, y, 140, 60, COLORS[0] if name == "congestion" else COLORS[7], rounding=5)
        canvas.text(x + 8, y + 18, name, size=13, fill="#ffffff", bold=True)
        canvas.text(x + 8, y + 35, what, size=10, fill="#ffffff")
        canvas.text(x + 8, y + 51, cost, size=10, fill="#ffffff")
    canvas.text(14, 24, "--model: more detail, more events (blue: the default on links)", size=14, bold=True)
    return canvas.svg("Six network models as a staircase from bound to packet")


def deployment() -> str:
    """From a schedule over files to what runs them."""
    canvas = Canvas(900, 292)
    _box(canvas, 14, 96, 140, "schedule", ["hocket synthesize,", "any topology"], COLORS[2])
    canvas.line(156, 146, 190, 146, COLORS[7], width=2, arrow=True)
    _box(canvas, 194, 96, 150, "hocket translate", ["lower, prove:", "values, races, deadlock"], COLORS[0])
    targets = (
        ("bundle of MSCCL XML", "torchrun with HOCKET_ALGORITHMS: stock PyTorch, stock NCCL or gloo", COLORS[2]),
        ("the same bundle", "hocket run: this node's processes or MPI, every value checked", COLORS[2]),
        ("MSCCL++ plans", "run.sh, register_plans.py: MSCCL++ 0.9", COLORS[4]),
        ("graph file of rings", "NCCL_GRAPH_FILE: stock NCCL's ring, one node", COLORS[4]),
        ("MSCCL XML", "archived forks of NCCL: executor, msccl, RCCL", COLORS[7]),
    )
    for row, (file, runtime, color) in enumerate(targets):
        y = 16 + 54 * row
        canvas.line(346, 146, 384, y + 21, COLORS[7], width=1.5, arrow=True)
        canvas.box(388, y, 498, 44, "#ffffff", rounding=6, stroke=color)
        canvas.text(400, y + 18, file, size=13, bold=True, fill=color)
        canvas.text(400, y + 36, runtime, size=12)
    return canvas.svg("A schedule is lowered and proved, then written for five kinds of runtimes")


def data_flow() -> str:
    """The types that the pipeline hands on, with the functions between."""
    canvas = Canvas(900, 250)
    steps = (
        (14, 20, "Topology", "topology.load", COLORS[4]),
        (14, 140, "Collective", "schedule.Collective", COLORS[4]),
        (246, 80, "Schedule", "synthesizer.synthesize", COLORS[2]),
        (478, 80, "Program", "translator.lower_best", COLORS[0]),
        (710, 20, "proof, XML", "execute, to_xml", COLORS[3]),
        (710, 140, "Prediction", "simulate_program", COLORS[1]),
        (246, 186, "TraceSet", "chakra.read_traces", COLORS[4]),
        (478, 186, "Prediction", "simulate_traces", COLORS[1]),
    )
    for x, y, name, maker, color in steps:
        canvas.box(x, y, 176, 50, color, rounding=6)
        canvas.text(x + 88, y + 21, name, size=14, anchor="middle", fill="#ffffff", bold=True)
        canvas.text(x + 88, y + 39, maker, size=11, anchor="middle", fill="#ffffff")
    for x1, y1, x2, y2 in (
        (190, 50, 244, 94), (190, 160, 244, 116), (422, 105, 476, 105), (654, 95, 708, 52), (654, 115, 708, 160),
        (422, 211, 476, 211),
    ):  # fmt: skip
        canvas.line(x1, y1, x2, y2, COLORS[7], width=2, arrow=True)
    return canvas.svg("Topology and collective make a schedule, a schedule a program, that a proof and a prediction")


def served_call() -> str:
    """What becomes of a job's collective: a program, or the stock library."""
    canvas = Canvas(900, 206)
    _box(canvas, 14, 50, 150, "dist.all_reduce(t)", ["train.py, DDP, FSDP:", "unchanged"], COLORS[0])
    canvas.line(166, 100, 204, 100, COLORS[7], width=2, arrow=True)
    _box(canvas, 208, 50, 190, "is there a program?", ["kind, group, size, dtype;", "agreed by all ranks"], COLORS[4])
    canvas.line(400, 84, 446, 52, COLORS[7], width=2, arrow=True)
    canvas.line(400, 116, 446, 152, COLORS[7], width=2, arrow=True)
    canvas.box(450, 12, 436, 84, "#ffffff", rounding=6, stroke=COLORS[2])
    canvas.text(464, 36, "yes: the proved program", size=13, bold=True, fill=COLORS[2])
    canvas.text(464, 58, "as NCCL's or gloo's sends and receives, a group per round;", size=12)
    canvas.text(464, 78, "or as one kernel in symmetric memory (one node)", size=12)
    canvas.box(450, 116, 436, 72, "#ffffff", rounding=6, stroke=COLORS[7])
    canvas.text(464, 140, "no: the stock library", size=13, bold=True, fill=COLORS[7])
    canvas.text(464, 162, "counted with its reason in the table at the job's end", size=12)
    return canvas.svg("A collective of a job is served by a proved program, or by the stock library")


def _box(canvas: Canvas, x: float, y: float, width: float, head: str, lines: Sequence[str], color: str) -> None:
    canvas.box(x, y, width, 100, color, rounding=6)
    canvas.text(x + width / 2, y + 32, head, size=13, anchor="middle", fill="#ffffff", bold=True)
    for number, line in enumerate(lines):
        canvas.text(x + width / 2, y + 56 + 18 * number, line, size=12, anchor="middle", fill="#ffffff")
