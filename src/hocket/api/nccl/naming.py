"""NCCL's names for what is asked for; what is none of them is a wrong request."""

from collections.abc import Iterable, Sequence

from hocket.base.errors import FormatError, RequestError
from hocket.base.strict_yaml import nearest
from hocket.base.units import parse_sizes
from hocket.nccl import COLLECTIVES, Settings, read_settings
from hocket.nccl.releases import NEWEST, Release, release_of

__all__ = ["collectives_named", "release_named", "settings_named", "sizes_between"]

_SPELLED = ("broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce", "all")


def collectives_named(names: Iterable[str]) -> list[str]:
    """NCCL's names of what is asked for: `all_reduce` or `AllReduce`, each once. Raises RequestError for others."""
    known = {name.lower(): name for name in COLLECTIVES}
    found: dict[str, None] = {}
    for name in names:
        key = name.replace("_", "").lower()
        if key not in known and key != "all":
            raise RequestError(f"--collective {name}: no such choice; {nearest(name, _SPELLED)}")
        found |= dict.fromkeys(COLLECTIVES if key == "all" else [known[key]])
    return list(found)


def release_named(version: str) -> Release:
    """Raises RequestError for a version that is not modelled."""
    try:
        return release_of(version)
    except FormatError as error:
        raise RequestError(f"--nccl-version {version}: {error}") from error


def settings_named(assignments: Sequence[str], release: Release = NEWEST) -> Settings:
    """The settings that NAME=VALUE make of a release. Raises RequestError for others."""
    try:
        return read_settings(assignments, release)
    except FormatError as error:
        raise RequestError(str(error)) from error


def sizes_between(least: str, most: str) -> list[int]:
    """The sizes, each twice the one before, in bytes. Raises RequestError for what are none."""
    try:
        return parse_sizes(f"{least}..{most}")
    except FormatError as error:
        raise RequestError(str(error)) from error
