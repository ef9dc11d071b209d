"""How `hocket simulate` reads its options: what is wrong is a usage error that lists what there is."""

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

import typer

from hocket.base.errors import HocketError
from hocket.base.units import parse_bytes, parse_sizes, parse_time
from hocket.cli.options import one_of
from hocket.nccl.programs import KINDS
from hocket.nccl.programs.spec import is_nccl, is_nccl_model
from hocket.simulator.disturbance import Disturbance, Flow

__all__ = ["by_class", "by_kind", "disturbance_of", "fraction", "require_classes", "sizes_of"]


def by_class(option: str, texts: Sequence[str], values: Iterable[str]) -> dict[str, str]:
    """`VALUE` (for all links) and `CLASS=VALUE` options as a mapping, `*` for what is not named."""
    chosen = {}
    for text in texts:
        name, separator, value = text.rpartition("=")
        chosen[name if separator else "*"] = one_of(option, value, values)
    return chosen


def require_classes(option: str, chosen: Iterable[str], classes: Iterable[str], topology: str) -> None:
    """Every class that an option names is one of the topology's."""
    for name in chosen:
        if name not in (*classes, "*"):
            raise typer.BadParameter(f"{option} {name}: the classes of links of {topology} are {', '.join(classes)}")


def by_kind(algorithms: Sequence[str]) -> dict[str, str] | Literal["auto"]:
    """`KIND=NAME` options as a mapping; `auto` alone is for every kind, `nccl` and `nccl-model` for those
    that NCCL has programs for."""
    if list(algorithms) == ["auto"]:
        return "auto"
    if len(algorithms) == 1 and (is_nccl(algorithms[0]) or is_nccl_model(algorithms[0])):
        return dict.fromkeys(KINDS.values(), algorithms[0])
    chosen = {}
    for text in algorithms:
        kind, separator, name = text.partition("=")
        if not separator:
            raise typer.BadParameter(f"--algorithm {text}: expected auto or KIND=NAME, such as all_reduce=ring")
        chosen[kind] = name
    return chosen


def disturbance_of(late: Sequence[str], traffic: Sequence[str]) -> Disturbance:
    """`RANK=TIME` and `RANK-RANK=SIZE` options."""
    try:
        return Disturbance(
            {int(rank): parse_time(time) for rank, time in (_split("--late", text, "([0-9]+)=(.+)") for text in late)},
            [
                Flow(int(src), int(dst), parse_bytes(size))
                for src, dst, size in (_split("--traffic", text, "([0-9]+)-([0-9]+)=(.+)") for text in traffic)
            ],
        )
    except HocketError as error:
        raise typer.BadParameter(str(error)) from error


def _split(option: str, text: str, pattern: str) -> tuple[str, ...]:
    found = re.fullmatch(pattern, text)
    if not found:
        raise typer.BadParameter(f"{option} {text}: expected such as --late 3=50us, --traffic 0-9=64MiB")
    return found.groups()


def fraction(option: str, text: str, least: int) -> Fraction:
    """An exact number of at least `least`."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        number = Fraction(least - 1)
    if number < least:
        raise typer.BadParameter(f"{option} {text}: expected a number of at least {least}, such as 1.15 or 3/2")
    return number


def sizes_of(text: str) -> list[int]:
    """Bytes: a size, or all of a range."""
    try:
        return parse_sizes(text)
    except HocketError as error:
        raise typer.BadParameter(f"--size {text}: {error}") from error
