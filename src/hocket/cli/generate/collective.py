"""`hocket generate collective`: one collective, or a ring of messages, done once or again and again."""

from typing import Annotated

import typer

from hocket.chakra.profile import Profile
from hocket.cli.trace.output import OutputOption, PrefixOption, ProfileOption, write_job

__all__ = ["EPILOG", "collective"]

EPILOG = (
    "Examples: hocket generate collective all_reduce --ranks 64 --size 64MiB -o traces/ |"
    " hocket generate collective all_to_all --ranks 16 --group 0-7 --group 8-15 --size 1MiB --repeat 10 --compute 1ms"
    " -o traces/"
)


def collective(
    pattern: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, barrier;"
            " or ring_exchange: everybody sends to the next rank.",
        ),
    ],
    output: OutputOption,
    ranks: Annotated[int, typer.Option(min=2, max=1 << 20, help="Number of ranks of the job.")],
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Size as nccl-tests counts it; given once a member: each one's input (all_to_all, all_gather, gather)."
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Parts of an input for the members, in proportion: 3,1,1,1 (all_to_all, ...).")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="Ranks of a process group, 0-7 or 0,2,4; several run side by side.")
    ] = None,
    root: Annotated[int, typer.Option(min=0, help="Position of the root in the group, where there is one.")] = 0,
    repeat: Annotated[int, typer.Option(min=1, max=1 << 20, help="Rounds, one after the other.")] = 1,
    compute: Annotated[str | None, typer.Option(help="Computation before each round: 1ms.")] = None,
    profile: ProfileOption = Profile.MLCOMMONS,
    prefix: PrefixOption = "trace",
) -> None:
    """Make traces of one collective, or a ring of messages, done once or again and again."""
    from hocket.base.units import parse_bytes
    from hocket.cli.options import one_of
    from hocket.workload.collective import Benchmark, Pattern, generate_collective
    from hocket.workload.parsing import parse_nanoseconds, parse_ranks, parse_splits

    one_of("KIND", pattern, Pattern)
    if not size and pattern != Pattern.BARRIER:
        raise typer.BadParameter(f"--size is missing: {pattern} of how many bytes? such as --size 64MiB")
    sizes = tuple(map(parse_bytes, size or ["0"]))
    benchmark = Benchmark(
        pattern=Pattern(pattern),
        num_ranks=ranks,
        size_bytes=sizes[0],
        sizes=sizes if len(sizes) > 1 else (),
        splits=() if split is None else parse_splits(split),
        groups=tuple(map(parse_ranks, group or [])),
        root=root,
        repeat=repeat,
        compute_ns=0 if compute is None else parse_nanoseconds(compute),
    )
    write_job(generate_collective(benchmark), output, prefix, profile)
