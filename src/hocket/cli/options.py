"""How commands read their options: what is wrong is a usage error that lists what there is."""

from collections.abc import Iterable

import typer

__all__ = ["one_of"]


def one_of(option: str, value: str, values: Iterable[str]) -> str:
    """The value, when it is one of those."""
    known = list(values)
    if value not in known:
        raise typer.BadParameter(f"{option} {value}: expected one of {', '.join(known)}")
    return value
