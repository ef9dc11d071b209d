"""Programs drawn: a schedule as thread blocks of steps, and which engine finds what."""

from contextlib import suppress

from hocket.base.errors import HocketError
from hocket.bench.pictures.canvas import COLORS, Canvas, heat
from hocket.schedule import Collective, Kind, Schedule, bound_of_any_chunks
from hocket.schedule.algorithms import build
from hocket.synthesizer import synthesize
from hocket.topology import load
from hocket.translator import Lowering, lower

__all__ = ["engines", "thread_blocks"]

_LINKS = "bandwidth=50GB/s,latency=500ns"
_ENGINES = ("native", "matching", "trees", "packing", "rounds", "symmetry")
_NETWORKS = {
    "mesh:4x4": "4x4 mesh", "torus:4x4": "4x4 torus", "switch:16": "switch", "fat_tree:4x4,spines=2": "fat tree",
    "random:16,degree=4": "random graph",
}  # fmt: skip
_STEP_COLORS = {"s": COLORS[0], "r": COLORS[2], "cpy": COLORS[7], "re": COLORS[7]}


def thread_blocks() -> str:
    """The program of a ring all_reduce on four ranks: thread blocks of steps, with one and with two slots."""
    topology = load(f"ring:4,{_LINKS}")
    schedule = build("ring", Collective(Kind.ALL_REDUCE, 4, size_bytes=2**20), topology)
    canvas = Canvas(900, 300)
    canvas.text(14, 24, "A ring all_reduce on 4 ranks as programs: each box is a step", size=15, bold=True)
    for panel, slots in enumerate((1, 2)):
        program = lower(schedule, "executor", Lowering(channels=1, slots=slots))
        left = 14 + 450 * panel
        blocks = sum(len(gpu.thread_blocks) for gpu in program.gpus)
        words = f"--slots {slots}: {blocks} thread blocks" + (", receive and send fused" if slots == 2 else "")
        canvas.text(left, 50, words, size=13, bold=True)
        row = 0
        for rank, gpu in enumerate(program.gpus):
            for block in gpu.thread_blocks:
                y = 60 + (27 if slots == 1 else 54) * row
                peers = f"rank {rank}" + (f" <- {block.receive}" if block.receive >= 0 else "")
                peers += f" -> {block.send}" if block.send >= 0 else ""
                canvas.text(left, y + 15, peers, size=11)
                for step, instruction in enumerate(block.steps):
                    x = left + 110 + 46 * step
                    color = _STEP_COLORS.get(str(instruction.type), COLORS[1])
                    canvas.box(x, y, 43, 21, color, rounding=3)
                    place = instruction.src_offset if instruction.type != "r" else instruction.dst_offset
                    words = f"{instruction.type} {place}"
                    canvas.text(x + 21, y + 15, words, size=11, anchor="middle", fill="#ffffff")
                row += 1
    canvas.text(
        14,
        292,
        "s: send, r: receive, rrc: receive and add; rcs, rrs, rrcs: and forward; the number is the chunk",
        size=11,
    )
    return canvas.svg("Two programs of a ring all_reduce: rows of thread blocks with their steps")


def engines() -> str:
    """Time over lower bound of what each engine finds for an all_gather, on five networks of 16 ranks."""
    canvas = Canvas(900, 56 + 26 * (len(_ENGINES) + 1))
    canvas.text(14, 24, "all_gather of 64 MiB on 16 ranks in 4 chunks each: time over lower bound", size=15, bold=True)
    for column, (spec, words) in enumerate(_NETWORKS.items()):
        x = 130 + 150 * column
        canvas.text(x + 70, 50, words, size=12, anchor="middle")
        topology = load(f"{spec},{_LINKS}")
        collective = Collective(Kind.ALL_GATHER, 16, 64 * 2**20, 4)
        bound = bound_of_any_chunks(collective, topology).time_ps
        for row, name in enumerate(_ENGINES):
            ratio = None
            with suppress(HocketError):
                made = synthesize(collective, topology, seed=0, engine=name)
                ratio = made.time_ps / bound if isinstance(made, Schedule) else None
            y = 60 + 26 * row
            canvas.box(x, y, 144, 22, heat(min(2 * (ratio - 1), 1.0)) if ratio else "#ffffff", rounding=3)
            canvas.text(x + 72, y + 16, f"{ratio:.3f}" if ratio else "-", anchor="middle")
    for row, name in enumerate(_ENGINES):
        canvas.text(120, 76 + 26 * row, name, anchor="end")
    return canvas.svg("A table of engines by networks, coloured by time over lower bound")
