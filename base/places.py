"""Where what is written goes: the place that a name leads to, a temporary beside it, and how it takes the name."""

import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EISDIR, ENOTDIR
from pathlib import Path

from hocket.base.interrupts import signals_held_back
from hocket.base.sinks import unwritable

__all__ = ["Descriptor", "Replacement", "Transaction", "place_of"]

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]+)")
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_LONGEST_NAME = 48  # characters of the name that a temporary's begins with: file systems take 255 bytes


@dataclass(frozen=True)
class Descriptor:
    """An open file of this process that a name such as /dev/fd/63 means: not its beginning, but where it stands."""

    number: int


def place_of(path: Path) -> Path | Descriptor:
    """Where the name leads, links followed as opening the file would. Raises OSError where the system forbids it."""
    with suppress(FileNotFoundError):
        path.stat()  # also what it says of circles, and of links that others left in a shared folder
    while True:
        text = os.path.abspath(path)
        if (named := _DESCRIPTOR.fullmatch(text)) or text in _STREAMS:
            return Descriptor(int(named[1]) if named else _STREAMS[text])
        if not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)


@dataclass
class Replacement:
    """A complete file or folder, `temporary`, that is to take the name `target` in place of what has it. One that is
    `kept` stays where it is when that fails: it was not made for this alone."""

    temporary: Path
    target: Path
    aside: Path | None = None  # the other name of what was replaced
    done: bool = False
    kept: bool = False

    @classmethod
    def beside(cls, target: Path) -> "Replacement":
        """With a temporary in the same folder, of a name that nobody can guess, not made yet."""
        return cls(_hidden(target, "part"), target)

    def keep_mode(self) -> None:
        """What is replaced leaves its mode and, if that may be given, its owner."""
        with suppress(FileNotFoundError):
            old = self.target.stat()
            new = self.temporary.stat()
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                with suppress(PermissionError):
                    os.chown(self.temporary, old.st_uid, old.st_gid)
            self.temporary.chmod(old.st_mode & 0o777)

    def place(self, undoable: bool) -> None:
        """Takes the name; `undoable`: what had it is kept aside until all is well. Of a folder it is so or so: one
        cannot be put in the place of another."""
        is_folder = self.temporary.is_dir()
        if self.target.exists():
            if self.target.is_dir() != is_folder:
                raise OSError(*((ENOTDIR, "a file is in the way") if is_folder else (EISDIR, os.strerror(EISDIR))))
            if undoable or is_folder:
                self._keep_aside()
        try:
            os.replace(self.temporary, self.target)
        except BaseException:
            self._restore()
            raise
        self.done = True

    def _keep_aside(self) -> None:
        aside = _hidden(self.target, "old")
        try:
            os.link(self.target, aside)
        except OSError:  # a folder, or a file system without second names
            os.rename(self.target, aside)
        self.aside = aside

    def undo(self) -> None:
        """After `place`: as it was before."""
        os.rename(self.target, self.temporary)
        self._restore()

    def _restore(self) -> None:
        aside, self.aside = self.aside, None  # never removed where it cannot be put back
        if aside is not None:
            os.replace(aside, self.target)
            aside.unlink(missing_ok=True)  # still there where both were names of one file

    def clear(self) -> None:
        """Leaves nothing but what has the name."""
        for path in filter(None, (None if self.kept else self.temporary, self.aside)):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _hidden(target: Path, suffix: str) -> Path:
    return target.with_name(f".{target.name[:_LONGEST_NAME]}.{secrets.token_hex(8)}.{suffix}")


@dataclass
class Transaction:
    """Files and folders that take their names together, and the folders that were made for them."""

    replacements: list[Replacement] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    complete: list[Replacement] = field(default_factory=list)

    def make_folder(self, path: Path, mode: int = 0o777) -> None:
        """Makes it, itself with `mode` less the umask, and those above it."""
        absent = [folder for folder in (path, *path.parents) if not folder.exists()]
        self.folders += reversed(absent)
        path.mkdir(mode, parents=True, exist_ok=True)

    def begin(self, target: Path) -> Replacement:
        replacement = Replacement.beside(target)
        self.replacements.append(replacement)
        return replacement

    def finish(self, replacement: Replacement) -> None:
        """It is complete."""
        replacement.keep_mode()
        self.complete.append(replacement)

    @signals_held_back()  # in the middle nobody would know who has taken its name
    def commit(self) -> None:
        """All complete ones take their names, or none. Raises HocketError, naming the one that could not."""
        try:
            for one in self.complete:
                try:
                    one.place(undoable=len(self.complete) > 1)
                except OSError as error:
                    raise unwritable(one.target, error) from error
        except BaseException:
            for one in reversed(self.complete):
                if one.done:
                    one.undo()
            raise
        self.folders.clear()

    def clear(self) -> None:
        """Removes temporaries, and folders that were made for what did not come to be."""
        for one in self.replacements:
            one.clear()
        for folder in reversed(self.folders):
            with suppress(OSError):
                folder.rmdir()
