"""The demo's report: what each step found, in pictures and tables."""

from collections.abc import Iterator
from typing import Any

from hocket.api.demo.chain import COMPUTE_SCALE, RANKS, Chain
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.report import Cards, Code, Figure, Section, Table, Text, render
from hocket.report.figures import curves, link_timeline, stacked_times, topology_picture
from hocket.report.page import Block
from hocket.schedule import Collective, Kind, Schedule, load_expanded, lower_bound
from hocket.schedule.algorithms import build_all
from hocket.simulator import simulate_collective

__all__ = ["next_commands", "report_page"]

_CURVES = 5  # of the fastest algorithms
_CURVE_SIZES = tuple(2**power for power in range(14, 29, 2))


def report_page(result: Chain) -> str:
    """The page as HTML text."""
    schedule = load_expanded(result.folder / "ar.schedule")
    sections = [
        Section("In numbers", [Cards(list(_cards(result)))]),
        Section("Collected", _collected(result)),
        Section("Predicted", _predicted(result)),
        Section("Synthesized", _synthesized(result, schedule)),
        Section("Executed", _executed(result)),
        Section("Next", [Code(next_commands(result))]),
    ]
    source = "recorded traces of a training run" if result.recorded else "a training run on this machine"
    return render("From torchrun to MSCCL XML", f"{RANKS} ranks, {source}", sections)


def next_commands(result: Chain) -> str:
    """Commands that go on from here, for people to copy."""
    ranks = result.synthesis["ranks"]
    return "\n".join(
        [
            "hocket simulate traces --topology YOUR.yaml          # your machine: see docs/topology.md",
            f"hocket simulate all_reduce --size 64MiB --topology {result.slowest} --algorithm ring",
            "hocket synthesize all_reduce --topology mesh:8x8,bandwidth=50GB/s,latency=500ns --size 1GiB",
            "hocket translate ar.schedule --to msccl -o ar-msccl.xml",
            f"hocket run ar.xml --transport mpi -n {ranks} --size 1MiB",
            "HOCKET_COLLECT=my-traces torchrun --nproc-per-node 4 your_script.py",
        ]
    )


def _cards(result: Chain) -> Iterator[tuple[str, str, str]]:
    before, after, synthesis = result.before, result.after, result.synthesis
    gain = 1 - after["time_ps"] / before["time_ps"]
    yield (
        f"Predicted run on {result.slowest}",
        f"{format_time(before['time_ps'])} → {format_time(after['time_ps'])}",
        f"{gain:.1%} less with the synthesized all_reduce; bound {format_time(after['bound_ps'])}",
    )
    yield (
        f"all_reduce of {format_bytes(result.size_bytes)}",
        format_time(synthesis["time_ps"]),
        f"{synthesis['ratio']:.3f} times the bound ({synthesis['bound_reason']})",
    )
    executed = result.executed
    where = f"of every element at {len(executed['rows'])} sizes, transport {executed['transport']}"
    yield ("Wrong values", str(executed["wrong"]), where)


def _collected(result: Chain) -> list[Block]:
    source = "recorded earlier (examples/traces)" if result.recorded else "train_ddp.py, unmodified, under torchrun"
    summary = (result.folder / "traces" / "summary.txt").read_text(encoding="utf-8")
    return [Text(f"Source: {source}."), Code(summary.rstrip())]


def _predicted(result: Chain) -> list[Block]:
    bars, bounds, rows = [], [], []
    runs = [*result.predictions.items(), (f"{result.slowest} + new schedule", result.after)]
    for machine, prediction in runs:
        last = max(prediction["finish_ns"], key=lambda rank: int(prediction["finish_ns"][rank]))
        compute, exposed = (1000 * prediction[key][last] for key in ("compute_ns", "exposed_ns"))
        bars.append((machine, {"computation": compute, "exposed communication": exposed}))
        bounds.append(prediction["bound_ps"])
        times = [prediction["time_ps"], compute, exposed, prediction["bound_ps"]]
        rows.append([machine, *map(format_time, times), f"{prediction['ratio']:.3f}"])
    return [
        Text(
            f"The traces replayed under the congestion model; computation is {COMPUTE_SCALE} of what the CPU took "
            "(an assumption: the predicted machines have GPUs)."
        ),
        Figure(stacked_times(bars, bounds, "bound"), "The last rank to finish; the mark is what no schedule can beat."),
        Table(["machine", "time", "computation", "exposed", "bound", "ratio"], rows),
    ]


def _synthesized(result: Chain, schedule: Schedule) -> list[Block]:
    collective, topology = schedule.collective, schedule.topology
    contenders = _contenders(result, schedule)
    predictions = {name: simulate_collective(collective, topology, contenders[name]) for name in contenders}
    ranking = sorted(contenders, key=lambda name: predictions[name].time_ps)
    rows = [
        [
            name,
            format_time(predictions[name].time_ps),
            f"{predictions[name].ratio:.3f}",
            _busbw(collective, predictions[name]),
        ]
        for name in ranking
    ]
    series = {
        name: [_simulated_busbw(size, schedule, contenders[name]) for size in _CURVE_SIZES]
        for name in ranking[:_CURVES]
    }
    series["bound"] = [
        _gigabytes(part, lower_bound(part, topology).time_ps)
        for part in (_resized(collective, size) for size in _CURVE_SIZES)
    ]
    utilisation = predictions["synthesized"].link_utilisation
    return [
        Text(
            f"Engine {result.synthesis['engine']}, seed {schedule.seed}: {schedule.num_transfers} transfers of "
            f"{collective.num_chunks} chunks, each rank's result proved right and no link used twice at a time."
        ),
        Table(["algorithm", "time", "times the bound", "busbw"], rows),
        Figure(
            curves(_CURVE_SIZES, series, "busbw (GB/s)", "bound"),
            f"The {_CURVES} fastest on {topology.name} under the congestion model. The synthesized schedule was made "
            f"for {format_bytes(result.size_bytes)} and is replayed at the other sizes.",
        ),
        Figure(
            topology_picture(topology, utilisation.tolist()), "Links: width is bandwidth, red is busy all the time."
        ),
        Figure(link_timeline(schedule), "What each link carries when: a bar is one chunk."),
    ]


def _contenders(result: Chain, schedule: Schedule) -> dict[str, str]:
    """Every native algorithm that can do this collective on this topology, and the new schedule."""
    natives = [native.generator for native in build_all(schedule.collective, schedule.topology)]
    return {**dict(zip(natives, natives, strict=True)), "synthesized": str(result.folder / "ar.schedule")}


def _resized(collective: Collective, size_bytes: int) -> Collective:
    return Collective(Kind(collective.kind), collective.num_ranks, size_bytes, collective.chunks_per_rank)


def _simulated_busbw(size_bytes: int, schedule: Schedule, algorithm: str) -> float:
    collective = _resized(schedule.collective, size_bytes)
    return _gigabytes(collective, simulate_collective(collective, schedule.topology, algorithm).time_ps)


def _gigabytes(collective: Collective, time_ps: int) -> float:
    """busbw in GB/s (1e9), as nccl-tests defines it."""
    return collective.size_bytes * collective.bus_factor * 1e3 / time_ps


def _busbw(collective: Collective, prediction: Any) -> str:
    return format_bandwidth(_gigabytes(collective, prediction.time_ps) * 1e9)


def _executed(result: Chain) -> list[Block]:
    head, rows = ["size", "elements", "time", "busbw", "wrong"], []
    library = "MPI" if result.executed["transport"] == "mpi" else "gloo"
    for row in result.executed["rows"]:
        run, reference = row["in_place"] or row["out_of_place"], row["reference"]
        times = [format_time(run["time_ps"]), format_bandwidth(run["busbw"]), str(run["wrong"])]
        own = [format_bandwidth(reference["busbw"])] if reference else []
        rows.append([format_bytes(row["size_bytes"]), str(row["count"]), *times, *own])
    if result.executed["rows"][0]["reference"]:
        head.append(f"{library}'s own busbw")
    return [
        Text(
            f"The emitted XML on {RANKS} real processes (transport {result.executed['transport']}) on this machine's "
            "cores: this proves the program, it does not measure the predicted machine."
        ),
        Table(head, rows),
    ]
