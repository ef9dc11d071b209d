"""`hocket replay`: a trace's collectives and messages again, on real ranks, measured against predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.runtime.replay.comparison import ReplayComparison

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = (
    "Examples: hocket replay traces/ --backend gloo --topology ring:4,bandwidth=12.5GB/s,latency=2us |"
    " torchrun --nproc-per-node 4 -m hocket.replay traces/ --backend gloo |"
    " mpiexec -n 4 hocket replay traces/ --backend mpi"
)


@app.command(epilog=EPILOG)
def replay(
    traces: Annotated[Path, typer.Argument(metavar="TRACES", help="A folder of PREFIX.<rank>.et files, or a prefix.")],
    backend: Annotated[str, typer.Option(help="gloo or nccl (torch.distributed), or mpi.")] = "gloo",
    ranks: Annotated[int | None, typer.Option("-n", "--ranks", help="Ranks; must be the traces'.")] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", "-t", metavar="SPEC|FILE", help="Predict the traces on it too.")
    ] = None,
    model: Annotated[str, typer.Option(help="Prediction's: bound, analytical, congestion or flow.")] = "congestion",
    compute: Annotated[str, typer.Option(help="What stands for computations: sleep, spin, gemm or none.")] = "sleep",
    compute_scale: Annotated[
        str, typer.Option(help="Computation takes this many times as long as recorded: 0.02, 1/50.")
    ] = "1",
    accelerator: Annotated[
        str | None, typer.Option(help="Prices computations without a duration: h100, or peak=989TFLOP/s,...")
    ] = None,
    remote_memory: Annotated[
        str | None, typer.Option(help="Prices memory nodes without one: latency=1us,bandwidth=100GB/s[,ranks=8|all].")
    ] = None,
    iterations: Annotated[
        int, typer.Option("--iterations", "--steps", min=1, help="Timed times that the whole trace is played.")
    ] = 5,
    warmup: Annotated[int, typer.Option(min=0, help="Untimed ones before.")] = 1,
    groups: Annotated[
        Path | None,
        typer.Option(help="Process groups as JSON; default: comm_groups.json beside the traces."),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a rank may wait in one place.")] = 300,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the comparison here.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page of figures here (.html).")] = None,
) -> None:
    """Issue a trace's collectives and messages again on real ranks, and compare the times.

    Started by torchrun, mpiexec or srun it is one of their ranks; else it starts its own on this machine.
    """
    from fractions import Fraction

    from hocket.api.simulate.options import fraction
    from hocket.base.errors import HocketError
    from hocket.chakra import read_traces
    from hocket.cli.options import one_of
    from hocket.runtime.replay.comparison import compare
    from hocket.runtime.replay.compute import Compute
    from hocket.runtime.replay.connect import BACKENDS, check_backend, world_of
    from hocket.runtime.replay.launch import replay_here, replay_launched
    from hocket.runtime.replay.memory import require_memory
    from hocket.runtime.replay.plan import plan_replay
    from hocket.runtime.replay.playing import ReplaySettings
    from hocket.simulator import Fidelity, Model, parse_remote_memory, simulate_traces
    from hocket.simulator.traces import Hardware
    from hocket.topology import load
    from hocket.workload.accelerators import parse_accelerator

    one_of("--backend", backend, BACKENDS)
    one_of("--compute", compute, Compute)
    one_of("--model", model, Model)
    scale = Fraction(0) if compute == Compute.NONE else fraction("--compute-scale", compute_scale, 0)
    machine = load(topology) if topology else None
    job = read_traces(traces, groups)
    for asked in (ranks, world := world_of(backend)):
        if asked not in (None, job.num_ranks):
            raise HocketError(f"{traces}: of {job.num_ranks} ranks, asked to replay on {asked}; use -n {job.num_ranks}")
    check_backend(backend)
    priced_by = parse_accelerator(accelerator) if accelerator else None
    memory = parse_remote_memory(remote_memory) if remote_memory else None
    plan = plan_replay(job, scale, Hardware(priced_by, memory))
    prediction = None
    if machine is not None:
        prediction = simulate_traces(
            job, machine, fidelity=Fidelity(model), compute_scale=scale, accelerator=priced_by, remote_memory=memory
        )
    settings = ReplaySettings(backend, iterations, warmup, Compute(compute), timeout)
    if world is None:
        require_memory(plan)
        measured = replay_here(plan, settings, lambda number: None)
    else:
        from_all = replay_launched(plan, settings)
        if from_all is None:
            return
        measured = from_all
    comparison = compare(job, plan, measured, prediction)
    _print(comparison, backend, plan.num_ranks)
    if json_path is not None:
        _write_json(comparison, json_path, {"source": str(traces), "backend": backend, "compute": compute})
    if report is not None:
        from hocket.base.files import atomic_write
        from hocket.report.replay_page import replay_page

        with atomic_write(report) as file:
            file.write(replay_page(comparison, f"{traces} on {plan.num_ranks} {backend} ranks"))


def _print(comparison: ReplayComparison, backend: str, num_ranks: int) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from hocket.base.units import format_bandwidth, format_bytes, format_time

    def time(value: int | None) -> str:
        return "-" if value is None else format_time(value)

    def bandwidth(value: float | None) -> str:
        return "-" if value is None else format_bandwidth(value)

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 160
    times = comparison.iterations_ps
    console.print(
        f"{num_ranks} {backend} ranks, {len(times)} iterations of the trace"
        + (f" ({comparison.steps} steps)" if comparison.steps else ""),
        f"measured {time(comparison.measured_ps)} (least {time(min(times))}, most {time(max(times))}), recorded"
        f" {time(comparison.recorded_ps)}, predicted {time(comparison.predicted_ps)}",
        sep="\n",
        markup=False,
    )
    table = Table("operation", "group", box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("ranks", "size", "count", "measured", "p50", "p95", "recorded", "predicted", "algbw", "busbw"):
        table.add_column(heading, justify="right")
    for row in comparison.operations:
        measured = (row.measured_ps, row.median_ps, row.p95_ps, row.recorded_ps, row.predicted_ps)
        numbers = (str(len(row.ranks)), format_bytes(row.size_bytes), str(row.count))
        table.add_row(
            row.kind, row.group or "0", *numbers, *map(time, measured), bandwidth(row.algbw), bandwidth(row.busbw)
        )
    if comparison.operations:
        console.print(table)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("rank", "time", "exposed", "recorded", "predicted", "last", "delay"):
        table.add_column(heading, justify="right")
    for rank in comparison.ranks:
        exposed = (rank.exposed_ps, rank.recorded_exposed_ps, rank.predicted_exposed_ps)
        table.add_row(str(rank.rank), time(rank.time_ps), *map(time, exposed), f"{rank.last:g}", time(rank.delay_ps))
    console.print(table)
    if comparison.straggler is not None:
        console.print(f"waited for longest: rank {comparison.straggler}", markup=False)
    for note in comparison.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)


def _write_json(comparison: ReplayComparison, path: Path, head: dict[str, str]) -> None:
    import json
    from dataclasses import asdict

    from hocket.base.files import atomic_write

    content = {"format": "hocket.replay", "version": 1, **head, "measured_ps": comparison.measured_ps}
    with atomic_write(path) as file:
        json.dump(content | asdict(comparison), file, indent=1)
        file.write("\n")
