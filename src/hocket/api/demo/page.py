"""The demo's report: what each step found, in pictures and tables."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hocket.api.demo.chain import COMPUTE_SCALE, PART, RANKS, Chain
from hocket.api.demo.contest import Contest
from hocket.api.demo.machine import PRICING
from hocket.base.units import format_bandwidth, format_bytes, format_time
from hocket.chakra.job_folders import find_job
from hocket.report import Cards, Code, Figure, Section, Table, Text, render
from hocket.report.figures import curves, link_timeline, stacked_times
from hocket.report.network import network_picture
from hocket.report.node_names import NodeNames
from hocket.report.page import Block
from hocket.schedule import Collective, Kind, Schedule, load_expanded, lower_bound
from hocket.schedule.algorithms import build_all
from hocket.simulator import simulate_collective

__all__ = ["next_commands", "report_page"]

_CURVES = 5  # of the fastest algorithms
_CONTEST_SIZES = tuple(3 * 2**power for power in range(19, 28, 2))  # 1.5 MiB to 384 MiB
_CURVE_SIZES = tuple(2**power for power in range(14, 29, 2))


def report_page(result: Chain) -> str:
    """The page as HTML text."""
    schedule = load_expanded(result.folder / "ar.schedule")
    sections = [
        Section("Summary", [Cards(list(_cards(result)))]),
        Section("Collected", _collected(result)),
        Section("Predicted", _predicted(result)),
        Section("Contest", list(_contests(result))),
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
            f"hocket simulate all_reduce --size 96MiB --topology {PART} --algorithm nccl --algorithm auto",
            "hocket synthesize all_reduce --topology mesh:8x8,bandwidth=50GB/s,latency=500ns --size 1GiB",
            "hocket translate ar.schedule --to msccl -o ar-msccl.xml",
            f"hocket run ar.xml --transport mpi -n {ranks} --size 1MiB",
            "HOCKET_COLLECT=my-traces torchrun --nproc-per-node 4 your_script.py",
        ]
    )


def _cards(result: Chain) -> Iterator[tuple[str, str, str]]:
    alone, bound = format_time(result.after["time_ps"]), format_time(result.after["bound_ps"])
    yield (
        f"The job on {result.slowest}",
        f"{format_time(result.before['time_ps'])} → {format_time(result.after_with_costs_ps)}",
        f"NCCL's all_reduce → synthesized, with costs; {alone} on the links alone, bound {bound}",
    )
    for contest, where in zip(result.contests, (result.slowest, "6 GPUs of a DGX-1", "all 8 of a DGX-1"), strict=True):
        rival, ours = contest.rivals[0], contest.synthesized_program
        yield (
            f"all_reduce, {where}: synthesis {'wins' if contest.wins else 'does not win'}",
            f"{format_time(rival.time_ps)} → {format_time(ours.time_ps)}",
            f"{rival.name} → synthesized, with costs; bound {format_time(contest.bound.time_ps)}",
        )
    executed = result.executed
    where = f"of every element at {len(executed['rows'])} sizes, transport {executed['transport']}"
    yield ("Wrong values", str(executed["wrong"]), where)


def _contests(result: Chain) -> Iterator[Block]:
    """All three, and over sizes the one on PART."""
    yield Text(PRICING)
    for contest in result.contests:
        yield Text(f"{contest.title}: synthesis {contest.verdict}.")
        yield Table(*contest.rows())
    part = result.part
    yield Figure(
        curves(_CONTEST_SIZES, _contest_series(part), "busbw (GB/s)", "bound"),
        f"{part.machine.topology.name}, all with costs of kernels but the bound. NCCL chooses anew at each size; the "
        f"two programs are those that were quickest at {format_bytes(part.collective.size_bytes)}.",
    )


def _contest_series(contest: Contest) -> dict[str, list[float]]:
    """busbw of stock library, best native and synthesized program, and the bound."""
    machine = contest.machine
    calls = [replace(contest.collective, size_bytes=size) for size in _CONTEST_SIZES]
    finest = load_expanded(contest.path).collective
    series = {f"stock library: {contest.stock.name}": [machine.stock(call).time_ps for call in calls]}
    for role, entry in (("best native", contest.native_program), ("synthesized", contest.synthesized_program)):
        if entry:
            times = [machine.program_ps(entry.program, size) for size in _CONTEST_SIZES]
            series[f"{role}: {entry.name}"] = times
    series["bound"] = [lower_bound(_resized(finest, size), machine.topology).time_ps for size in _CONTEST_SIZES]
    return {name: [_gigabytes(*each) for each in zip(calls, times, strict=True)] for name, times in series.items()}


def _collected(result: Chain) -> list[Block]:
    source = "recorded earlier (examples/traces)" if result.recorded else "train_ddp.py, unmodified, under torchrun"
    summary = (find_job(result.folder / "traces").path / "summary.txt").read_text(encoding="utf-8")
    return [Text(f"Source: {source}."), Code(summary.rstrip())]


def _predicted(result: Chain) -> list[Block]:
    bars, bounds, rows = [], [], []
    runs = [*result.predictions.items(), (f"{result.slowest} + new schedule, links alone", result.after)]
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
            "(an assumption: the predicted machines have GPUs). Collectives are those of NCCL, with its costs; the new "
            "schedule is on the links alone: kernels add "
            f"{format_time(result.costs_ps)} to its calls, one after the other."
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
            f"{collective.num_chunks} chunks, each rank's result proved right and no link loaded beyond its bandwidth."
        ),
        Table(["algorithm", "time", "times the bound", "busbw"], rows),
        Figure(
            curves(_CURVE_SIZES, series, "busbw (GB/s)", "bound"),
            f"The {_CURVES} fastest on the links of {topology.name} alone, under the congestion model. The synthesized "
            f"schedule was made for {format_bytes(result.size_bytes)} and is replayed at the other sizes.",
        ),
        Figure(
            network_picture(NodeNames(topology), utilisation[:, None]),
            "Links: width is bandwidth, colour how much of the time they are busy.",
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
    blocks: list[Block] = [
        Text(
            f"The emitted XML on {RANKS} real processes (transport {result.executed['transport']}) on this machine's "
            "cores: this proves the program, it does not measure the predicted machine."
        ),
        _runs(result.executed, "gloo"),
    ]
    if result.over_mpi is not None:
        blocks += [Text("The same file over MPI's messages, and MPI's own all_reduce."), _runs(result.over_mpi, "MPI")]
    return blocks


def _runs(executed: dict[str, Any], library: str) -> Table:
    """A row per size; beside it the library's own busbw where that was measured."""
    head, rows = ["size", "elements", "time", "busbw", "wrong"], []
    for row in executed["rows"]:
        run, reference = row["in_place"] or row["out_of_place"], row["reference"]
        times = [format_time(run["time_ps"]), format_bandwidth(run["busbw"]), str(run["wrong"])]
        own = [format_time(reference["time_ps"]), format_bandwidth(reference["busbw"])] if reference else []
        rows.append([format_bytes(row["size_bytes"]), str(row["count"]), *times, *own])
    if executed["rows"][0]["reference"]:
        head += [f"{library}'s own time", f"{library}'s own busbw"]
    return Table(head, rows)
