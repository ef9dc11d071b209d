"""Where what was compiled for this user is kept: $HOCKET_CACHE, $XDG_CACHE_HOME/hocket or ~/.cache/hocket."""

import os
from pathlib import Path

from hocket.base.errors import HocketError

__all__ = ["REMEDY", "cache_folder"]

REMEDY = "set HOCKET_CACHE to a folder of your own"


def cache_folder() -> Path:
    """Where built libraries are kept; not made yet. Raises HocketError where the user has no home."""
    if chosen := os.environ.get("HOCKET_CACHE"):
        return Path(chosen).absolute()
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "hocket").absolute()
    except RuntimeError as error:
        raise HocketError(f"no cache for compiled libraries: user {os.getuid()} has no home; {REMEDY}") from error
