"""`hocket nccl choose`: which algorithm and protocol NCCL takes for each size, the time that it expects, and why."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.cli.nccl.calibrated import Calibrated, calibrated, print_calibrated, read_calibration

if TYPE_CHECKING:
    from hocket.nccl import Choices, NcclModel

__all__ = ["EPILOG", "choose", "collectives_named"]

EPILOG = (
    "Example: hocket nccl choose --topology machine.xml --nodes 2 --collective all_reduce --min 8 --max 16GiB"
    " --csv choices.csv; hocket nccl choose --topology dgx-h100 --set NCCL_NVLS_ENABLE=0"
)


def choose(
    topology: Annotated[
        str,
        typer.Option(
            metavar="MACHINE",
            help="NCCL's topology XML, as NCCL_TOPO_DUMP_FILE writes it, or a preset such as dgx-h100.",
        ),
    ],
    nodes: Annotated[int, typer.Option(min=1, max=65_536, help="How many such machines.")] = 1,
    collective: Annotated[
        list[str] | None,
        typer.Option("--collective", "-c", help="all_reduce, all_gather, reduce_scatter, broadcast, reduce; or all."),
    ] = None,
    least: Annotated[str, typer.Option("--min", metavar="SIZE", help="Smallest size; the next ones double.")] = "8",
    most: Annotated[str, typer.Option("--max", metavar="SIZE", help="Largest size.")] = "16GiB",
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Write every size's choice here.")] = None,
    graph_dump: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the channels found here, as NCCL_GRAPH_DUMP_FILE does."),
    ] = None,
    why: Annotated[
        bool, typer.Option("--why", help="Where the choice changes, print every algorithm and protocol, and why not.")
    ] = False,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="calibrated.protocols.yaml of hocket calibrate --nccl: times as measured."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A variable of NCCL's environment; prints what it changes."),
    ] = None,
    version: Annotated[
        str, typer.Option("--nccl-version", metavar="VERSION", help="Of NCCL: 2.30, or 2.28, by its constants.")
    ] = "2.30.7",
    graph: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Channels to take instead of searching, as NCCL_GRAPH_FILE gives them."),
    ] = None,
    domain: Annotated[
        int,
        typer.Option(
            "--nvlink-domain", min=1, max=64, metavar="N", help="Nodes whose GPUs share NVSwitches: 18 in an NVL72."
        ),
    ] = 1,
    operations: Annotated[
        int, typer.Option("--pipe-ops", min=1, max=4096, metavar="N", help="Like collectives that a group runs as one.")
    ] = 1,
) -> None:
    """Print what NCCL (2.30.7, unless said) would choose for each size, and the time that it expects.

    Sizes are NCCL's: of all_gather and reduce_scatter the whole buffer, with --pipe-ops those of all collectives
    together. The network is as the NICs of the machine, CollNet (SHARP) is off unless NCCL_COLLNET_ENABLE=1, all
    machines are alike.
    """
    from hocket.base.errors import FormatError
    from hocket.base.files import atomic_write, require_place
    from hocket.base.units import parse_sizes
    from hocket.nccl import NcclModel, model_graphs, read_settings
    from hocket.nccl.releases import release_of
    from hocket.topology.formats.nccl.graph_xml import graphs_text, read_nccl_graphs
    from hocket.topology.machines.loading import load_machine

    names = collectives_named(collective or ["all"])
    try:
        sizes = parse_sizes(f"{least}..{most}")
        settings = read_settings(assignments or [])
        release = release_of(version)
    except FormatError as error:
        raise typer.BadParameter(str(error)) from error
    for output in (csv, graph_dump):
        if output is not None:
            require_place(output)
    fits = read_calibration(calibration) if calibration else None
    machine = load_machine(topology)
    if nodes % domain != 0:
        raise typer.BadParameter(f"--nvlink-domain {domain}: --nodes {nodes} is no multiple of it")
    graphs = read_nccl_graphs(graph) if graph else None
    model = NcclModel(machine, nodes, settings, release.constants, domain, graphs)
    before = NcclModel(machine, nodes, constants=release.constants, domain=domain) if assignments or graphs else None
    if release.name != "2.30":
        typer.echo(f"note: the constants are those of NCCL {release.name}, paths and channels as 2.30.7 finds them")
    for note in machine.notes:
        typer.echo(f"note: {note}")
    _print_graphs(model, Path(machine.source).name)
    found = [model.choose(name, sizes, operations) for name in names]
    measured = [calibrated(fits, model, choices) if fits else None for choices in found]
    for choices, times in zip(found, measured, strict=True):
        _print_points(model, choices, operations, why)
        if fits is not None:
            print_calibrated(choices, times)
        if before is not None:
            _print_changes(choices, before.choose(choices.collective, sizes, operations))
    if csv is not None:
        _write(found, csv, measured if fits else None)
    if graph_dump is not None:
        text = graphs_text(model_graphs(model))
        with atomic_write(graph_dump) as file:
            file.write(text)
        typer.echo(f"wrote {graph_dump}")


def collectives_named(names: Iterable[str]) -> list[str]:
    """NCCL's names of what is asked for: `all_reduce` or `AllReduce`, each once."""
    from hocket.cli.options import one_of
    from hocket.nccl import COLLECTIVES

    known = {name.lower(): name for name in COLLECTIVES}
    found: dict[str, None] = {}
    for name in names:
        key = name.replace("_", "").lower()
        if key not in known and key != "all":
            one_of("--collective", name, ["broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce", "all"])
        found |= dict.fromkeys(COLLECTIVES if key == "all" else [known[key]])
    return list(found)


def _print_graphs(model: "NcclModel", name: str) -> None:
    from hocket.nccl import PATH_TYPES

    typer.echo(f"{name}: {model.nodes} node{'s' * (model.nodes > 1)}, {model.ranks} ranks")
    if model.machines > model.nodes:
        typer.echo(f"  NCCL counts {model.machines} nodes: GPUs in parts talk faster over the network than inside")
    if model.machines < model.nodes:
        typer.echo(f"  NCCL counts {model.machines}: the GPUs of {model.nodes // model.machines} share NVSwitches")
    for algorithm, graph in model.graphs.items():
        if not graph["channels"]:
            continue
        to_net = f", {graph['inter']:g} GB/s over {PATH_TYPES[graph['type_inter']]} to the NICs" * (model.machines > 1)
        typer.echo(
            f"  {algorithm:<4} {graph['channels']} channels: {graph['intra']:g} GB/s each over"
            f" {PATH_TYPES[graph['type_intra']]}{to_net}"
        )
    channels, of_nvls = model.channels
    typer.echo(f"  kernels run on up to {channels} channels" + f", of NVLS on {of_nvls}" * (of_nvls > 0))


def _print_points(model: "NcclModel", choices: "Choices", operations: int, why: bool) -> None:
    from hocket.base.units import format_bytes

    points = [*choices.points(), len(choices.bytes)]
    for first, end in pairwise(points):
        span = f"{format_bytes(int(choices.bytes[first]))} .. {format_bytes(int(choices.bytes[end - 1]))}"
        channels = f"{choices.channels[first]}..{choices.channels[end - 1]}"
        typer.echo(
            f"{choices.collective:<13} {span:<20} {choices.name(first):<16}"
            f" {choices.time_us[first]:>9.2f} .. {choices.time_us[end - 1]:.2f} us, channels {channels}"
        )
        if why:
            _print_terms(model, choices, first, operations)


def _print_terms(model: "NcclModel", choices: "Choices", at: int, operations: int) -> None:
    size = int(choices.bytes[at])
    typer.echo(f"  {'at ' + str(size) + ' B':<22} {'latency us':>10} {'GB/s':>9} {'time us':>12}")
    for term in model.terms(choices.collective, size, operations):
        name = f"{term.algorithm}/{term.protocol}"
        if term.out:
            typer.echo(f"  {name:<22} {'-':>10} {'-':>9} {'-':>12}  {term.out}")
            continue
        mark = "chosen" if name == choices.name(at) else f"slower by {term.time_us - choices.time_us[at]:.2f} us"
        typer.echo(f"  {name:<22} {term.latency_us:>10.2f} {term.bandwidth:>9.2f} {term.time_us:>12.2f}  {mark}")


def _print_changes(choices: "Choices", before: "Choices") -> None:
    """Where the settings make NCCL choose or expect something else than without them."""
    from hocket.base.units import format_bytes

    changed = [at for at in range(len(choices.bytes)) if choices.name(at) != before.name(at)]
    slower = float((choices.time_us / before.time_us).max())
    quicker = float((choices.time_us / before.time_us).min())
    times = f"its times are {quicker:.3g} to {slower:.3g} of those without"
    if not changed:
        typer.echo(f"  the settings change no choice of {choices.collective}; {times}")
        return
    typer.echo(f"  the settings change {len(changed)} of {len(choices.bytes)} choices; {times}")
    for at in changed:
        if at - 1 in changed and (choices.name(at), before.name(at)) == (choices.name(at - 1), before.name(at - 1)):
            continue
        typer.echo(f"    from {format_bytes(int(choices.bytes[at]))}: {before.name(at)} -> {choices.name(at)}")


def _write(found: Iterable["Choices"], path: Path, measured: Iterable[Calibrated | None] | None) -> None:
    import csv
    from itertools import repeat

    from hocket.base.files import atomic_write
    from hocket.nccl import ALGORITHMS, PROTOCOLS

    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        more = ["calibrated_us", "best_algo", "best_proto", "best_us"] if measured is not None else []
        writer.writerow(["coll", "bytes", "algo", "proto", "time_us", "nchannels", *more])
        for choices, times in zip(found, repeat(None) if measured is None else measured, strict=measured is not None):
            columns = (choices.bytes, choices.algorithm, choices.protocol, choices.time_us, choices.channels)
            rows = zip(*(column.tolist() for column in columns), strict=True)
            for at, (size, algorithm, protocol, time, channels) in enumerate(rows):
                row = choices.collective, size, ALGORITHMS[algorithm], PROTOCOLS[protocol], f"{time:.2f}", channels
                writer.writerow([*row, *(_measured(times, at) if more else ())])
    typer.echo(f"wrote {path}")


def _measured(times: Calibrated | None, at: int) -> list[str]:
    """The columns that a calibration adds; empty where nothing was measured."""
    from hocket.nccl import ALGORITHMS, PROTOCOLS

    if times is None:
        return [""] * 4
    own, best = ("" if time != time else f"{time:.2f}" for time in (times.time_us[at], times.best_us[at]))
    return [own, *((ALGORITHMS[times.algorithm[at]], PROTOCOLS[times.protocol[at]], best) if best else ("", "", ""))]
