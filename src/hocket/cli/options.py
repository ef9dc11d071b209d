"""Options that several commands share, and how commands read theirs: what is wrong is a usage error that lists what
there is."""

from collections.abc import Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hocket.base.errors import FormatError

if TYPE_CHECKING:
    from hocket.topology import Topology

__all__ = [
    "Conditions",
    "Degrade",
    "Group",
    "Load",
    "Priority",
    "Relays",
    "Sizes",
    "Without",
    "bytes_of",
    "data_type",
    "load_topology",
    "one_of",
    "set_options",
    "take_only",
]

Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="WHAT", help="What failed: npu:7,9, link:3-4, link:3->4, switch:16."),
]
Degrade = Annotated[
    list[str] | None,
    typer.Option("--degrade", metavar="WHAT=PART", help="Part of the bandwidth that is left: link:3-4=0.5."),
]
Load = Annotated[
    list[str] | None,
    typer.Option(
        "--load",
        metavar="WHAT=PART|FILE",
        help="Part of the bandwidth that others use: link:3-4=0.3, nvlink=0.2, or a .yaml or .csv of such.",
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="RANKS", help="Ranks that take part: 0,2,4-7. Several: collectives at once."),
]
Relays = Annotated[
    bool, typer.Option("--relays/--no-relays", help="Whether ranks outside the group may pass chunks on.")
]
Priority = Annotated[
    str | None, typer.Option(metavar="N,N,...", help="Of each --group: chunks of a lower number go first.")
]
Sizes = Annotated[
    str | None,
    typer.Option(metavar="SIZES|FILE", help="Instead of --size: the block of each rank (all_to_all: each pair)."),
]
Conditions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Of COLLECTIVE custom: YAML, who has and who wants each chunk.")
]


def load_topology(
    text: str, without: list[str] | None, degrade: list[str] | None, load: list[str] | None = None
) -> "Topology":
    """The topology that `text` names, less what failed and what others use, by the node ids of the whole."""
    from hocket.topology import failures
    from hocket.topology import load as load_whole
    from hocket.topology.link_loads import share_file

    topology = load_whole(text)
    if loads := [one for one in load or [] if "=" in one]:
        topology = failures.share(topology, loads)
    for path in [one for one in load or [] if "=" not in one]:
        topology = share_file(topology, Path(path))
    if degrade:
        topology = failures.degrade(topology, degrade)
    return failures.without(topology, without) if without else topology


def one_of(option: str, value: str, values: Iterable[str]) -> str:
    """The value, when it is one of those."""
    from hocket.base.strict_yaml import nearest

    known = list(values)
    if value not in known:
        raise typer.BadParameter(f"{option} {value}: no such choice; {nearest(value, known)}")
    return value


def bytes_of(option: str, text: str) -> int:
    """The size that was given for an option."""
    from hocket.base.units import parse_bytes

    try:
        return parse_bytes(text)
    except FormatError as error:
        raise typer.BadParameter(f"{option}: {error}") from error


def data_type(text: str, known: Iterable[str]) -> str:
    """The data type that somebody calls so."""
    from hocket.base.element_types import element_type

    found = element_type(text)
    return one_of("--dtype", found.name if found else text, known)


def set_options(context: typer.Context) -> dict[str, str]:
    """The parameters that were given on the command line, and what each is called there."""
    return {
        parameter.name: "/".join(option for option in (*parameter.opts, *parameter.secondary_opts) if option[1] == "-")
        or parameter.opts[0]
        for parameter in context.command.params
        if parameter.name and getattr(context.get_parameter_source(parameter.name), "name", "") == "COMMANDLINE"
    }


def take_only(context: typer.Context, taken: Container[str], why: str) -> None:
    """Refuses parameters that were given and are not among those taken, which would do nothing: a usage error that
    begins with `why` and names them."""
    idle = [option for name, option in set_options(context).items() if name not in taken]
    if idle:
        raise typer.BadParameter(f"{why}: drop {', '.join(idle)}")
