"""`hocket simulate`: how long traces, a schedule, a program or a collective take, next to the bound."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.cli.options import Degrade
from hocket.cli.simulate.outputs import Outputs, Records

if TYPE_CHECKING:
    from hocket.nccl import NcclModel
    from hocket.schedule import Collective
    from hocket.simulator.sweep.curves import SimulatedCurve
    from hocket.topology import Topology

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

#: Endings of files that hold a program.
PROGRAMS = (".xml", ".json")
EPILOG = (
    "Examples: hocket simulate traces/ --topology dgx-h100:nodes=2 --timeline step.json.gz |"
    " hocket simulate traces/ --topology dgx-h100:nodes=2 --tables tables/ --report report.html |"
    " hocket simulate ar.schedule |"
    " hocket simulate ar.xml --topology dgx-a100 --size 64MiB --runtime executor |"
    " hocket simulate all_reduce --size 1KiB..1GiB:4 --topology dgx-h100:nodes=2 --algorithm ring --algorithm auto |"
    " hocket simulate all_reduce --size 1KiB..1GiB:4 --topology nccl:machine.xml,nodes=2 --algorithm nccl |"
    " hocket simulate all_reduce --size 64MiB --topology ring:8,bandwidth=50GB/s,latency=500ns --algorithm ring |"
    " hocket simulate traces/all_reduce --compat astra-sim --network network.yml --system system.json --json out.json"
)


class _Options(Records):
    """Keyword arguments that all simulations take."""

    model: str
    switching: dict[str, str]
    queueing: dict[str, str]


@app.command(epilog=EPILOG)
def simulate(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A folder or prefix of traces, a .schedule, a program (.xml, .json), or a kind of collective.",
        ),
    ],
    topology: Annotated[
        list[str] | None,
        typer.Option("--topology", "-t", metavar="SPEC|FILE", help="Spec, preset or file; several to compare them."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="bound, analytical, congestion (the default; with --compat it is analytical) or flow."),
    ] = None,
    switching: Annotated[
        list[str] | None, typer.Option(help="cut_through (default) or store_and_forward, of all links or CLASS=VALUE.")
    ] = None,
    queueing: Annotated[
        list[str] | None,
        typer.Option(help="fifo (default), lifo, priority or smallest_remaining, of all links or CLASS=VALUE."),
    ] = None,
    overlap_slowdown: Annotated[
        str, typer.Option(help="Computation takes this many times as long while its rank communicates: 1.15.")
    ] = "1",
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            help="KIND=NAME, or NAME for a collective: native, auto, a .schedule file, or what stock NCCL does: nccl,"
            " or nccl:ring/ll128/4 (channels); nccl-model: the time that NCCL's model says.",
        ),
    ] = None,
    nccl_machine: Annotated[
        str | None,
        typer.Option(help="One machine as NCCL sees it (topology XML, preset), where --topology does not say."),
    ] = None,
    nccl_set: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable of NCCL's environment.")
    ] = None,
    degrade: Degrade = None,
    late: Annotated[
        list[str] | None,
        typer.Option(metavar="RANK=TIME", help="A rank comes later to the call of a program, or of --algorithm nccl."),
    ] = None,
    traffic: Annotated[
        list[str] | None,
        typer.Option(metavar="RANK-RANK=SIZE", help="Other traffic that begins with such a call: 0-9=64MiB."),
    ] = None,
    chunks: Annotated[int, typer.Option(min=1, help="Chunks per rank that native algorithms cut a buffer into.")] = 1,
    size: Annotated[
        str | None,
        typer.Option(
            "--size", "-s", help="Size of a collective, as nccl-tests counts it: 64MiB, or sizes: 1KiB..1GiB:4."
        ),
    ] = None,
    root: Annotated[
        int | None, typer.Option(min=0, help="Root of a collective that has one (default 0); of a program: found.")
    ] = None,
    runtime: Annotated[
        str, typer.Option(help="Whose interpreter runs the program: msccl, executor or rccl (slices differ).")
    ] = "executor",
    compute_scale: Annotated[
        str, typer.Option(help="Computation takes this many times as long as recorded: 0.02, 1/50.")
    ] = "1",
    accelerator: Annotated[
        str | None,
        typer.Option(help="Prices computations without a duration: h100, or peak=989TFLOP/s,memory=3.35TB/s."),
    ] = None,
    reprice: Annotated[
        bool, typer.Option("--reprice", help="--accelerator prices recorded computations of known operations too.")
    ] = False,
    remote_memory: Annotated[
        str | None, typer.Option(help="What memory nodes use: latency=1us,bandwidth=100GB/s[,ranks=8|all].")
    ] = None,
    placement: Annotated[
        str | None, typer.Option(help="Topology rank of each trace rank: 3,1,2,0, a file with such, or round_robin.")
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option("--groups", "--comm-groups", help="Process groups of the traces; comm_groups.json by default."),
    ] = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the prediction here.")] = None,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", help="Write a timeline for ui.perfetto.dev here (.json, .json.gz).")
    ] = None,
    tables: Annotated[
        Path | None, typer.Option("--tables", help="Write tables to this folder: collectives, ranks, links, ... (CSV).")
    ] = None,
    parquet: Annotated[bool, typer.Option("--parquet", help="The tables as Parquet too (needs pyarrow).")] = False,
    csv_path: Annotated[Path | None, typer.Option("--csv", help="Write the rows of several sizes here.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page of figures here (.html).")] = None,
    compat: Annotated[
        str | None, typer.Option(help="astra-sim: its exact result, from its own files, which the next options name.")
    ] = None,
    network: Annotated[Path | None, typer.Option(help="ASTRA-sim's network YAML.")] = None,
    system: Annotated[Path | None, typer.Option(help="ASTRA-sim's system JSON.")] = None,
    memory: Annotated[Path | None, typer.Option(help="ASTRA-sim's remote-memory JSON; none by default.")] = None,
    num_queues_per_dim: Annotated[int, typer.Option(min=1, max=1024, help="ASTRA-sim's option.")] = 1,
    injection_scale: Annotated[float, typer.Option(min=0, max=1e9, help="ASTRA-sim's option.")] = 1.0,
    rendezvous_protocol: Annotated[bool, typer.Option(help="ASTRA-sim's option.")] = False,
) -> None:
    """Predict the time of traces, a schedule, a program or a collective, and how far it is from the bound."""
    from hocket.base.errors import FormatError
    from hocket.base.strict_yaml import nearest
    from hocket.chakra import read_traces
    from hocket.cli.options import load_topology, one_of
    from hocket.cli.simulate.astra import AstraOptions, refuse_mixed, simulate_as_astra_sim
    from hocket.cli.simulate.nccl import nccl_curve, nccl_programs, simulate_nccl
    from hocket.cli.simulate.options import by_class, by_kind, disturbance_of, fraction, require_classes, sizes_of
    from hocket.nccl.programs.spec import is_nccl, is_nccl_model, model_of
    from hocket.schedule import NAMED_KINDS, Collective, Kind
    from hocket.schedule import load_expanded as load_schedule
    from hocket.simulator import (
        Model,
        Queueing,
        Switching,
        parse_placement,
        parse_remote_memory,
        simulate_collective,
        simulate_schedule,
        simulate_traces,
    )
    from hocket.simulator.analysis import require_parquet
    from hocket.workload.accelerators import parse_accelerator

    refuse_mixed(context, compat is not None)
    if compat is not None:
        files = AstraOptions(compat, network, system, memory, num_queues_per_dim, injection_scale, rendezvous_protocol)
        simulate_as_astra_sim(what, groups, model or "analytical", files, json_path)
        return
    if parquet and not tables:
        raise typer.BadParameter("--parquet says how --tables are written: add --tables DIR")
    if parquet:
        require_parquet()
    outputs = Outputs(json_path, timeline, tables, parquet, report)
    outputs.require_paths_that_fit(csv_path)
    options = _Options(
        model=one_of("--model", model or "congestion", Model),
        switching=by_class("--switching", switching or [Switching.CUT_THROUGH], Switching),
        queueing=by_class("--queueing", queueing or [Queueing.FIFO], Queueing),
        **outputs.records,
    )

    def loaded(text: str) -> Topology:
        machine = load_topology(text, None, degrade)
        require_classes("--switching", options["switching"], machine.classes, machine.name)
        require_classes("--queueing", options["queueing"], machine.classes, machine.name)
        return machine

    def nccl_of(text: str, machine: Topology) -> NcclModel:
        return model_of(text, machine.num_ranks, nccl_machine, nccl_set or ())

    if queueing and options["model"] != Model.CONGESTION:
        raise typer.BadParameter(
            f"--queueing: disciplines are for model congestion, {options['model']} has no queues: drop it"
        )
    if reprice and not accelerator:
        raise typer.BadParameter("--reprice needs to know by what: name it with --accelerator")
    is_collective = what in NAMED_KINDS and not Path(what).exists()
    of_traces = accelerator or remote_memory or placement or compute_scale != "1" or overlap_slowdown != "1"
    if of_traces and (is_collective or what.endswith((".schedule", *PROGRAMS))):
        raise typer.BadParameter(
            "--accelerator, --remote-memory, --placement, --compute-scale and --overlap-slowdown are for traces:"
            f" {what} has no computation"
        )
    stock = is_collective and algorithm is not None and all(is_nccl(name.rpartition("=")[2]) for name in algorithm)
    if (late or traffic) and not (stock or what.endswith(PROGRAMS)):
        raise typer.BadParameter("--late and --traffic are for programs and for a collective with --algorithm nccl")
    disturbed = {**options, "disturbance": disturbance_of(late or (), traffic or ())}
    if what.endswith(PROGRAMS):
        from hocket.cli.simulate.program import show_program

        if algorithm or not topology or size is None:
            raise typer.BadParameter(
                f"{what} is an algorithm for any size: give --topology and --size (--size 64MiB), and no --algorithm"
            )
        machines = [loaded(each) for each in topology]
        show_program(what, machines, sizes_of(size), runtime, root, disturbed, outputs, csv_path)
        return
    if what.endswith(".schedule"):
        if topology or algorithm or size or degrade:
            raise typer.BadParameter(
                "a schedule has topology and size and is an algorithm: drop --topology, --degrade, --algorithm, --size"
            )
        schedule = load_schedule(what)
        require_classes("--switching", options["switching"], schedule.topology.classes, schedule.topology.name)
        require_classes("--queueing", options["queueing"], schedule.topology.classes, schedule.topology.name)
        predictions = [simulate_schedule(schedule, **options)]
    elif not topology:
        raise typer.BadParameter("--topology is missing, such as --topology dgx-h100:nodes=2")
    elif is_collective:
        if size is None:
            raise typer.BadParameter(f"--size is missing: {what} of how many bytes? such as --size 64MiB")
        names = [name.removeprefix(f"{what}=") for name in algorithm or ["auto"]]
        sizes = sizes_of(size)
        if len(sizes) > 1 or len(names) > 1:
            from hocket.cli.simulate.sizes import simulate_sizes
            from hocket.simulator.models import setting_name

            outputs.require_curves()
            if any(map(is_nccl_model, names)):
                raise typer.BadParameter("nccl-model takes one size; hocket nccl choose says its times for many")
            if degrade and not all(map(is_nccl, names)):
                raise typer.BadParameter("--degrade with several sizes is for --algorithm nccl; else take one size")
            point = {
                "model": options["model"],
                "switching": setting_name(options["switching"]),
                "queueing": setting_name(options["queueing"]),
                "chunks_per_rank": chunks,
                "root": root or 0,
            }
            machines_of = {text: loaded(text) for text in topology}

            def curve(text: str, name: str) -> SimulatedCurve:
                machine = machines_of[text]
                collectives = partial(_collective, what, machine, root)
                return nccl_curve(text, name, nccl_of(text, machine), collectives, sizes, machine, disturbed)

            simulate_sizes(what, sizes, topology, names, point, curve, json_path, csv_path, report)
            return
        predictions = []
        for text in topology:
            machine = loaded(text)
            collective = Collective(Kind(what), machine.num_ranks, sizes[0], chunks, root or 0)
            if is_nccl(names[0]):
                predictions.append(simulate_nccl(names[0], nccl_of(text, machine), collective, machine, disturbed))
            else:
                timed = nccl_programs(names, machine, partial(nccl_of, text, machine))
                predictions.append(simulate_collective(collective, machine, names[0], programs=timed, **options))
    elif not _is_there(what):
        raise FormatError(
            f"{what}: no trace here (files PREFIX.<rank>.et), no collective; {nearest(what, NAMED_KINDS)}"
        )
    else:
        if size is not None:
            raise typer.BadParameter("--size is for a collective; traces have their own sizes")
        traces = read_traces(what, groups)
        chosen = by_kind(algorithm or [])
        names = [] if isinstance(chosen, str) else list(chosen.values())
        scale = fraction("--compute-scale", compute_scale, 0)
        slowdown = fraction("--overlap-slowdown", overlap_slowdown, 1)
        predictions = [
            simulate_traces(
                traces,
                machine,
                algorithms=chosen,
                programs=nccl_programs(names, machine, partial(nccl_of, text, machine)),
                chunks_per_rank=chunks,
                compute_scale=scale,
                overlap_slowdown=slowdown,
                placement=parse_placement(placement, machine, traces.num_ranks) if placement else None,
                accelerator=parse_accelerator(accelerator) if accelerator else None,
                remote_memory=parse_remote_memory(remote_memory) if remote_memory else None,
                reprices=reprice,
                **options,
            )
            for text, machine in zip(topology, map(loaded, topology), strict=True)
        ]

    if csv_path:
        raise typer.BadParameter(
            "--csv is for several sizes or algorithms of a collective; one prediction has --tables"
        )
    outputs.show(predictions)


def _collective(kind: str, machine: Topology, root: int | None, size: int) -> Collective:
    from hocket.schedule import Collective, Kind

    return Collective(Kind(kind), machine.num_ranks, size, root=root or 0)


def _is_there(prefix: str) -> bool:
    """Whether this is a path, or the prefix of traces."""
    path = Path(prefix)
    return path.exists() or any(file.name.startswith(f"{path.name}.") for file in path.parent.glob("*.et"))
