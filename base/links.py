"""A name that leads to another beside it: a symbolic link or, where there are none, a file that says the name."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from hocket.base.errors import HocketError

__all__ = ["lead", "led"]

_LONGEST_NAME = 255  # what file systems take; more in a file is no name


def lead(link: Path, name: str) -> None:
    """Makes `link` lead to `name` in the same folder, at once for all who look: in place of what it led to.

    Raises HocketError, naming it, where a folder has that name or nothing can be written there.
    """
    temporary = link.with_name(f".{link.name}.{secrets.token_hex(8)}")
    try:
        try:
            os.symlink(name, temporary)
        except OSError:  # a file system without links (FAT, SMB), or a user who may make none
            with open(temporary, "x", encoding="utf-8") as file:
                file.write(f"{name}\n")
        os.replace(temporary, link)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise HocketError(f"{link}: cannot lead to {name}: {error.strerror}") from error


def led(link: Path) -> str | None:
    """The name that `link` leads to; None where it is no link that `lead` makes."""
    with suppress(OSError):
        if link.is_symlink():
            return os.path.basename(os.readlink(link).rstrip("/")) or None
        if link.is_file():
            with open(link, encoding="utf-8", errors="replace") as file:
                name = file.read(_LONGEST_NAME + 1).removesuffix("\n")
            return name if name and name == os.path.basename(name) and name.isprintable() else None
    return None
