"""How commands read their options: what is wrong is a usage error that lists what there is."""

from collections.abc import Iterable

import typer

__all__ = ["one_of"]


def one_of(option: str, value: str, values: Iterable[str]) -> str:
    """The value, when it is one of those."""
    from hocket.core.strict_yaml import nearest

    known = list(values)
    if value not in known:
        raise typer.BadParameter(f"{option} {value}: no such choice; {nearest(value, known)}")
    return value
