"""Which part of a prediction a timeline shows, as requests say it."""

from __future__ import annotations

from hocket.base.errors import FormatError, RequestError
from hocket.base.units import parse_time
from hocket.simulator import TimelineCut
from hocket.topology import Topology
from hocket.topology.naming import parse_spans

__all__ = ["cut_of"]

_ALL, _NONE = "all", "none"


def cut_of(
    topology: Topology, ranks: str | None, time: str | None, links: str | None = None, prefix: str = "--"
) -> TimelineCut:
    """What these texts ask for. Raises RequestError, by the names of the options behind `prefix`, for what names no
    ranks, times or links."""
    return TimelineCut(
        ranks=_ranks(f"{prefix}ranks", ranks, topology),
        time_ps=_times(f"{prefix}time", time),
        links=_links(f"{prefix}links", links, topology),
    )


def _ranks(option: str, text: str | None, topology: Topology) -> list[int] | None:
    if text is None:
        return None
    return [*range(topology.num_ranks)] if text == _ALL else _numbers(option, text)


def _times(option: str, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, colon, end = text.partition(":")
    try:
        times = parse_time(first or "0ns"), parse_time(end or "1000000s")
    except FormatError as error:
        raise RequestError(f"{option} {text}: {error}") from error
    if not colon or times[0] >= times[1]:
        raise RequestError(f"{option} {text}: expected two times, the first before the second, such as 10ms:20ms")
    return times


def _links(option: str, text: str | None, topology: Topology) -> list[int] | None:
    if text is None:
        return None
    if text in (_ALL, _NONE):
        return [*range(topology.num_links)] if text == _ALL else []
    names = text.split(",")
    if not any(name in topology.classes for name in names):
        return _numbers(option, text)
    if unknown := [name for name in names if name not in topology.classes]:
        known = ", ".join(topology.classes)
        raise RequestError(f"{option} {unknown[0]}: no such class; this topology has {known}")
    wanted = [topology.classes.index(name) for name in names]
    return [link for link, of in enumerate(topology.link_class.tolist()) if of in wanted]


def _numbers(option: str, text: str) -> list[int]:
    try:
        return parse_spans(text)
    except FormatError as error:
        raise RequestError(f"{option} {error}") from error
