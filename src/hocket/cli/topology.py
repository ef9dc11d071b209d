"""`hocket topology`: describe, check and convert a network topology."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.cli.options import Degrade, Without

if TYPE_CHECKING:
    from hocket.topology.facts import Facts

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Describe, check and convert a network topology: a file, a spec or a preset.",
    epilog="Example: hocket topology show dgx-h100:nodes=2",
)

_SPEC = (
    "A file (ours, ASTRA-sim's network YAML, NCCL's topology XML), a spec such as"
    " mesh:4x4,bandwidth=50GB/s,latency=500ns, or a preset."
)
Source = Annotated[str, typer.Argument(metavar="TOPOLOGY", help=_SPEC)]


@app.command(epilog="Example: hocket topology show dgx-h100:nodes=32,fabric=fat_tree,leaf=4 -o cluster.svg")
def show(
    topology: Source,
    without: Without = None,
    degrade: Degrade = None,
    json_path: Annotated[Path | None, typer.Option("--json", help="Also write the facts here.")] = None,
    picture: Annotated[Path | None, typer.Option("-o", "--output", help="Also draw it here: .svg or .html.")] = None,
) -> None:
    """Print ranks, switches, links, degrees, bandwidths, diameter and the tightest cut; draw nodes and fabric."""
    import json
    from dataclasses import asdict

    from hocket.base.files import atomic_write, require_place
    from hocket.cli.options import load_topology
    from hocket.report.topology_picture import as_html, draw_topology
    from hocket.topology.facts import describe

    if picture is not None:
        if picture.suffix not in (".svg", ".html"):
            raise typer.BadParameter(f"--output {picture}: a picture is an .svg or an .html")
        require_place(picture)
    loaded = load_topology(topology, without, degrade)
    facts = describe(loaded)
    _print(facts)
    if picture is not None:
        svg = draw_topology(loaded)
        with atomic_write(picture) as file:
            file.write(as_html(loaded.name, svg) if picture.suffix == ".html" else svg)
        typer.echo(f"wrote {picture}")
    if json_path is not None:
        with atomic_write(json_path) as file:
            json.dump(asdict(facts), file, indent=1)
        typer.echo(f"wrote {json_path}")


@app.command(
    epilog="Example: hocket topology save dgx-a100:nodes=4 -o two.yaml; hocket topology save dgx-h100 -o machine.xml"
)
def save(
    topology: Source,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The YAML file to write; of a node also NCCL's topology XML, as .xml."),
    ],
    without: Without = None,
    degrade: Degrade = None,
) -> None:
    """Write a topology as YAML of ours, to edit or to keep, or one node as NCCL sees it as its XML."""
    from hocket.base.files import atomic_write
    from hocket.cli.options import load_topology
    from hocket.topology import save as write
    from hocket.topology.formats.nccl.write import topology_text
    from hocket.topology.machines.loading import load_machine

    if output.suffix == ".xml":
        if without or degrade:
            raise typer.BadParameter(f"{output}: NCCL's XML is of a whole node: drop --without and --degrade")
        machine = load_machine(topology)
        with atomic_write(output) as file:
            file.write(topology_text(machine))
        _print_notes(machine.notes)
        gpus, nets = len(list(machine.gpus())), len(list(machine.nets()))
        typer.echo(f"wrote {output}: {gpus} GPUs, {nets} network devices, as NCCL's topology file")
        return
    loaded = load_topology(topology, without, degrade)
    write(loaded, output)
    _print_notes(loaded.notes)
    typer.echo(f"wrote {output}: {loaded.num_ranks} ranks, {loaded.num_links} links")


@app.command(epilog="Example: hocket topology check cluster.yaml")
def check(topology: Source) -> None:
    """Check a topology: syntax, keys, units, links, and that every rank reaches every other. Exit code 1: it fails."""
    from hocket.base.errors import ExitCode, HocketError
    from hocket.topology import UnknownTopology, load

    try:
        loaded = load(topology)
    except UnknownTopology:  # nothing there that could be checked
        raise
    except HocketError as error:
        typer.echo(f"failed: {error}", err=True)
        raise typer.Exit(ExitCode.CHECK_FAILED) from error
    _print_notes(loaded.notes)
    typer.echo(f"ok: {loaded.name}: {loaded.num_ranks} ranks, {loaded.num_links} links, all ranks connected")


def _print(facts: "Facts") -> None:
    from hocket.base.units import format_bandwidth, format_time

    def span(pair: tuple[int, int], form: Callable[[int], str]) -> str:
        least, most = map(form, pair)
        return least if least == most else f"{least} to {most}"

    machines = f" in {facts.machines} machines" if facts.machines > 1 else ""
    computing = f", {facts.in_network} of them compute" if facts.in_network else ""
    rows = [
        ("topology", facts.name),
        ("ranks", f"{facts.ranks}{machines}"),
        ("switches", f"{facts.switches}{computing}"),
    ]
    rows += [
        (
            f"dimension {at}",
            f"{dimension.kind} of {dimension.size}" + f", degree {dimension.degree}" * (dimension.degree > 0),
        )
        for at, dimension in enumerate(facts.dimensions)
    ]
    rows += [
        (
            "links",
            f"{kind.count} x {format_bandwidth(kind.bandwidth)}, {format_time(kind.latency_ps)},"
            f" class {kind.link_class}",
        )
        for kind in facts.links
    ]
    at_least = "" if facts.diameter_sources == facts.ranks else "at least "
    rows += [
        ("links out of a rank", span(facts.out_degree, str)),
        ("into a rank", span(facts.ingress, format_bandwidth)),
        ("out of a rank", span(facts.egress, format_bandwidth)),
        ("latency diameter", at_least + format_time(facts.diameter_ps)),
        ("tightest cut", f"{facts.cut.ranks} ranks send {format_bandwidth(facts.cut.bandwidth)} in all to the rest"),
        ("all-gather at most", f"{format_bandwidth(facts.all_gather_bandwidth)} of output a rank"),
    ]
    for key, value in rows:
        typer.echo(f"{key:<20} {value}")
    _print_notes(facts.notes)


def _print_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        typer.echo(f"note: {note}")
