"""`hocket translate`: a schedule as MSCCL XML or MSCCL++ plan for one runtime, proved before the file is written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.translator.msccl.findings import Finding

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EPILOG = (
    "Example: hocket translate ar.schedule --to executor -o ar.xml --max-bytes 64MiB; "
    "hocket translate schedules/*.schedule --to executor --bundle bundle/"
)


# Parameters, by what is made; `_SOURCE`: what a file does not say itself, asked for where it is read.
_SOURCE = {"topology", "size", "root", "collective"}
_ALWAYS = {"files", "to", "output"}
_LOWERING = {"protocol", "channels", "smallest", "largest", "out_of_place"}
_OF_XML = {"slots", "instances"}
_PLAN = _ALWAYS | _SOURCE | _LOWERING | {"name", "ranks_per_node"}
_BUNDLE = _LOWERING | {"files", "to", "bundle", "topology", "root"}
_REWRITE = _ALWAYS | {"written_for", "root", "name", "smallest", "largest"}
_LOWER = _ALWAYS | _SOURCE | _LOWERING | _OF_XML | {"name"}


@app.command(epilog=EPILOG)
def translate(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A .schedule, ForestColl's trees (.xml), or a program: .xml of any runtime, .json; several for a"
            " --bundle.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Runtime that will load it: msccl, executor, rccl, mscclpp; or json, chakra, table, nccl-graph,"
            " schedule.",
        ),
    ],
    written_for: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="XML: runtime that it was written for (they mean maxBytes differently); told by its form by default.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; for chakra the prefix of a file a rank.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder to write: the FILEs' programs, each for the sizes it is best at, and a run script.",
        ),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Simple (the default; large sizes), LL (small) or LL128 (NVLink).")
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(min=1, help="Connections between two ranks, at least; without it 1, 2 and 4 are tried."),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Messages that a connection is relied on to hold: 1 is right whatever it holds, 2 lets thread blocks"
            " receive and send on in one step; without it both are tried.",
        ),
    ] = None,
    instances: Annotated[int, typer.Option(min=1, help="Copies of the program, each on a part of the buffers.")] = 1,
    smallest: Annotated[str | None, typer.Option("--min-bytes", help="Least size the file is for.")] = None,
    largest: Annotated[
        str | None, typer.Option("--max-bytes", help="Largest size the file is for (0: any; msccl: 128 MiB).")
    ] = None,
    out_of_place: Annotated[
        bool | None,
        typer.Option("--out-of-place/--in-place", help="Calls it is for; all_to_all: out-of-place, else in-place."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name inside the file.")] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            "--topology", "-t", metavar="SPEC|FILE", help="XML to what is no XML, trees, --bundle: where it runs."
        ),
    ] = None,
    size: Annotated[str | None, typer.Option("--size", "-s", help="XML to what is no XML, trees: of the call.")] = None,
    collective: Annotated[
        str | None,
        typer.Option(
            "--collective", "-c", help="ForestColl's trees: all_gather (the default), reduce_scatter or all_reduce."
        ),
    ] = None,
    root: Annotated[
        int | None, typer.Option(help="XML: root of a rooted collective; found in the file by default.")
    ] = None,
    ranks_per_node: Annotated[
        int | None, typer.Option(min=1, help="mscclpp: ranks that memory channels join; without it those of a node.")
    ] = None,
) -> None:
    """Turn a schedule, or the program of another runtime, into MSCCL XML for one runtime, an MSCCL++ execution plan,
    JSON without any runtime's limits, graphs for ASTRA-sim, a table, or a graph file for stock NCCL; a program into a
    schedule; or several of one collective into a folder for a runtime.

    The text is read back and executed symbolically before it is written: values, races, deadlock. A schedule's program
    is proved with connections that hold one message (--slots 2: two), one of another runtime with those of its
    protocol. When that fails, or a limit of the runtime is exceeded, nothing is written.
    """
    from hocket.cli.options import bytes_of, load_topology, one_of, take_only
    from hocket.cli.translate.bundle import print_bundle
    from hocket.cli.translate.plain import PLAIN, is_lowered, read_schedule, write_plain
    from hocket.cli.translate.plan import print_plan
    from hocket.cli.translate.program import print_translation
    from hocket.schedule import FIFO_DEPTH
    from hocket.translator import PROFILES, UNLIMITED, Lowering, read_program, rewrite, run_recipe
    from hocket.translator import translate as translate_schedule
    from hocket.translator.bundle import write_bundle
    from hocket.translator.launching import machines
    from hocket.translator.msccl.saturation import saturation_findings
    from hocket.translator.mscclpp import translate_to_plan

    one_of("--to", to, (*PROFILES, "mscclpp", UNLIMITED.name, *PLAIN))
    if written_for is not None:
        one_of("--from", written_for, PROFILES)
    if protocol is not None:
        one_of("--protocol", protocol, ["Simple", "LL"] if to == "mscclpp" else FIFO_DEPTH)
    least = None if smallest is None else bytes_of("--min-bytes", smallest)
    most = None if largest is None else bytes_of("--max-bytes", largest)
    if least is not None and most and least > most:
        raise typer.BadParameter(f"--min-bytes {smallest} is above --max-bytes {largest}")
    if slots is not None and slots > FIFO_DEPTH[protocol or "Simple"]:
        holds = f"connections of {protocol or 'Simple'} hold {FIFO_DEPTH[protocol or 'Simple']} messages"
        raise typer.BadParameter(f"--slots {slots}: {holds}")
    file = files[0]
    if bundle is not None:
        one_of("--to", to, (*PROFILES, "mscclpp"))
        takes = _BUNDLE | ({"ranks_per_node"} if to == "mscclpp" else _OF_XML)
        take_only(context, takes, f"--bundle DIR of {to} has files of its own names, for sizes of its own")
    elif output is None or len(files) > 1:
        raise typer.BadParameter("give one FILE and --output, or --bundle DIR for several")
    elif to in PLAIN:
        take_only(context, _ALWAYS | _SOURCE, f"--to {to} is no program, it has what {file} does as it is")
    elif to == "mscclpp":
        take_only(context, _PLAN, "--to mscclpp makes a plan, lowered in its own way")
    elif is_lowered(file):
        take_only(context, _REWRITE, f"{file} is lowered already, and --to {to} keeps the program")
    else:
        take_only(context, _LOWER, f"--to {to} lowers {file} for all ranks alike")
    lowering = Lowering(
        protocol=protocol,
        channels=channels,
        slots=slots,
        instances=instances,
        in_place=None if out_of_place is None else not out_of_place,
        min_bytes=least or 0,
        max_bytes=most or 0,
        name=name,
    )
    if bundle is not None:
        made = write_bundle(
            files,
            bundle,
            to,
            lowering,
            topology=None if topology is None else load_topology(topology, None, None),
            root=root,
            ranks_per_node=ranks_per_node,
        )
        print_bundle(made, bundle)
        return
    assert output is not None
    if to in PLAIN:
        write_plain(read_schedule(file, topology, size, root, collective), to, output)
        return
    if to == "mscclpp":
        schedule = read_schedule(file, topology, size, root, collective)
        plan = translate_to_plan(schedule, output, lowering, ranks_per_node=ranks_per_node)
        print_plan(plan, output, machines(schedule.topology, schedule.ranks.tolist(), ranks_per_node))
        return
    nodes: tuple[int | None, int] = (None, 0)  # a program does not say
    predicted: list[Finding] = []
    if is_lowered(file):
        result = rewrite(
            read_program(file, profile=written_for, root=root), output, to, name=name, min_bytes=least, max_bytes=most
        )
    else:
        schedule = read_schedule(file, topology, size, root, collective)
        nodes = machines(schedule.topology, schedule.ranks.tolist())
        result = translate_schedule(schedule, output, to, lowering)
        predicted = saturation_findings(result.program, schedule.collective.size_bytes, result.candidates[0].time_ps)
    print_translation(result, output, predicted, is_bounded=bool(most))
    if to in PROFILES:
        typer.echo(f"\n{run_recipe(result.program, result.profile.name, output, nodes)}")
