"""`hocket synthesize`: make a verified schedule of a collective for a topology."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EXAMPLE = (
    "Example: hocket synthesize all_reduce --topology mesh:4x4,bandwidth=50GB/s,latency=500ns --size 64MiB"
    " -o ar.schedule"
)


@app.command(epilog=_EXAMPLE)
def synthesize(
    kind: Annotated[
        str,
        typer.Argument(metavar="COLLECTIVE", help="all_gather, reduce_scatter, all_reduce, broadcast or reduce."),
    ],
    topology: Annotated[
        str, typer.Option("--topology", "-t", metavar="SPEC|FILE", help="Topology spec, preset or YAML file.")
    ],
    size: Annotated[str, typer.Option("--size", "-s", help="A rank's whole buffer, nccl-tests' size: 64MiB, 1GB.")],
    chunks: Annotated[int | None, typer.Option(min=1, help="Chunks a rank (default: tries 1, 2, 4, ...).")] = None,
    root: Annotated[int, typer.Option(min=0, help="Root of broadcast and reduce.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, matching (any topology) or rounds (all links alike).")] = "auto",
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed, the same schedule, anywhere.")] = 0,
    attempts: Annotated[
        int | None, typer.Option(min=1, help="Searches to choose from (default: what the size is worth).")
    ] = None,
    blocking: Annotated[
        bool, typer.Option("--blocking", help="A transfer holds its links during its latency too, as in TACOS.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write the schedule.")
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the numbers as JSON (-: standard output).")
    ] = None,
) -> None:
    """Makes a schedule of COLLECTIVE for a topology, proves it right, and compares it with a lower bound.

    Bounds are times that no schedule can beat; ratio is the schedule's time over the bound's.
    """
    import json
    import time

    from hocket import synthesizer
    from hocket.cli.options import one_of
    from hocket.core.errors import FormatError
    from hocket.core.files import atomic_write
    from hocket.core.units import parse_bytes
    from hocket.schedule import NAMED_KINDS, Collective, Kind, save
    from hocket.topology import load

    one_of("COLLECTIVE", kind, NAMED_KINDS)
    one_of("--engine", engine, [synthesizer.AUTO, *synthesizer.ENGINES])
    size_bytes = parse_bytes(size)
    if size_bytes == 0:
        raise FormatError("--size must be at least 1 byte")
    network = load(topology)
    begin = time.perf_counter()
    if chunks is None:
        chunks = synthesizer.choose_chunks(
            Kind(kind), network, size_bytes, root=root, engine=engine, seed=seed, blocking=blocking
        )
    schedule = synthesizer.synthesize(
        Collective(Kind(kind), network.num_ranks, size_bytes, chunks, root),
        network,
        engine=engine,
        seed=seed,
        attempts=attempts,
        blocking=blocking,
    )
    numbers = synthesizer.summarize(schedule) | {"wall_s": round(time.perf_counter() - begin, 3)}
    if output is not None:
        save(schedule, output)
    text = json.dumps(numbers, indent=2)
    if json_path is not None and str(json_path) != "-":
        with atomic_write(json_path) as file:
            file.write(text + "\n")
    if str(json_path) == "-":
        typer.echo(text)
        return
    for note in network.notes:
        typer.echo(f"note: {note}")
    typer.echo(synthesizer.describe(numbers))
    if output is not None:
        typer.echo(f"{'written':<16}{output}")
