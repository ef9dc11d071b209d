"""Zip files whose members are held in memory: written whole, read within bounds, without dates or owners in them."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from hocket.base.errors import FormatError
from hocket.base.files import write_file
from hocket.base.reading import opened, require_room

__all__ = ["is_archive", "read_archive", "write_archive"]

_MAGIC = b"PK\x03\x04"
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that zip has: the same content is the same file


def write_archive(path: Path | str, members: Mapping[str, bytes]) -> None:
    """Writes the members by their names. Raises HocketError as `files.write_file`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            member = zipfile.ZipInfo(name, _DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(member, content)
    write_file(path, packed.getvalue())


def is_archive(path: Path | str) -> bool:
    """Whether the file begins as a zip does. Raises FormatError, naming it, where it cannot be read."""
    with opened(path) as file:
        return file.read(len(_MAGIC)) == _MAGIC


def read_archive(path: Path | str) -> dict[str, bytes]:
    """All members by name. Raises FormatError, naming the file, for one that is no zip, damaged, or unpacked more than
    memory has room for."""
    with opened(path) as file:
        try:
            with zipfile.ZipFile(io.BytesIO(file.read())) as archive:
                require_room(path, sum(member.file_size for member in archive.infolist()))
                return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise FormatError(f"{path}: {error}: no zip file, or a damaged one: copy it anew") from error
