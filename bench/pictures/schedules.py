"""Schedules drawn: native algorithms step by step, and a synthesized one as it fills a mesh."""

from contextlib import suppress
from math import cos, log2, pi, sin

from hocket.base.errors import HocketError
from hocket.bench.pictures.canvas import COLORS, GREY, INK, Canvas, heat
from hocket.schedule import Collective, Kind, Schedule, bound_of_any_chunks
from hocket.schedule.algorithms import build
from hocket.simulator import simulate_collective
from hocket.synthesizer import synthesize
from hocket.topology import Topology, load

__all__ = ["algorithm_steps", "algorithm_table", "mesh_schedule"]

_RANKS = 8
_ALGORITHMS = ("ring", "direct", "halving_doubling", "bruck", "binomial", "double_binary_tree")
_COMPARED = (
    "ring", "direct", "one_shot", "halving_doubling", "double_binary_tree", "recursive_doubling", "chain", "swing",
    "multi_ring", "torus_ring", "hierarchical", "themis", "multitree",
)  # fmt: skip
_SHAPES = {"ring:16": "ring", "torus:4x4": "torus", "fully_connected:16": "full mesh", "switch:16": "switch"}
_BROADCAST = ("binomial", "double_binary_tree")


def algorithm_steps() -> str:
    """Who sends to whom in the first steps of six algorithms on eight ranks, from the schedules themselves."""
    canvas = Canvas(900, 640)
    canvas.text(14, 24, "all_gather on 8 ranks, step by step; the last two: broadcast", size=15, bold=True)
    topology = load(f"fully_connected:{_RANKS},bandwidth=50GB/s,latency=500ns")
    for row, name in enumerate(_ALGORITHMS):
        kind = Kind.BROADCAST if name in _BROADCAST else Kind.ALL_GATHER
        chunks = 2 if name == "double_binary_tree" else 1
        schedule = build(name, Collective(kind, _RANKS, size_bytes=2**20, chunks_per_rank=chunks), topology)
        steps = int(schedule.start_ps.max()) + 1
        y = 90 + 98 * row
        canvas.text(14, y - 8, name, size=13, bold=True)
        canvas.text(14, y + 10, f"{steps} steps, {schedule.num_transfers} transfers", size=11)
        for step in range(min(steps, 7)):
            _step(canvas, schedule, step, 215 + 98 * step, y)
    return canvas.svg("Six algorithms as arrows between eight ranks on a circle, a panel for each step")


def _step(canvas: Canvas, schedule: Schedule, step: int, x: float, y: float) -> None:
    radius = 34.0
    places = [(x + radius * sin(2 * pi * r / _RANKS), y - radius * cos(2 * pi * r / _RANKS)) for r in range(_RANKS)]
    now = schedule.start_ps == step
    for src, dst in sorted(set(zip(schedule.src[now].tolist(), schedule.dst[now].tolist(), strict=True))):
        (x1, y1), (x2, y2) = places[src], places[dst]
        canvas.line(x1, y1, x2 - 0.14 * (x2 - x1), y2 - 0.14 * (y2 - y1), COLORS[0], arrow=True)
    for place in places:
        canvas.circle(*place, 3.5, INK)
    canvas.text(x, y + 5, str(step + 1), size=10, anchor="middle", fill=COLORS[1])


def mesh_schedule() -> str:
    """A synthesized all_gather on a 4x4 mesh: which share of the blocks each rank has, at six times."""
    spec = "mesh:4x4,bandwidth=50GB/s,latency=500ns"
    made = synthesize(Collective(Kind.ALL_GATHER, 16, 64 * 2**20, 2), load(spec), seed=0)
    assert isinstance(made, Schedule) and made.bound
    schedule, bound = made, made.bound
    canvas = Canvas(900, 210)
    ratio = schedule.time_ps / bound.time_ps
    title = f"Synthesized all_gather on a 4x4 mesh: {schedule.time_ps / 1e6:.1f} us, {ratio:.3f} times the lower bound"
    canvas.text(14, 24, title, size=15, bold=True)
    chunks = schedule.collective.num_chunks
    for panel in range(6):
        now = schedule.time_ps * panel // 5
        left = 20 + 148 * panel
        held = [chunks // 16] * 16
        for dst, finish in zip(schedule.dst.tolist(), schedule.finish_ps.tolist(), strict=True):
            held[dst] += finish <= now
        busy = (schedule.start_ps <= now) & (schedule.finish_ps > now)
        for src, dst in zip(schedule.src[busy].tolist(), schedule.dst[busy].tolist(), strict=True):
            (x1, y1), (x2, y2) = ((left + 14 + 32 * (r % 4), 64 + 32 * (r // 4)) for r in (src, dst))
            canvas.line(x1, y1, x2, y2, COLORS[1], width=3)
        for rank, count in enumerate(held):
            x, y = left + 14 + 32 * (rank % 4), 64 + 32 * (rank // 4)
            canvas.box(x - 10, y - 10, 20, 20, GREY, rounding=3)
            canvas.box(x - 10, y + 10 - 20 * count / chunks, 20, 20 * count / chunks, COLORS[0], rounding=3)
        canvas.text(left + 62, 194, f"{now / 1e6:.0f} us", anchor="middle")
    return canvas.svg("Six states of a 4x4 mesh whose ranks fill up with blocks, busy links in orange")


def algorithm_table() -> str:
    """Time over lower bound of native algorithms, two sizes on four topologies of 16 ranks, as a coloured table."""
    sizes = (("8 KiB", 8 * 1024), ("64 MiB", 64 * 2**20))
    canvas = Canvas(900, 60 + 26 * (len(_COMPARED) + 2))
    canvas.text(14, 24, "all_reduce on 16 ranks: time over lower bound (1 is the best there is)", size=15, bold=True)
    for column, (spec, (words, size)) in enumerate((spec, size) for spec in _SHAPES for size in sizes):
        x = 190 + 88 * column
        topology = load(f"{spec},bandwidth=50GB/s,latency=500ns")
        collective = Collective(Kind.ALL_REDUCE, 16, size_bytes=size)
        bound = bound_of_any_chunks(collective, topology).time_ps
        canvas.text(x + 41, 50, _SHAPES[spec], size=11, anchor="middle")
        canvas.text(x + 41, 65, words, size=11, anchor="middle")
        for row, name in enumerate(_COMPARED):
            ratio = _ratio(name, size, topology, bound)
            y = 74 + 26 * row
            canvas.box(x, y, 82, 22, heat(min(log2(ratio) / 5, 1.0)) if ratio else "#ffffff", rounding=3)
            canvas.text(x + 41, y + 16, f"{ratio:.2f}" if ratio else "-", anchor="middle")
    for row, name in enumerate(_COMPARED):
        canvas.text(180, 90 + 26 * row, name, anchor="end")
    return canvas.svg("A table of algorithms by topologies and sizes, coloured by time over lower bound")


def _ratio(name: str, size: int, topology: Topology, bound: int) -> float | None:
    """The best of 1, 4 and 8 chunks per rank; None where the algorithm cannot do it there."""
    times = []
    for chunks in (1, 4, 8):
        with suppress(HocketError):
            collective = Collective(Kind.ALL_REDUCE, 16, size_bytes=size, chunks_per_rank=chunks)
            times.append(simulate_collective(collective, topology, name).time_ps)
    return min(times) / bound if times else None
