"""Options that several commands share, and how commands read theirs: what is wrong is a usage error that lists what
there is."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hocket.topology import Topology

__all__ = ["Degrade", "Without", "load_topology", "one_of"]

Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="WHAT", help="What failed: npu:7,9, link:3-4, link:3->4, switch:16."),
]
Degrade = Annotated[
    list[str] | None,
    typer.Option("--degrade", metavar="WHAT=PART", help="Part of the bandwidth that is left: link:3-4=0.5."),
]


def load_topology(text: str, without: list[str] | None, degrade: list[str] | None) -> "Topology":
    """The topology that `text` names, less what failed, by the node ids of the whole."""
    from hocket.topology import failures, load

    topology = load(text)
    if degrade:
        topology = failures.degrade(topology, degrade)
    return failures.without(topology, without) if without else topology


def one_of(option: str, value: str, values: Iterable[str]) -> str:
    """The value, when it is one of those."""
    from hocket.core.strict_yaml import nearest

    known = list(values)
    if value not in known:
        raise typer.BadParameter(f"{option} {value}: no such choice; {nearest(value, known)}")
    return value
